import { type Keypairs } from '../../users/keypairs.ts'
import { type Handlers } from '../handlers.ts'

export type KeypairHandlers = Pick<
  Handlers,
  'listKeypairs' | 'createKeypair' | 'createUserKeypair' | 'acceptKeypair' | 'updateKeypair' | 'deleteKeypair'
>

export function createKeypairRoutes(keypairs: Keypairs): KeypairHandlers {
  return {
    listKeypairs: ({ caller }, { query }) => keypairs.list(caller, query),
    createKeypair: ({ caller }, { body }) => keypairs.create(caller, body),
    createUserKeypair: ({ caller }, { params, body }) => keypairs.createFor(caller, params.id, body),
    acceptKeypair: ({ caller }, { params, body }) => keypairs.accept(caller, params.accessKey, body ?? {}),
    updateKeypair: ({ caller }, { params, body }) => keypairs.change(caller, params.accessKey, body),
    deleteKeypair: ({ caller }, { params }) => keypairs.remove(caller, params.accessKey),
  }
}
