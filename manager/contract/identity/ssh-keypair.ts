import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'

/** Types of keys that a user may upload. */
export const SSH_KEY_TYPES = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
] as const

/** The user's own key. Every session of the user that starts from now on accepts it. */
export const SshKeypair = z
  .object({
    publicKey: z.string().nullable().describe('One line, as in a `.pub` file; null if there is no key.'),
    fingerprint: z.string().nullable().describe('As `ssh-keygen -l` shows it: `SHA256:…`.'),
  })
  .meta({ id: 'SshKeypair' })
export type SshKeypair = z.infer<typeof SshKeypair>

export const NewSshKeypair = z
  .object({
    publicKey: z.string(),
    fingerprint: z.string(),
    privateKey: z.string().describe('OpenSSH format. Shown only in this answer and never stored.'),
  })
  .meta({ id: 'NewSshKeypair' })
export type NewSshKeypair = z.infer<typeof NewSshKeypair>

export const SshPublicKey = z
  .strictObject({ publicKey: TextUpTo(8192).describe('Content of a `.pub` file.') })
  .meta({ id: 'SshPublicKey' })
export type SshPublicKey = z.infer<typeof SshPublicKey>
