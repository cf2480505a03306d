import { z } from 'zod'
import { SessionId } from '../ids.ts'
import { Session, SessionEvent, SessionSpec, SessionStatus, SshAccess } from '../sessions.ts'
import { Notice, WhatIf } from '../what-if.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

const session = z.object({ id: SessionId })

/** Sessions and what they show. */
export const SESSION_ROUTES = {
  createSession: {
    method: 'POST',
    path: '/api/v1/sessions',
    access: 'user',
    summary: 'Ask for one or more sessions.',
    body: SessionSpec,
    status: 201,
    reply: z.object({ items: z.array(Session), notices: z.array(Notice) }),
  },
  whatIf: {
    method: 'POST',
    path: '/api/v1/sessions/what-if',
    access: 'user',
    summary: 'Whether a request would start now, else why not and which smaller one would. Creates nothing.',
    body: SessionSpec,
    reply: WhatIf,
  },
  listSessions: {
    method: 'GET',
    path: '/api/v1/sessions',
    access: 'user',
    summary: 'Own sessions; a superadmin sees all. Newest first.',
    query: Page.extend({
      status: z
        .string()
        .optional()
        .describe('Comma-separated statuses, or "live" or "finished".')
        .refine(
          text =>
            !text ||
            ['live', 'finished'].includes(text) ||
            text.split(',').every(s => SessionStatus.safeParse(s).success),
          'must be "live", "finished" or a list of statuses',
        ),
      name: z.string().max(64).optional(),
      mine: z.stringbool().optional(),
    }),
    reply: pageOf(Session).extend({ total: z.int() }),
  },
  getSession: {
    method: 'GET',
    path: '/api/v1/sessions/:id',
    access: 'user',
    summary: 'One session.',
    params: session,
    reply: Session,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id',
    access: 'user',
    summary: 'Cancel a waiting session, or terminate a running one. Safe to repeat.',
    params: session,
    status: 202,
    reply: Session,
  },
  listSessionEvents: {
    method: 'GET',
    path: '/api/v1/sessions/:id/events',
    access: 'user',
    summary: 'Timeline: every transition with its reason, oldest first.',
    params: session,
    reply: z.object({ items: z.array(SessionEvent) }),
  },
  getSessionLogs: {
    method: 'GET',
    path: '/api/v1/sessions/:id/logs',
    access: 'user',
    summary: 'Log of the main container: live while it runs, the kept tail afterwards.',
    params: session,
    query: z.object({ tail: z.coerce.number().int().min(1).max(50_000).default(2000) }),
    reply: z.object({ text: z.string(), truncated: z.boolean() }),
  },
  getSshAccess: {
    method: 'GET',
    path: '/api/v1/sessions/:id/ssh',
    access: 'user',
    summary: 'User, pinned host key and private key (id_container) of a session. Never cached.',
    params: session,
    reply: SshAccess,
  },
} as const satisfies Record<string, RouteSpec>
