/** Where OpenSSH keeps keys: it refuses those that others may read. */
const KEYS = '.ssh'

/** Bytes of a file that tell whether it is a private key. */
export const HEAD_BYTES = 64

/** Whether an entry is in the directory of SSH keys, or is that directory, and so for its owner alone. */
export const isPrivatePlace = (path: string): boolean => path.split('/').includes(KEYS)

/** Whether everything in a folder of this name is for its owner alone: it is mounted as the directory of SSH keys. */
export const isPrivateFolder = (name: string): boolean => name === KEYS

/** Whether a file is a private key of OpenSSH, OpenSSL or PuTTY. @param head its first `HEAD_BYTES`, or all */
export const isPrivateKey = (head: Uint8Array): boolean =>
  /^(?:-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----|PuTTY-User-Key-File-\d)/.test(
    Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, HEAD_BYTES)).toString('latin1'),
  )
