/** Directory of OpenSSH for keys; OpenSSH refuses keys that others may read. */
const KEYS = '.ssh'

/** Number of bytes that suffice to recognise a private key. */
export const HEAD_BYTES = 64

/** Whether a file is a private key of OpenSSH, OpenSSL or PuTTY. */
const isPrivateKey = (head: Uint8Array): boolean =>
  /^(?:-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----|PuTTY-User-Key-File-\d)/.test(
    Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, HEAD_BYTES)).toString('latin1'),
  )

/** An entry to be created in a folder. */
export interface NewEntry {
  /** Name of the folder: a folder named `.ssh` is mounted as the directory of SSH keys. */
  readonly folder: string
  /** Relative to the folder. */
  readonly path: string
  /** The first `HEAD_BYTES` of a file, or all, if they are known already. */
  readonly head?: Uint8Array
}

/** Whether only the owner may access a new entry: the directory of SSH keys, its contents, and private keys anywhere. */
export const isPrivate = ({ folder, path, head }: NewEntry): boolean =>
  folder === KEYS || path.split('/').includes(KEYS) || (head !== undefined && isPrivateKey(head))

/** Permission bits of a new file. @param asked bits that a client requested */
export const modeOfFile = (entry: NewEntry, asked = 0o644): number => (isPrivate(entry) ? asked & 0o700 : asked)

/** Permission bits of a new directory. @param asked bits that a client requested */
export const modeOfDirectory = (entry: NewEntry, asked = 0o755): number => modeOfFile(entry, asked)
