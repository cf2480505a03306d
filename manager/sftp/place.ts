import { bytesOf, nameOf } from '../storage/file-names.ts'
import { parentOf } from '../files/places.ts'

/** A path of a client: the top directory, a folder, or something in a folder. */
export type Place =
  | { readonly kind: 'top' }
  /** @property path relative to the folder; '' is the folder itself */
  | { readonly kind: 'inside'; readonly folder: string; readonly path: string }

/**
 * Parses a path of a client. Relative paths begin at the top directory. `.` and `..` are resolved as text, and cannot lead above the top. A
 * `..` after a link leads to the directory of the link, not of its target: clients ask for the real path before they change their
 * directory.
 */
export function placeOf(path: Buffer): Place {
  const [folder, ...names] = componentsOf(path)
  return folder === undefined ? { kind: 'top' } : { kind: 'inside', folder, path: names.join('/') }
}

function componentsOf(path: Buffer): string[] {
  const names: string[] = []
  for (const name of nameOf(path).split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names
}

/** The absolute form of a path of a client. @throws AppError `path_invalid` */
export function absolute(path: Buffer): Buffer {
  const names = componentsOf(path).map(bytesOf)
  return names.length === 0 ? Buffer.from('/') : Buffer.concat(names.flatMap(name => [SLASH, name]))
}

/** The absolute form of a path in a folder. */
export const inFolder = (folder: string, path: string): Buffer =>
  Buffer.concat([folder, ...path.split('/').filter(name => name !== '')].flatMap(name => [SLASH, bytesOf(name)]))

const SLASH = Buffer.from('/')

/** Splits the path of an entry into its directory and its name. */
export const splitPath = (path: string) => ({
  directory: parentOf(path),
  name: path.slice(path.lastIndexOf('/') + 1),
})
