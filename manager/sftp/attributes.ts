import { type FolderPermission } from '#manager/contract'
import { type FileKind, type FileState } from '../storage/file-state.ts'
import { type Attributes } from './protocol.ts'

/** Bits for the kind of a file, as in stat(2). */
const KIND_BITS: Readonly<Record<FileKind, number>> = { directory: 0o4, file: 0o10, link: 0o12, other: 0 }

/** SFTP attributes of a file. In a folder that the user may only read, nothing is writable. */
export function attributesOf(
  { kind, size, mode, uid, modifiedAt }: FileState,
  permission: FolderPermission,
): Attributes {
  const modified = modifiedAt.getTime() / 1000
  return {
    size,
    owner: { uid, gid: uid },
    mode: modeOf(kind, permission === 'ro' ? mode & ~0o222 : mode),
    times: { accessed: modified, modified },
  }
}

export const modeOf = (kind: FileKind, bits: number) => (KIND_BITS[kind] << 12) | (bits & 0o777)
