import { AppError, because } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { type Entry } from '../storage/listing.ts'
import { isCode, joinPath } from './places.ts'

/** Each level of directories holds two descriptors. */
const MOST_LEVELS = 128

/** An entry below a directory, with the open directory that holds it: valid until the next entry is taken. */
export interface Found extends Entry {
  readonly directory: Directory
  /** Path relative to the directory where the walk began. */
  readonly path: string
}

/**
 * Everything below a directory, a directory before its entries. Follows no link. Directories that vanish, or become something
 * else, are passed over.
 *
 * @throws AppError `path_invalid` if directories are nested too deeply; the reason of the signal
 */
export async function* walk(
  directory: Directory,
  signal: AbortSignal,
  path = '',
  level = 1,
): AsyncGenerator<Found, void, undefined> {
  if (level > MOST_LEVELS) {
    throw new AppError('path_invalid', because('nested_walk', { path: path.slice(0, 200), levels: MOST_LEVELS }))
  }
  await using listing = await directory.list()
  for (let batch = await listing.next(); batch.length > 0; batch = await listing.next()) {
    for (const { name, kind } of batch) {
      signal.throwIfAborted()
      const found = { directory, name, kind, path: joinPath(path, name) }
      yield found
      if (kind !== 'directory') continue
      await using next = await directory.enter(name).catch(passOver)
      if (next) yield* walk(next, signal, found.path, level + 1)
    }
  }
}

/** Ignores errors about entries that were deleted or replaced since they were listed. */
export function passOver(error: unknown): undefined {
  if (!isCode(error, 'file_not_found') && !isCode(error, 'file_kind_refused') && !isCode(error, 'forbidden'))
    throw error
}
