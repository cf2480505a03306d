import { AppError, type OnConflict, type UploadId } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf } from '../storage/file-errors.ts'
import { componentsOf } from '../storage/file-names.ts'
import { type OpenFile } from '../storage/open-file.ts'

/** Where a file is to be put. */
export interface Placement {
  readonly path: string
  readonly onConflict: OnConflict
  readonly modifiedAt: Date | null
}

/** A complete file outside of the folder. */
export interface Part {
  readonly id: UploadId
  readonly directory: Directory
  readonly file: OpenFile
}

const MOST_NAMES = 1_000

/**
 * Moves a complete file into a folder, with the owner and the mode of files that a session writes. Missing directories are
 * made. The file appears whole or not at all: the move is a `link` or a `rename`.
 *
 * @param onRenamed called before the file gets a name with a number
 * @returns the path that the file has
 * @throws AppError `file_exists`, `file_kind_refused`, `path_invalid`
 */
export async function place(
  top: Directory,
  { id, directory, file }: Part,
  { path, onConflict, modifiedAt }: Placement,
  onRenamed: (path: string) => Promise<void>,
): Promise<string> {
  const names = componentsOf(path)
  const name = names.pop()
  if (name === undefined) throw new AppError('path_invalid', { why: 'The path must name a file in the folder.' })
  await using parent = await makeDirectories(top, names)
  const owner = await top.owner()
  if (owner) await file.setOwner(owner)
  await file.setMode(0o644)
  if (modifiedAt) await file.setTimes(modifiedAt, modifiedAt)
  await file.sync()
  if (onConflict === 'replace') await directory.rename(id, parent, name)
  if (onConflict === 'fail') await directory.renameNew(id, parent, name)
  if (onConflict !== 'rename') return path
  for (let count = 0; count < MOST_NAMES; count++) {
    const numbered = count === 0 ? name : numberedName(name, count)
    const placed = [...names, numbered].join('/')
    if (count > 0) await onRenamed(placed)
    if (await moved(directory, id, parent, numbered)) return placed
  }
  throw new AppError('file_exists', { name, why: `"${name}" exists ${MOST_NAMES} times already.` })
}

/** @returns false if the name is taken */
async function moved(directory: Directory, id: UploadId, parent: Directory, name: string): Promise<boolean> {
  try {
    await directory.renameNew(id, parent, name)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
}

/** `photo.tar.gz` → `photo (1).tar.gz`; `.profile` → `.profile (1)`. */
export function numberedName(name: string, count: number): string {
  const [, stem = name, ending = ''] = /^(.[^.]*)((?:\.[^.]{1,10}){0,2})$/s.exec(name) ?? []
  return `${stem} (${count})${ending}`
}

/** Refuses a place that is known to be taken, before any byte is sent. @throws AppError `file_exists`, `path_invalid` */
export async function requireFree(
  top: Directory,
  { path, onConflict }: Pick<Placement, 'path' | 'onConflict'>,
): Promise<void> {
  const names = componentsOf(path)
  const name = names.pop()
  if (name === undefined) throw new AppError('path_invalid', { why: 'The path must name a file in the folder.' })
  if (onConflict === 'rename') return
  try {
    await using parent = await top.walk(names.join('/'))
    const { kind } = await parent.lstat(name)
    if (onConflict === 'replace' && kind !== 'directory') return
    throw new AppError('file_exists', {
      name,
      why: `"${path}" exists already${kind === 'directory' ? ', as a directory' : ''}.`,
    })
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/** Enters one directory after the other, and makes those that are missing. */
async function makeDirectories(top: Directory, names: readonly string[]): Promise<Directory> {
  let here = await top.walk('')
  for (const name of names) {
    await using left = here
    here = await enterOrMake(left, name)
  }
  return here
}

async function enterOrMake(directory: Directory, name: string): Promise<Directory> {
  try {
    return await directory.enter(name)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  await directory.mkdir(name).catch((error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
  return await directory.enter(name)
}
