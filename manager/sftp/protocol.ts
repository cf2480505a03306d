/**
 * SFTP, version 3, as OpenSSH speaks it.
 *
 * @see draft-ietf-secsh-filexfer-02; https://github.com/openssh/openssh-portable/blob/master/PROTOCOL (extensions)
 */
export const VERSION = 3

/** Largest packet after its length field, the same as in OpenSSH. */
export const MOST_PACKET_BYTES = 256 * 1024
/** Largest number of bytes of one read or write; the rest of the packet is for its other fields. */
export const MOST_DATA_BYTES = MOST_PACKET_BYTES - 1024
/** Largest number of open files and directories of one connection. */
export const MOST_HANDLES = 1024

export const TYPE = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attrs: 105,
  extended: 200,
  extendedReply: 201,
} as const

export const STATUS = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  badMessage: 5,
  unsupported: 8,
} as const
export type StatusName = keyof typeof STATUS

/** Bits of `pflags` in OPEN. */
export const OPEN = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const

/** Attributes of a file; a missing field is unknown, or not to be changed. */
export interface Attributes {
  readonly size?: number
  readonly owner?: { readonly uid: number; readonly gid: number }
  /** Permission bits; sent by the server together with the bits for the kind. */
  readonly mode?: number
  /** Seconds since 1970. */
  readonly times?: { readonly accessed: number; readonly modified: number }
}

/** Extensions of OpenSSH that this server offers, with their versions. */
export const EXTENSIONS = {
  'posix-rename@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'fsync@openssh.com': '1',
  'limits@openssh.com': '1',
} as const

/** A request of a client. Paths are bytes as the client sent them; handles are strings made by this server. */
export type Request = { readonly id: number } & (
  | { readonly kind: 'open'; readonly path: Buffer; readonly flags: number; readonly attributes: Attributes }
  | { readonly kind: 'read'; readonly handle: string; readonly position: number; readonly length: number }
  | { readonly kind: 'write'; readonly handle: string; readonly position: number; readonly data: Buffer }
  | { readonly kind: 'close' | 'fstat' | 'readdir' | 'fsync'; readonly handle: string }
  | {
      readonly kind: 'lstat' | 'stat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink' | 'statvfs'
      readonly path: Buffer
    }
  | { readonly kind: 'setstat' | 'mkdir'; readonly path: Buffer; readonly attributes: Attributes }
  | { readonly kind: 'fsetstat'; readonly handle: string; readonly attributes: Attributes }
  | { readonly kind: 'rename'; readonly from: Buffer; readonly to: Buffer; readonly replaces: boolean }
  | { readonly kind: 'limits' }
  /** An invalid request, or one that this server does not support, such as creating links. */
  | { readonly kind: 'refused'; readonly status: 'unsupported' | 'badMessage'; readonly message: string }
)
export type RequestOf<K extends Request['kind']> = Extract<Request, { readonly kind: K }>

/** An entry of a directory in a reply. */
export interface NamedEntry {
  readonly name: Buffer
  readonly attributes: Attributes
}

/** Figures of a file system, for `statvfs`. */
export interface FileSystemStats {
  readonly blockSize: number
  readonly blocks: number
  readonly freeBlocks: number
  readonly availableBlocks: number
  readonly files: number
  readonly freeFiles: number
}

/** The answer to a request. */
export type Reply =
  | { readonly kind: 'status'; readonly status: StatusName; readonly message: string }
  | { readonly kind: 'handle'; readonly handle: string }
  | { readonly kind: 'names'; readonly entries: readonly NamedEntry[] }
  | { readonly kind: 'attributes'; readonly attributes: Attributes }
  | { readonly kind: 'limits' }
  | { readonly kind: 'stats'; readonly stats: FileSystemStats }

export const OK: Reply = { kind: 'status', status: 'ok', message: 'Success' }
export const END: Reply = { kind: 'status', status: 'eof', message: 'End of file' }
