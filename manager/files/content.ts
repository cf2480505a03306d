import { type Readable } from 'node:stream'
import { AppError, because, type FileEntry, MOST_TEXT_BYTES } from '#manager/contract'
import { newDraftName } from '../storage/drafts.ts'
import { renamedError } from '../storage/file-errors.ts'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { modeOfFile } from '../storage/private-files.ts'
import { followingLinks } from '../storage/real-path.ts'
import { type HeavyRequest } from './heavy-work.ts'
import { type OpenFolder } from './open-folder.ts'
import { isCode, nameOfPath, openPlace, type Place, toEntry } from './places.ts'

/** An open file to download. Disposing closes it and its folder. */
export interface Content extends AsyncDisposable {
  readonly name: string
  readonly state: FileState
  readonly file: OpenFile
}

/** Content that is sent only as long as its reader may read it. */
export interface Watched {
  /** Watches until it is disposed. @param cut called once, with the error that says why the reader may no longer read */
  readonly watch: (cut: (refusal: Error) => void) => Disposable
}

/** Content that is being sent, with the turns of its reader. */
export interface SentContent extends Content, Watched {
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

/** Opens a file, following links within the folder. @throws AppError `file_not_found`, `file_kind_refused` */
export async function openContent(top: Directory, path: string): Promise<Content> {
  if (path === '') throw new AppError('file_kind_refused', because('path_is_folder'))
  const content = await followingLinks(top, path, async at => {
    await using place = await openPlace(top, at)
    return await openContentIn(place)
  })
  return { ...content, name: nameOfPath(path) }
}

/** Opens a file in an open directory. @throws AppError `file_not_found`, `file_kind_refused` */
export async function openContentIn({ directory, name }: Pick<Place, 'directory' | 'name'>): Promise<Content> {
  const file = await directory.open(name)
  try {
    return {
      name,
      file,
      state: await file.state(),
      [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    }
  } catch (error) {
    await file[Symbol.asyncDispose]()
    throw error
  }
}

/** Largest chunk of `chunksOf`. */
export const CHUNK_BYTES = 512 * 1024

/** Two alternating buffers, for a reader that is finished with a chunk before it requests the next but one. */
export class BufferPair {
  readonly #buffers: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)]
  #turn: 0 | 1 = 0

  take(length: number): Buffer {
    this.#turn = this.#turn === 0 ? 1 : 0
    if (this.#buffers[this.#turn].length < length) this.#buffers[this.#turn] = Buffer.allocUnsafeSlow(length)
    return this.#buffers[this.#turn].subarray(0, length)
  }
}

/**
 * Reads an open file from one position up to another.
 *
 * @param buffers reused for the chunks; if left out, each chunk has its own memory
 * @throws AppError `file_changed` if the file has become shorter
 */
export async function* chunksOf(
  file: OpenFile,
  start: number,
  end: number,
  buffers?: BufferPair,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = start; at < end;) {
    const size = Math.min(CHUNK_BYTES, end - at)
    const buffer = buffers?.take(size) ?? Buffer.allocUnsafe(size)
    const length = await file.read(buffer, at)
    if (length === 0) throw new AppError('file_changed', because('file_shorter'))
    yield buffer.subarray(0, length)
    at += length
  }
}

/** State in which the writer expects the file: its ETag, or no file at all. */
export type Expected = { readonly etag: string } | 'absent'

/**
 * Replaces or creates a file: the bytes go into a new file beside it, which is then renamed. A change within the microseconds after the
 * last check of the file is overwritten.
 *
 * @throws AppError `file_changed`, `file_kind_refused`, `file_not_found` (its directory), `disk_full`
 */
export async function writeContent(
  { top, row: { name: folder } }: OpenFolder,
  path: string,
  { bytes, expected }: { bytes: Buffer; expected: Expected },
): Promise<FileEntry> {
  await using place = await openPlace(top, path)
  const { directory, name } = place
  const found = await requireUnchanged(directory, name, expected)
  const beside = newDraftName()
  const mode = found?.mode ?? modeOfFile({ folder, path, head: bytes })
  const named = (error: unknown) => renamedError(error, beside, name)
  await using file = await directory.create(beside, mode).catch((error: unknown) => {
    throw named(error)
  })
  try {
    await file.write(bytes, 0)
    await file.sync()
    await file.close()
    await requireUnchanged(directory, name, expected)
    if (expected === 'absent') await directory.renameNew(beside, directory, name)
    else await directory.rename(beside, directory, name)
  } catch (error) {
    await directory.unlink(beside).catch(() => undefined) // the first error is the one to report
    throw isCode(error, 'file_exists') ? changed(name, 'file_made_meanwhile', error) : named(error)
  }
  return toEntry(name, await directory.lstat(name))
}

async function requireUnchanged(
  directory: Directory,
  name: string,
  expected: Expected,
): Promise<FileState | undefined> {
  const found = await directory.lstat(name).catch((error: unknown) => {
    if (!isCode(error, 'file_not_found')) throw error
    return undefined
  })
  if (found && found.kind !== 'file') {
    throw new AppError('file_kind_refused', { name, ...because('links_not_followed', { name }) })
  }
  if (expected === 'absent') {
    if (found) throw changed(name, 'file_exists_meanwhile')
    return undefined
  }
  if (!found) throw changed(name, 'file_gone_meanwhile')
  if (expected.etag !== '*' && expected.etag !== found.etag) throw changed(name, 'file_changed_meanwhile')
  return found
}

type Change = 'file_made_meanwhile' | 'file_exists_meanwhile' | 'file_gone_meanwhile' | 'file_changed_meanwhile'

function changed(name: string, what: Change, cause?: unknown): AppError {
  return new AppError('file_changed', { name, ...because(what, { name }) }, { cause })
}

/** Reading a body is given up if no byte arrives for this long. */
const STALLED_MS = 60_000

/** Reads a complete body. @throws AppError `body_too_large`, `upload_stalled`; the reason of the signal */
export async function readBody(body: Readable, signal: AbortSignal): Promise<Buffer> {
  const stop = (error: unknown) => body.destroy(error instanceof Error ? error : undefined)
  const onAbort = () => stop(signal.reason)
  const timer = setTimeout(() => stop(new AppError('upload_stalled', because('no_byte_arrived'))), STALLED_MS)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      timer.refresh()
      length += chunk.byteLength
      if (length > MOST_TEXT_BYTES) throw new AppError('body_too_large', because('text_too_long'))
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
