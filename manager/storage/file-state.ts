import { type BigIntStats } from 'node:fs'

export type FileKind = 'file' | 'directory' | 'link' | 'other'

/** Facts of a file that are known without opening it. */
export interface FileState {
  readonly kind: FileKind
  /** Bytes. */
  readonly size: number
  /** Bytes on the disk; fewer than the size for a file with holes. */
  readonly allocated: number
  readonly modifiedAt: Date
  /** Changes with the content; other changes of the file may change it too. */
  readonly etag: string
  /** Permission bits. */
  readonly mode: number
  readonly uid: number
  /** Number of the file in its file system. */
  readonly inode: bigint
  /** Creation time in nanoseconds since 1970; undefined if the file system does not store it. */
  readonly bornNs: bigint | undefined
  /** Nanoseconds since 1970 at which its inode last changed. */
  readonly changedNs: bigint
  /** Number of hard links. */
  readonly links: number
}

/** Size from which holes count: in smaller files they cost little, and some file systems report no blocks at all. */
const LARGE_BYTES = 16 * 2 ** 30
const MOST_HOLES = 1024

/** Whether a large file consists almost only of holes, which take no space but would be read as zeros for days. */
export const isHoles = ({ size, allocated }: Pick<FileState, 'size' | 'allocated'>): boolean =>
  size > LARGE_BYTES && allocated * MOST_HOLES < size

/** Whether the owner of a file may run it. */
export const isExecutable = (mode: number): boolean => (mode & 0o100) !== 0

/** Whether nobody but the owner of a file has any right to it. */
export const isOwnerOnly = (mode: number): boolean => (mode & 0o077) === 0

/** Permissions of an uploaded file that a client or the path of the file asks for. */
export interface UploadedMode {
  /** Undefined: as the file that it replaces, else not executable. */
  readonly executable: boolean | undefined
  /** Readable only by its owner. False: as the file that it replaces. */
  readonly ownerOnly: boolean
}

/** @param replaced permission bits of the regular file that it replaces */
export function modeOfUploaded({ executable, ownerOnly }: UploadedMode, replaced = 0o644): number {
  const runs = executable ?? isExecutable(replaced)
  const mode = executable === undefined ? replaced : runs ? replaced | ((replaced & 0o444) >> 2) : replaced & ~0o111
  return ownerOnly ? mode & 0o700 : mode
}

export function stateOf(stats: BigIntStats): FileState {
  const { ino, size, birthtimeNs, mtimeNs, ctimeNs } = stats
  return {
    kind: kindOf(stats),
    size: Number(size),
    allocated: Number(stats.blocks) * 512,
    modifiedAt: stats.mtime,
    // The time of the last change of the inode detects an edit that reset the modification time.
    etag: `"${[ino, size, mtimeNs, ctimeNs].map(part => part.toString(36)).join('-')}"`,
    mode: Number(stats.mode) & 0o7777,
    uid: Number(stats.uid),
    inode: ino,
    bornNs: birthtimeNs > 0n ? birthtimeNs : undefined,
    changedNs: ctimeNs,
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
