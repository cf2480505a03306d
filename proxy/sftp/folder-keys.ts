import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { readIfThere, writeFileAtomically } from '../files.ts'
import { newKeyPair, parseOpensshKey, publicLineOf } from '../ssh/openssh-key.ts'

/** A key pair of ours. */
export interface FolderKey {
  /** OpenSSH format. */
  readonly privateKey: string
  /** `ssh-ed25519 AAAA… comment` */
  readonly publicKey: string
}

export interface FolderKeys {
  /** Identifies the SFTP port of this user on this computer. */
  readonly host: FolderKey
  /** Authenticates programs of this computer. */
  readonly client: FolderKey
}

/**
 * The keys of the SFTP port, made at the first use and kept, so that saved sites of other programs keep working.
 *
 * Threat model: private keys at rest, 0600 in a directory of the proxy that is 0700. The client's key only opens the SFTP port of this user
 * on this computer, and only while that port is open. A damaged file is replaced by a new key.
 *
 * @param directory of this user's proxy
 */
export async function openFolderKeys(directory: string): Promise<FolderKeys> {
  const at = (name: string) => join(directory, 'sftp', name)
  return { host: await openKey(at('host_key'), 'berth-folders'), client: await openKey(at('id_container'), 'berth') }
}

async function openKey(path: string, comment: string): Promise<FolderKey> {
  const known = await readIfThere(path)
  if (known !== undefined) {
    try {
      return { privateKey: known, publicKey: publicLineOf(parseOpensshKey(known)) }
    } catch {
      // The file is damaged: a new key replaces it.
    }
  }
  const pair = newKeyPair(comment)
  await writeFileAtomically(path, pair.privateKey)
  return pair
}

/** Fingerprint of a line of a `.pub` file, as `ssh-keygen -l` shows it. */
export function fingerprintOf(publicKey: string): string {
  const blob = Buffer.from(publicKey.split(' ', 2)[1] ?? '', 'base64')
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`
}
