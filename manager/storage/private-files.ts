/** Where OpenSSH keeps keys: it refuses those that others may read. */
const KEYS = '.ssh'

/** Bytes of a file that tell whether it is a private key. */
export const HEAD_BYTES = 64

/** Whether a file is a private key of OpenSSH, OpenSSL or PuTTY. */
const isPrivateKey = (head: Uint8Array): boolean =>
  /^(?:-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----|PuTTY-User-Key-File-\d)/.test(
    Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, HEAD_BYTES)).toString('latin1'),
  )

/** An entry that is made in a folder. */
export interface NewEntry {
  /** Name of the folder: one of this name is mounted as the directory of SSH keys. */
  readonly folder: string
  /** Relative to the folder. */
  readonly path: string
  /** The first `HEAD_BYTES` of a file, or all, where they are known already. */
  readonly head?: Uint8Array
}

/** Whether a new entry is for its owner alone: the directory of SSH keys, what is in it, and a private key anywhere. */
export const isPrivate = ({ folder, path, head }: NewEntry): boolean =>
  folder === KEYS || path.split('/').includes(KEYS) || (head !== undefined && isPrivateKey(head))

/** Permission bits of a new file. @param asked by a client that says so itself */
export const modeOfFile = (entry: NewEntry, asked = 0o644): number => (isPrivate(entry) ? asked & 0o700 : asked)

/** Permission bits of a new directory. @param asked as for a file */
export const modeOfDirectory = (entry: NewEntry, asked = 0o755): number => modeOfFile(entry, asked)
