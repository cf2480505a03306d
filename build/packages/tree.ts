import { chmodSync, lutimesSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A file, directory or link below a folder. */
export interface TreeEntry {
  /** Relative to the folder, with `/`. */
  readonly path: string
  readonly type: 'file' | 'directory' | 'symlink'
  readonly executable: boolean
  readonly size: number
  /** Target of a link. */
  readonly link?: string
}

/** All entries below a folder in the order of their names by code units, which no locale changes; a directory before its content. */
export function treeOf(folder: string, below = ''): TreeEntry[] {
  const entries = readdirSync(join(folder, below), { withFileTypes: true })
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry): TreeEntry[] => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) return [{ path, type: 'directory', executable: true, size: 0 }, ...treeOf(folder, path)]
    if (entry.isSymbolicLink())
      return [{ path, type: 'symlink', executable: true, size: 0, link: readlinkSync(join(folder, path)) }]
    const { mode, size } = statSync(join(folder, path))
    return [{ path, type: 'file', executable: (mode & 0o111) !== 0, size }]
  })
}

/**
 * Program that runs as root for any user who starts it: Chromium's sandbox, on systems that forbid user namespaces for ordinary users. No
 * other file in a package may do this.
 */
export const SETUID_PROGRAM = 'chrome-sandbox'

/**
 * Gives a tree the modes (0755, 0644, and 4755 for `SETUID_PROGRAM`) and times of a package, regardless of umask and clock: external
 * archivers (dpkg-deb, rpmbuild) read these from the files.
 */
export function normalizeTree(folder: string, seconds: number): void {
  for (const { path, type, executable } of treeOf(folder).toReversed()) {
    const file = join(folder, path)
    if (type !== 'symlink') chmodSync(file, basename(path) === SETUID_PROGRAM ? 0o4755 : executable ? 0o755 : 0o644)
    lutimesSync(file, seconds, seconds)
  }
  chmodSync(folder, 0o755)
  lutimesSync(folder, seconds, seconds)
}
