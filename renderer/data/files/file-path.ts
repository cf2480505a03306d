import { SESSION_HOME } from '#manager/contract'

/** Paths of files: relative to their folder, separated by "/", "" is the top of the folder. */

const LONGEST_NAME_BYTES = 255

export function joinPath(directory: string, name: string): string {
  return directory === '' ? name : `${directory}/${name}`
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash === -1 ? '' : path.slice(0, slash)
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Directories from the top of the folder to `path`, without the top itself. */
export function ancestorsOf(path: string): { readonly name: string; readonly path: string }[] {
  if (path === '') return []
  const names = path.split('/')
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }))
}

/** True for `outer` itself and everything below it. */
export function isWithin(path: string, outer: string): boolean {
  return outer === '' || path === outer || path.startsWith(`${outer}/`)
}

/** Path under which sessions that mount the folder in the usual place see the file. */
export function sessionPath(folderName: string, path: string): string {
  return [SESSION_HOME, folderName, ...(path === '' ? [] : [path])].join('/')
}

export type NameFault = 'empty' | 'dots' | 'slash' | 'control' | 'long'

/** Mistake in a name that a user typed; undefined if the name is allowed. */
export function nameFault(name: string): NameFault | undefined {
  if (name === '') return 'empty'
  if (name === '.' || name === '..') return 'dots'
  if (name.includes('/')) return 'slash'
  if (/[\u0000-\u001f\u007f]/.test(name)) return 'control'
  if (new TextEncoder().encode(name).length > LONGEST_NAME_BYTES) return 'long'
  return undefined
}

/** Length of a name without its extension: the part that a rename selects. */
export function stemLength(name: string, isDirectory: boolean): number {
  if (isDirectory) return name.length
  const compound = /\.tar\.[a-z0-9]{1,4}$/i.exec(name)
  const dot = compound ? compound.index : name.lastIndexOf('.')
  return dot > 0 ? dot : name.length
}

/** First free name of the form `name (2).ext`. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const stem = name.slice(0, stemLength(name, false))
  const extension = name.slice(stem.length)
  for (let number = 2; ; number++) {
    const candidate = `${stem} (${number})${extension}`
    if (!taken.has(candidate)) return candidate
  }
}
