import { z } from 'zod'
import { NewSshKeypair, SshKeypair, SshPublicKey } from '../identity/ssh-keypair.ts'
import { type RouteSpec } from './route-spec.ts'

const path = '/api/v1/me/ssh-keypair'

/** The caller's own SSH key, in addition to the key that each session has. */
export const SSH_KEYPAIR_ROUTES = {
  getSshKeypair: { method: 'GET', path, access: 'user', summary: 'Your own SSH public key.', reply: SshKeypair },
  generateSshKeypair: {
    method: 'POST',
    path,
    access: 'user',
    idempotencyKey: true,
    summary: 'Make a new SSH key pair, in place of an existing one. Only this answer has its private key.',
    status: 201,
    reply: NewSshKeypair,
  },
  setSshPublicKey: {
    method: 'PUT',
    path,
    access: 'user',
    summary: 'Upload your own public key, in place of an existing one.',
    body: SshPublicKey,
    reply: SshKeypair,
  },
  deleteSshKeypair: {
    method: 'DELETE',
    path,
    access: 'user',
    summary: 'Remove your own SSH key. Running sessions keep it.',
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
