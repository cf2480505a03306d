import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { AppOptions } from '../apps/app-options.ts'
import { GRANT_CALLS } from '../apps/grant-calls.ts'
import { Grant } from '../apps/grants.ts'
import { SessionId } from '../ids.ts'
import { type RouteSpec } from './route-spec.ts'

const session = z.object({ id: SessionId })

/** Apps: how they are started, and the right to open tunnels to them. */
export const GRANT_ROUTES = {
  startApp: {
    method: 'POST',
    path: '/api/v1/sessions/:id/apps/:app/start',
    access: 'user',
    summary:
      'Start an app with arguments and environment variables that its image allows. An app that runs with others is started again.',
    params: session.extend({ app: TextUpTo(32) }),
    body: AppOptions,
    status: 204,
    reply: z.void(),
  },
  createGrant: {
    ...GRANT_CALLS.createGrant,
    access: 'user',
    summary: 'Start the app if needed, and get a grant for tunnels to it, valid for five minutes.',
    params: session.extend({ app: TextUpTo(32) }),
    status: 201,
    reply: Grant,
  },
  grantToProgram: {
    ...GRANT_CALLS.grantToProgram,
    access: 'user',
    summary:
      'With an access token: start a web app if needed, and get a grant for requests to it. Programs use `/apps/SESSION/APP/…` of the console instead.',
    params: session.extend({ app: TextUpTo(32) }),
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
