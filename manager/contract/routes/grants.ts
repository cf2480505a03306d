import { z } from 'zod'
import { GRANT_CALLS } from '../grant-calls.ts'
import { Grant } from '../grants.ts'
import { SessionId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

const session = z.object({ id: SessionId })

/** Grants: rights to open tunnels. */
export const GRANT_ROUTES = {
  createGrant: {
    ...GRANT_CALLS.createGrant,
    access: 'user',
    summary: 'Start the app if needed, and get a grant for tunnels to it, valid for five minutes.',
    params: session.extend({ app: z.string().max(32) }),
    status: 201,
    reply: Grant,
  },
  renewGrant: {
    ...GRANT_CALLS.renewGrant,
    access: 'none',
    summary: 'Extend a grant that has not expired. The grant itself, in `x-berth-grant`, is the credential.',
    reply: Grant,
  },
} as const satisfies Record<string, RouteSpec>
