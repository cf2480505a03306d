import { type BigIntStats } from 'node:fs'

export type FileKind = 'file' | 'directory' | 'link' | 'other'

/** What is known of a file without opening it. */
export interface FileState {
  readonly kind: FileKind
  /** Bytes. */
  readonly size: number
  readonly modifiedAt: Date
  /** Changes with the content; other changes of the file may change it too. */
  readonly etag: string
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  /** Number of the file in its file system. */
  readonly inode: bigint
  /** Number of its names. */
  readonly links: number
}

/** Whether the owner of a file may run it. */
export const isExecutable = (mode: number): boolean => (mode & 0o100) !== 0

/** Mode of a file that was uploaded. */
export const modeOfUploaded = (executable: boolean): number => (executable ? 0o755 : 0o644)

export function stateOf(stats: BigIntStats): FileState {
  const { ino, size, mtimeNs, ctimeNs } = stats
  return {
    kind: kindOf(stats),
    size: Number(size),
    modifiedAt: stats.mtime,
    // The time of the last change of the inode detects an edit that set the time of modification back.
    etag: `"${[ino, size, mtimeNs, ctimeNs].map(part => part.toString(36)).join('-')}"`,
    mode: Number(stats.mode) & 0o7777,
    uid: Number(stats.uid),
    inode: stats.ino,
    links: Number(stats.nlink),
  }
}

interface Kinds {
  isFile(): boolean
  isDirectory(): boolean
  isSymbolicLink(): boolean
}

export function kindOf(one: Kinds): FileKind {
  if (one.isFile()) return 'file'
  if (one.isDirectory()) return 'directory'
  return one.isSymbolicLink() ? 'link' : 'other'
}
