import { type FileEntry, isAppError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { realPathOf } from '../storage/real-path.ts'
import { joinPath, openPlace, toEntry } from './places.ts'

/** A file or directory of the folder that a link leads to. */
export type Target = NonNullable<FileEntry['target']>

/**
 * The entry that a link leads to.
 *
 * @param path of the link, relative to the top
 * @returns undefined if it leads out of the folder, to nothing, or to something that is neither a file nor a directory
 */
export async function targetOf(top: Directory, path: string): Promise<Target | undefined> {
  try {
    const real = await realPathOf(top, path)
    const { kind, name: _, ...state } = await entryAt(top, real)
    return kind === 'file' || kind === 'directory' ? { ...state, kind, path: real } : undefined
  } catch (error) {
    if (isAppError(error) && LEADS_NOWHERE.has(error.code)) return undefined
    throw error
  }
}

const LEADS_NOWHERE = new Set(['file_not_found', 'file_kind_refused', 'path_invalid', 'forbidden'])

/** Adds to each link its target. @param directory path of the directory that has the entries */
export async function withTargets<T extends FileEntry>(
  top: Directory,
  directory: string,
  entries: readonly T[],
): Promise<T[]> {
  return await Promise.all(
    entries.map(async entry => {
      const target = entry.kind === 'link' ? await targetOf(top, joinPath(directory, entry.name)) : undefined
      return target ? { ...entry, target } : entry
    }),
  )
}

/** @throws AppError `file_not_found`, `file_kind_refused` (a link in the path) */
export async function entryAt(top: Directory, path: string): Promise<FileEntry> {
  if (path === '') return toEntry('', await top.state())
  await using place = await openPlace(top, path)
  return toEntry(place.name, await place.directory.lstat(place.name))
}
