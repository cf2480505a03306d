import { type SshKeypairs } from '../../users/ssh-keypairs.ts'
import { type Handlers } from '../handlers.ts'

type SshKeypairRoutes = 'getSshKeypair' | 'generateSshKeypair' | 'setSshPublicKey' | 'deleteSshKeypair'

export function createSshKeypairRoutes(keys: SshKeypairs): Pick<Handlers, SshKeypairRoutes> {
  return {
    getSshKeypair: ({ caller }) => keys.get(caller),
    generateSshKeypair: ({ caller }) => keys.generate(caller),
    setSshPublicKey: ({ caller }, { body }) => keys.set(caller, body.publicKey),
    deleteSshKeypair: ({ caller }) => keys.remove(caller),
  }
}
