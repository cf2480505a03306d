import { AppError, because, type BundledFile, MOST_BUNDLED_BYTES, toWireError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { openContent } from './content.ts'
import { createOpenDirectories, type OpenDirectories } from './open-directories.ts'
import { nameOfPath, parentOf } from './places.ts'

/** Largest number of files that one job reads. */
const BATCH_FILES = 100
/** A job reads no further file once it has this many bytes; one more batch is read ahead. */
const BATCH_BYTES = 1024 * 1024

interface Read {
  readonly header: BundledFile
  readonly bytes: Uint8Array
}

/**
 * Writes a bundle of files (`contract/storage/bundles.ts`), in the order of the paths. A file is read completely before its header is written, so
 * that a concurrent change cannot shift the following bytes.
 */
export async function* bundleOf(
  top: Directory,
  paths: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using directories = createOpenDirectories(top)
  const batches = batchesOf({ top, directories }, paths)
  let ahead = batches.next()
  try {
    for (;;) {
      const { done, value } = await ahead
      if (done) return
      signal.throwIfAborted()
      ahead = batches.next()
      yield Buffer.concat(value.flatMap(framed))
    }
  } finally {
    await ahead
  }
}

function framed({ header, bytes }: Read): Uint8Array[] {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return [length, text, bytes]
}

interface Source {
  readonly top: Directory
  readonly directories: OpenDirectories
}

/** Never rejects. */
async function* batchesOf(source: Source, paths: readonly string[]): AsyncGenerator<Read[], undefined> {
  for (let from = 0; from < paths.length;) {
    const parent = parentOf(paths[from] ?? '')
    const end = paths.findIndex((path, index) => index >= from && parentOf(path) !== parent)
    const beside = paths.slice(from, Math.min(end === -1 ? paths.length : end, from + BATCH_FILES))
    const found = await readMany(source, parent, beside)
    from += found.length
    yield found
  }
}

/** Reads the first files of a list, which are in one directory: together, and then one by one those for which that failed. */
async function readMany({ top, directories }: Source, parent: string, paths: readonly string[]): Promise<Read[]> {
  const limits = { largest: MOST_BUNDLED_BYTES, most: BATCH_BYTES }
  const found = await directories
    .use(parent, directory => directory.readMany(paths.map(nameOfPath), limits))
    .catch(() => [undefined]) // reading the first file alone reports the reason
  return await Promise.all(
    found.map(async (one, index): Promise<Read> => {
      const path = paths[index] ?? ''
      if (!one) return await read(top, path)
      const { state, bytes } = one
      const modifiedAt = state.modifiedAt.toISOString()
      return { header: { path, size: bytes.length, modifiedAt, error: null }, bytes }
    }),
  )
}

/** Never rejects: a failure is reported in the header. */
async function read(top: Directory, path: string): Promise<Read> {
  try {
    return await readIn(top, path)
  } catch (error) {
    const { code, message, detail } = toWireError(error)
    return {
      header: { path, size: 0, error: { code, message, data: { ...detail } } },
      bytes: Buffer.alloc(0),
    }
  }
}

async function readIn(top: Directory, path: string): Promise<Read> {
  await using content = await openContent(top, path)
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
