import { type BundledFile, MOST_BUNDLED_BYTES, AppError, toWireError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { openContent } from './content.ts'

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
  const ahead: Promise<Read>[] = []
  const rest = paths.values()
  const readNext = () => {
    const { done, value } = rest.next()
    if (!done) ahead.push(read(top, value))
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
async function read(top: Directory, path: string): Promise<Read> {
  try {
    await using content = await openContent(top, path)
    const { state, file } = content
    requireSmall(path, state)
    const bytes = Buffer.allocUnsafe(state.size)
    let size = 0
    while (size < state.size) {
      const count = await file.read(bytes.subarray(size), size)
      if (count === 0) break
      size += count
    }
    return {
      header: { path, size, modifiedAt: state.modifiedAt.toISOString(), error: null },
      bytes: bytes.subarray(0, size),
    }
  } catch (error) {
    const { code, message, detail } = toWireError(error)
    return { header: { path, size: 0, error: { code, message, data: { ...detail } } }, bytes: Buffer.alloc(0) }
  }
}

/** @throws AppError `body_too_large` */
function requireSmall(path: string, { size }: FileState): void {
  if (size <= MOST_BUNDLED_BYTES) return
  const why = `"${path}" has more than 1 MiB. Download it by itself.`
  throw new AppError('body_too_large', { path, limit: MOST_BUNDLED_BYTES, why })
}
