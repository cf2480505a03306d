import { AppError, because, type FileConflict, type FileEntry } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { errnoOf } from '../storage/file-errors.ts'
import { componentsOf } from '../storage/file-names.ts'
import { type FileState, isExecutable, isOwnerOnly } from '../storage/file-state.ts'
import { modeOfDirectory } from '../storage/private-files.ts'

/** A name in an open directory. */
export interface Place extends AsyncDisposable {
  readonly directory: Directory
  readonly name: string
}

/** Opens the directory of an entry. @throws AppError `path_invalid` for the folder itself, `file_not_found`, `file_kind_refused` */
export async function openPlace(top: Directory, path: string): Promise<Place> {
  const name = componentsOf(path).at(-1)
  if (name === undefined) throw new AppError('path_invalid', because('name_an_entry'))
  const directory = await top.walk(parentOf(path))
  return { directory, name, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() }
}

/** Path of the directory that holds an entry. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

export const nameOfPath = (path: string) => path.slice(path.lastIndexOf('/') + 1)

export const joinPath = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)

export function toEntry(name: string, { kind, size, modifiedAt, etag, mode }: FileState): FileEntry {
  const isFile = kind === 'file'
  return {
    name,
    kind,
    size: kind === 'directory' ? 0 : size,
    modifiedAt: modifiedAt.toISOString(),
    etag: isFile ? etag : null,
    executable: isFile && isExecutable(mode),
    ...(isFile && isOwnerOnly(mode) ? { ownerOnly: true } : {}),
  }
}

const MOST_NUMBERS = 1_000

/**
 * Runs an operation that needs a new name, and applies the rule for names that are taken.
 *
 * @param make fails with `file_exists` if the name is taken @param replace takes the name even if it is taken
 * @returns the name that was used
 */
export async function takeName(
  name: string,
  onConflict: FileConflict,
  { make, replace }: { make: (name: string) => Promise<void>; replace: (name: string) => Promise<void> },
): Promise<string> {
  if (onConflict === 'replace') {
    await replace(name)
    return name
  }
  for (let number = 0; ; number++) {
    const tried = numbered(name, number)
    try {
      await make(tried)
      return tried
    } catch (error) {
      if (!isCode(error, 'file_exists') || onConflict === 'fail' || number >= MOST_NUMBERS) throw error
    }
  }
}

/**
 * `notes.txt` → `notes (1).txt`, `data.tar.gz` → `data (1).tar.gz`, `.profile` → `.profile (1)`; a name that would become too long is
 * shortened at its end.
 *
 * @param number 0: the name itself
 */
export function numbered(name: string, number: number): string {
  if (number === 0) return name
  const [, stem = name, ending = ''] = /^(.+?)((?:\.tar)?\.[^.]{1,19})?$/s.exec(name) ?? []
  const suffix = ` (${number})${ending}`
  let kept = stem
  while (Buffer.byteLength(kept + suffix) > 255) kept = Array.from(kept).slice(0, -1).join('')
  return kept + suffix
}

/** Names of nested directories, outermost first. */
interface DirectoryNames {
  /** Name of the folder that contains them. */
  readonly folder: string
  readonly names: readonly string[]
}

/** Opens one directory after the other, and creates missing ones. */
export async function makeDirectories(top: Directory, { folder, names }: DirectoryNames): Promise<Directory> {
  let here = await top.walk('')
  for (const [at, name] of names.entries()) {
    await using left = here
    const path = names.slice(0, at + 1).join('/')
    here = await enterOrMake(left, name, modeOfDirectory({ folder, path }))
  }
  return here
}

async function enterOrMake(directory: Directory, name: string, mode: number): Promise<Directory> {
  try {
    return await directory.enter(name)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  await directory.mkdir(name, mode).catch((error: unknown) => {
    if (errnoOf(error) !== 'EEXIST') throw error
  })
  return await directory.enter(name)
}

export function isCode(error: unknown, code: AppError['code']): boolean {
  return error instanceof AppError && error.code === code
}
