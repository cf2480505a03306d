import {
  AppError,
  because,
  type DirectorySpec,
  type FileConflict,
  type FileEntry,
  type FileMoveSpec,
} from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf } from '../storage/file-errors.ts'
import { componentsOf } from '../storage/file-names.ts'
import { modeOfDirectory } from '../storage/private-files.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type OpenFolder } from './open-folder.ts'
import { nameToTake, pathThere } from './names-there.ts'
import { joinPath, makeDirectories, openPlace, parentOf, type Place, takeName, toEntry } from './places.ts'

/** The part of a storage host that is needed for changes, and its name. */
export interface Storage {
  readonly host: string
  readonly takeAway: StorageHosts['takeAway']
}

/** The storage of an open folder. */
export const storageFor =
  (storage: Pick<StorageHosts, 'takeAway'>) =>
  ({ row }: OpenFolder): Storage => ({ host: row.storage_host, takeAway: storage.takeAway.bind(storage) })

export interface Moved {
  readonly path: string
  readonly to: string
}

export const pathsOf = ({ path, to }: Moved): Moved => ({ path, to })

/** @throws AppError `file_exists`, `file_not_found`, `file_kind_refused` */
export async function makeDirectory(
  { top, row: { name: folder } }: OpenFolder,
  { path: given, parents }: DirectorySpec,
): Promise<FileEntry> {
  const path = await pathThere(top, given)
  if (parents) {
    const names = componentsOf(path)
    await using made = await makeDirectories(top, { folder, names })
    return toEntry(names.at(-1) ?? '', await made.state())
  }
  await using place = await openPlace(top, path)
  await place.directory.mkdir(place.name, modeOfDirectory({ folder, path }))
  return toEntry(place.name, await place.directory.lstat(place.name))
}

/** Deletes a file or link; moves a directory out of the folder. @returns true for a directory: its files are still to be removed */
export async function removeEntry(
  { host, takeAway }: Storage,
  { directory, name }: Omit<Place, typeof Symbol.asyncDispose>,
) {
  const { kind } = await directory.lstat(name)
  if (kind === 'directory') await takeAway(host, directory, name)
  else await directory.unlink(name)
  return kind === 'directory'
}

/** Moves one entry. @returns its new path and whether files are still to be removed */
export async function moveEntry(
  storage: Storage,
  { top, target, path }: { top: Directory; target: Directory; path: string },
  { to, name, onConflict }: FileMoveSpec,
): Promise<Moved & { swept: boolean }> {
  await using from = await openPlace(top, path)
  let swept = false
  const wanted = await nameToTake(target, name ?? from.name, parentOf(path) === to ? from.name : undefined)
  const taken = await takeName(wanted, onConflict, {
    make: toName => from.directory.renameNew(from.name, target, toName),
    replace: async toName => {
      try {
        await from.directory.rename(from.name, target, toName)
      } catch (error) {
        if (!IN_THE_WAY.has(errnoOf(error) ?? '')) throw error
        swept = await removeEntry(storage, { directory: target, name: toName })
        await from.directory.renameNew(from.name, target, toName)
      }
    },
  }).catch((error: unknown) => {
    if (errnoOf(error) !== 'EXDEV') throw error
    const { name } = from
    throw new AppError('file_kind_refused', { name, ...because('file_other_system', { name }) }, { cause: error })
  })
  return { path, to: joinPath(to, taken), swept }
}

/** Errors of `rename` for entries that it does not replace: a directory with files by a directory, a directory by a file, a file by a directory. */
const IN_THE_WAY = new Set(['ENOTEMPTY', 'EEXIST', 'EISDIR', 'ENOTDIR'])

/** Whether an operation with this rule may delete existing entries. */
export const mayDelete = (onConflict: FileConflict) => onConflict === 'replace'
