import { AppError, type FileConflict, type FileEntry } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { componentsOf } from '../storage/file-names.ts'
import { type FileState } from '../storage/file-state.ts'

/** A name in an open directory. */
export interface Place extends AsyncDisposable {
  readonly directory: Directory
  readonly name: string
}

/** Opens the directory of an entry. @throws AppError `path_invalid` for the folder itself, `file_not_found`, `file_kind_refused` */
export async function openPlace(top: Directory, path: string): Promise<Place> {
  const name = componentsOf(path).at(-1)
  if (name === undefined) throw new AppError('path_invalid', { why: 'Name a file or directory in the folder.' })
  const directory = await top.walk(parentOf(path))
  return { directory, name, [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() }
}

/** Path of the directory that holds an entry. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}

export const joinPath = (directory: string, name: string) => (directory === '' ? name : `${directory}/${name}`)

export function toEntry(name: string, { kind, size, modifiedAt, etag }: FileState): FileEntry {
  const isFile = kind === 'file'
  return {
    name,
    kind,
    size: kind === 'directory' ? 0 : size,
    modifiedAt: modifiedAt.toISOString(),
    etag: isFile ? etag : null,
  }
}

const MOST_NUMBERS = 1_000

/**
 * Carries out something that takes a new name, by the rule for names that are taken.
 *
 * @param make fails with `file_exists` if the name is taken   @param replace takes the name whatever has it
 * @returns the name that was taken
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
    const tried = number === 0 ? name : numbered(name, number)
    try {
      await make(tried)
      return tried
    } catch (error) {
      const isTaken = error instanceof AppError && error.code === 'file_exists'
      if (!isTaken || onConflict === 'fail' || number >= MOST_NUMBERS) throw error
    }
  }
}

/** `notes.txt` → `notes (1).txt`; a name that is too long for that loses its last characters. */
export function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 && name.length - dot <= 20 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const suffix = ` (${number})${ending}`
  let kept = stem
  while (Buffer.byteLength(kept + suffix) > 255) kept = Array.from(kept).slice(0, -1).join('')
  return kept + suffix
}
