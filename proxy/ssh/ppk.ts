import { createHmac } from 'node:crypto'
import { type PrivateKey, sshString } from './openssh-key.ts'

/**
 * A private key as PuTTY's PPK version 3, unencrypted.
 *
 * The MAC of an unencrypted file has an empty key and covers type, encryption, comment, public and private blob, each with its
 * length before it (PuTTY manual, appendix C.3). It detects damage; it is not a secret.
 */
export function toPpk(key: PrivateKey): string {
  const encryption = 'none'
  const comment = key.comment.replace(/[\r\n]/g, ' ')
  const covered = [key.type, encryption, comment, key.publicBlob, key.putty].map(sshString)
  const mac = createHmac('sha256', '').update(Buffer.concat(covered)).digest('hex')
  const publicLines = lines(key.publicBlob)
  const privateLines = lines(key.putty)
  return [
    `PuTTY-User-Key-File-3: ${key.type}`,
    `Encryption: ${encryption}`,
    `Comment: ${comment}`,
    `Public-Lines: ${publicLines.length}`,
    ...publicLines,
    `Private-Lines: ${privateLines.length}`,
    ...privateLines,
    `Private-MAC: ${mac}`,
    '',
  ].join('\r\n')
}

/** Base64 in lines of 64 characters. */
function lines(bytes: Buffer): string[] {
  return bytes.toString('base64').match(/.{1,64}/g) ?? []
}
