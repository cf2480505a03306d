import { type IncomingMessage } from 'node:http'
import {
  AppError,
  BUNDLE_CONTENT,
  type BundledFile,
  type BundleEntrySpec,
  type BundleResult,
  type EntryError,
  ERRORS,
  isErrorCode,
  MOST_BUNDLE_HEADER_BYTES,
  MOST_BUNDLED_BYTES,
} from '#manager/contract'
import { textUpTo } from '#proxy/network'
import { type DownloadSource } from './download.ts'
import { retrying } from './retrying.ts'
import { sendTransfer } from './send.ts'
import { type UploadTarget } from './upload.ts'

const LENGTH_BYTES = 4

/** A file or directory that is sent in a bundle, with its bytes. */
export interface Packed {
  readonly entry: BundleEntrySpec
  readonly bytes: Buffer
}

/**
 * Uploads a bundle. Entries that fail for a reason that may go away are sent again, and so is everything after a lost
 * connection.
 *
 * @param onResult called once for each entry, with its path in the folder or its error
 */
export async function uploadBundle(
  { connection, folderId, signal, onPause }: Pick<UploadTarget, 'connection' | 'folderId' | 'signal' | 'onPause'>,
  entries: readonly Packed[],
  onResult: (packed: Packed, result: string | AppError) => void,
): Promise<void> {
  let rest = entries
  let again = false

  async function attempt(): Promise<void> {
    const sent = rest
    const body = Buffer.concat(sent.flatMap(({ entry, bytes }) => frame(again ? { ...entry, again } : entry, bytes)))
    again = true
    const reply = await sendTransfer(connection, {
      method: 'POST',
      path: `/api/v1/folders/${folderId}/bundles`,
      headers: { 'content-type': BUNDLE_CONTENT },
      body,
      signal,
    })
    const { items } = JSON.parse(await textUpTo(reply)) as BundleResult
    const results = sent.map((packed, index) => {
      const { path, error } = items[index] ?? { path: '', error: { code: 'internal', message: '', data: {} } }
      return { packed, path, error: error === null ? null : errorOf(error) }
    })
    rest = results.filter(({ error }) => error !== null && ERRORS[error.code].retry).map(({ packed }) => packed)
    for (const { packed, path, error } of results) if (!rest.includes(packed)) onResult(packed, error ?? path)
    const failed = results.find(({ packed }) => rest.includes(packed))
    if (failed?.error) throw failed.error
  }

  await retrying(attempt, { signal, onPause, progress: () => entries.length - rest.length })
}

function frame(header: BundleEntrySpec, bytes: Buffer): Buffer[] {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(text.length)
  return [length, text, bytes]
}

/**
 * Downloads small files as bundles, again after a lost connection those that are missing.
 *
 * @param onFile called for each path with its file or its error
 */
export async function downloadBundle(
  { connection, folderId, signal, onPause }: DownloadSource,
  paths: readonly string[],
  onFile: (path: string, file: ReceivedFile | AppError) => void,
): Promise<void> {
  let rest = paths

  async function attempt(): Promise<void> {
    const reply = await sendTransfer(connection, {
      method: 'POST',
      path: `/api/v1/folders/${folderId}/bundles/read`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ paths: rest })),
      signal,
    })
    for await (const { header, bytes } of framesOf(reply)) {
      const [path = ''] = rest
      if (header.error !== null && isErrorCode(header.error.code) && ERRORS[header.error.code].retry)
        throw errorOf(header.error)
      rest = rest.slice(1)
      onFile(path, header.error === null ? { ...header, bytes } : errorOf(header.error))
    }
    if (rest.length > 0) throw new AppError('unavailable', { why: 'The connection was cut.' })
  }

  await retrying(attempt, { signal, onPause, progress: () => paths.length - rest.length })
}

export interface ReceivedFile {
  readonly size: number
  readonly modifiedAt: string
  readonly bytes: Buffer
}

async function* framesOf(reply: IncomingMessage): AsyncGenerator<{ header: BundledFile; bytes: Buffer }> {
  let held = Buffer.alloc(0)
  const chunks = reply[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
  const take = async (count: number): Promise<Buffer | undefined> => {
    const more: Buffer[] = []
    let bytes = held.length
    while (bytes < count) {
      const next = await chunks.next()
      if (next.done) return undefined
      more.push(next.value)
      bytes += next.value.length
    }
    if (more.length > 0) held = Buffer.concat([held, ...more], bytes)
    const taken = held.subarray(0, count)
    held = held.subarray(count)
    return taken
  }
  try {
    for (;;) {
      const length = await take(LENGTH_BYTES)
      const text = length && (await take(upTo(MOST_BUNDLE_HEADER_BYTES, length.readUInt32BE(0))))
      if (!text) return
      const header = JSON.parse(text.toString()) as BundledFile
      const bytes = await take(upTo(MOST_BUNDLED_BYTES, header.size))
      if (!bytes) return
      yield { header, bytes }
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('unavailable', { why: 'The connection was cut.' }, { cause: error })
  }
}

/** A size that the server names; it may be hostile, and all of it is held in memory. @throws RangeError */
function upTo(most: number, bytes: number): number {
  if (Number.isInteger(bytes) && bytes >= 0 && bytes <= most) return bytes
  throw new RangeError(`${bytes} bytes are no size of a part of a bundle`)
}

function errorOf({ code, message, data }: EntryError): AppError {
  return new AppError(isErrorCode(code) ? code : 'internal', { why: message, ...data })
}
