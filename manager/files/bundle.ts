import { AppError, because, type BundledFile, MOST_BUNDLED_BYTES, toWireError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { openContentIn } from './content.ts'
import { createOpenDirectories, type OpenDirectories } from './open-directories.ts'
import { parentOf } from './places.ts'

/** Files that are read ahead. */
const AHEAD = 8

interface Read {
  readonly header: BundledFile
  readonly bytes: Buffer
}

/**
 * Writes a bundle of files (`contract/bundles.ts`), in the order of the paths. A file is read whole before its header is
 * written, so that a change meanwhile cannot shift what follows.
 */
export async function* bundleOf(
  top: Directory,
  paths: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using directories = createOpenDirectories(top)
  const ahead: Promise<Read>[] = []
  const rest = paths.values()
  const readNext = () => {
    const { done, value } = rest.next()
    if (!done) ahead.push(read(directories, value))
  }
  for (let n = 0; n < AHEAD; n++) readNext()
  try {
    for (let first = ahead.shift(); first; first = ahead.shift()) {
      const { header, bytes } = await first
      signal.throwIfAborted()
      readNext()
      const text = Buffer.from(JSON.stringify(header))
      const length = Buffer.alloc(4)
      length.writeUInt32BE(text.length)
      yield Buffer.concat([length, text, bytes])
    }
  } finally {
    await Promise.all(ahead)
  }
}

/** Never rejects: a failure is told in the header. */
async function read(directories: OpenDirectories, path: string): Promise<Read> {
  try {
    return await directories.use(parentOf(path), directory => readIn(directory, path))
  } catch (error) {
    const { code, message, detail } = toWireError(error)
    return { header: { path, size: 0, error: { code, message, data: { ...detail } } }, bytes: Buffer.alloc(0) }
  }
}

async function readIn(directory: Directory, path: string): Promise<Read> {
  await using content = await openContentIn({ directory, name: path.split('/').at(-1) ?? '' })
  const { state, file } = content
  if (state.size > MOST_BUNDLED_BYTES) {
    const why = because('bundle_file_too_large', { path })
    throw new AppError('body_too_large', { path, limit: MOST_BUNDLED_BYTES, ...why })
  }
  const bytes = Buffer.allocUnsafe(state.size)
  let size = 0
  while (size < state.size) {
    const count = await file.read(bytes.subarray(size), size)
    if (count === 0) break
    size += count
  }
  const modifiedAt = state.modifiedAt.toISOString()
  return { header: { path, size, modifiedAt, error: null }, bytes: bytes.subarray(0, size) }
}
