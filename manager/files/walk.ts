import { type Directory } from '../storage/beneath.ts'
import { type Entry } from '../storage/listing.ts'
import { isCode, joinPath } from './places.ts'

/** Limit of levels, because each level of open directories holds two descriptors. */
export const MOST_LEVELS = 128

/** An entry below a directory, with the open directory that holds it: valid until the next entry is taken. */
export interface Found extends Entry {
  readonly directory: Directory
  /** Path relative to the directory where the walk began. If `walkLinks` has followed a link, the last name is that of the link. */
  readonly path: string
}

/**
 * Everything below a directory, a directory before its entries. Follows no link. Skips directories that vanish or become something else,
 * and entries deeper than 128 directories.
 *
 * @param onTooDeep called for a directory whose entries are skipped because it lies too deep
 * @param level of the directory itself, if it is inside other walked ones
 * @throws the reason of the signal
 */
export async function* walk(
  directory: Directory,
  signal: AbortSignal,
  onTooDeep: (path: string) => void,
  level = 1,
): AsyncGenerator<Found, void, undefined> {
  yield* walkFrom(directory, { path: '', level }, { signal, onTooDeep })
}

async function* walkFrom(
  directory: Directory,
  { path, level }: { path: string; level: number },
  rules: { readonly signal: AbortSignal; readonly onTooDeep: (path: string) => void },
): AsyncGenerator<Found, void, undefined> {
  if (level > MOST_LEVELS) {
    rules.onTooDeep(path)
    return
  }
  await using listing = await directory.list()
  for (let batch = await listing.next(); batch.length > 0; batch = await listing.next()) {
    for (const { name, kind } of batch) {
      rules.signal.throwIfAborted()
      const found = { directory, name, kind, path: joinPath(path, name) }
      yield found
      if (kind !== 'directory') continue
      await using next = await directory.enter(name).catch(passOver)
      if (next) yield* walkFrom(next, { path: found.path, level: level + 1 }, rules)
    }
  }
}

/** Ignores errors about entries that were deleted or replaced since they were listed. */
export function passOver(error: unknown): undefined {
  if (!isCode(error, 'file_not_found') && !isCode(error, 'file_kind_refused') && !isCode(error, 'forbidden'))
    throw error
}
