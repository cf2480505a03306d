import { z } from 'zod'
import { AccessToken, AccessTokenSpec, NewAccessToken } from '../identity/access-tokens.ts'
import { LoginId } from '../identity/logins.ts'
import { type RouteSpec } from './route-spec.ts'

/** Access tokens for programs: each may do a part of what its owner may. */
export const ACCESS_TOKEN_ROUTES = {
  listAccessTokens: {
    method: 'GET',
    path: '/api/v1/me/tokens',
    access: 'user',
    summary: 'List your own access tokens that are valid, the newest first.',
    reply: z.object({ items: z.array(AccessToken) }),
  },
  createAccessToken: {
    method: 'POST',
    path: '/api/v1/me/tokens',
    access: 'user',
    byPerson: true,
    idempotencyKey: true,
    summary:
      'Make an access token for a program, signed in as yourself and not with a keypair. Only this answer has the token.',
    body: AccessTokenSpec,
    status: 201,
    reply: NewAccessToken,
  },
  endAccessToken: {
    method: 'DELETE',
    path: '/api/v1/me/tokens/:id',
    access: 'user',
    summary: 'End one of your access tokens. What it opened closes at once; its sessions go on.',
    params: z.object({ id: LoginId }),
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
