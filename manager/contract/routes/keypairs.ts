import { z } from 'zod'
import {
  AccessKey,
  Keypair,
  KeypairAcceptance,
  KeypairChange,
  KeypairSort,
  KeypairSpec,
  NewKeypair,
  UserKeypairSpec,
} from '../identity/keypairs.ts'
import { UserId } from '../ids.ts'
import { PlainText } from '../plain-text.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Keypairs that scripts sign requests with. */
export const KEYPAIR_ROUTES = {
  listKeypairs: {
    method: 'GET',
    path: '/api/v1/keypairs',
    access: 'user',
    summary:
      'List your own keypairs, by access key unless `sort` says otherwise. Admins see the keypairs of the users they manage.',
    query: Page.extend({
      mine: z.stringbool().optional(),
      owner: UserId.optional().describe('Keypairs of this user only.'),
      active: z.stringbool().optional(),
      sort: KeypairSort.optional().describe('Order, falling with a `-`; keypairs with the same value by access key.'),
      search: PlainText(254)
        .optional()
        .describe('Part of the access key, its name, the e-mail address or the policy, in any letter case.'),
    }),
    reply: pageOf(Keypair).extend({ total: z.int().describe('Number of all matches.') }),
  },
  createKeypair: {
    method: 'POST',
    path: '/api/v1/keypairs',
    access: 'user',
    idempotencyKey: true,
    summary:
      'Make a keypair of your own, signed in as yourself and not with a keypair. Only this answer has its secret key.',
    body: KeypairSpec,
    status: 201,
    reply: NewKeypair,
  },
  createUserKeypair: {
    method: 'POST',
    path: '/api/v1/users/:id/keypairs',
    access: 'domain_admin',
    idempotencyKey: true,
    summary:
      'Make a keypair for another user. It opens nothing until the user accepts it, and only the user gets its secret key.',
    params: z.object({ id: UserId }),
    body: UserKeypairSpec,
    status: 201,
    reply: Keypair,
  },
  acceptKeypair: {
    method: 'POST',
    path: '/api/v1/keypairs/:accessKey/accept',
    access: 'user',
    summary:
      'Accept and activate a keypair that somebody else made for you. Only this answer has its secret key. To refuse it, delete it.',
    params: z.object({ accessKey: AccessKey }),
    body: KeypairAcceptance.nullish(),
    reply: NewKeypair,
  },
  updateKeypair: {
    method: 'PATCH',
    path: '/api/v1/keypairs/:accessKey',
    access: 'user',
    summary:
      'Activate or deactivate a keypair; superadmins can set its rate limit and resource policy. Only its owner activates it.',
    params: z.object({ accessKey: AccessKey }),
    body: KeypairChange,
    reply: Keypair,
  },
  deleteKeypair: {
    method: 'DELETE',
    path: '/api/v1/keypairs/:accessKey',
    access: 'user',
    summary: 'Delete a keypair with which no session was launched.',
    params: z.object({ accessKey: AccessKey }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
