import { z } from 'zod'
import { Agent, Image, Resources } from './agents.ts'
import { AgentId, SessionId, UserId } from './ids.ts'
import { AccessKey, Keypair, KeypairChange, KeypairSpec, NewKeypair } from './keypairs.ts'
import { ResourceGroup, ResourceGroupChange, ResourceGroupName, ResourceGroupSpec } from './resource-groups.ts'
import { App, Reason, Session, SessionEvent, SessionSpec, SessionStatus, SshAccess } from './sessions.ts'
import { Me, User, UserChange, UserSpec } from './users.ts'

/** Where credentials come from: `none`, any signed-in user, or a superadmin. Rules on single objects are in services. */
export type Access = 'none' | 'user' | 'superadmin'

export interface RouteSpec {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Fastify syntax: `/api/v1/sessions/:id`. */
  readonly path: string
  readonly access: Access
  readonly summary: string
  readonly params?: z.ZodType
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Success status, 200 if left out. */
  readonly status?: 200 | 201 | 202 | 204
  /** z.void() for 204; z.string() is sent as text/plain. */
  readonly reply: z.ZodType
}

const session = z.object({ id: SessionId })
const Page = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z.string().max(200).optional(),
})
const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), nextCursor: z.string().nullable() })

export const Notice = z.object({ code: z.enum(['raised_to_minimum', 'shmem_lowered']), message: z.string() })
export type Notice = z.infer<typeof Notice>

/** What would happen to a request that was made now. */
export const WhatIf = z
  .object({
    startsNow: z.boolean(),
    reason: Reason.nullable().describe('Why it would wait, with `expectedBy` only where that can be known.'),
    smaller: z
      .array(z.object({ slot: z.enum(['cpu', 'mem', 'cuda.device', 'cuda.shares']), amount: z.string() }))
      .describe('Changes of a single slot each of which would let it start at once; the mildest first.'),
    notices: z.array(Notice),
  })
  .meta({ id: 'WhatIf' })
export type WhatIf = z.infer<typeof WhatIf>

/** A short-lived right to open tunnels to one app of one session. See `tunnel/`. */
export const Grant = z.object({
  grant: z.string().describe('Opaque; sent as `x-berth-grant`.'),
  sessionId: SessionId,
  app: App,
  expiresAt: z.iso.datetime(),
  /**
   * Header that the local proxy adds to every HTTP request of this app, so that its secret never meets a URL or a page.
   */
  inject: z.object({ header: z.string(), value: z.string() }).nullable(),
})
export type Grant = z.infer<typeof Grant>

const LoginReply = Me.extend({ token: z.string().nullable().describe('Bearer token, only for kind "token".') })

/** The whole HTTP surface of the manager below /api/v1, in one table: server, typed client and OpenAPI read it. */
export const ROUTES = {
  login: {
    method: 'POST',
    path: '/api/v1/auth/login',
    access: 'none',
    summary: 'Sign in with e-mail address and password.',
    body: z.strictObject({
      email: z.string().min(1).max(254),
      password: z.string().max(1024),
      kind: z.enum(['browser', 'token']).default('browser').describe('A cookie for browsers, or a bearer token.'),
      label: z.string().max(100).optional().describe('Shown in the list of sign-ins, e.g. the host name.'),
    }),
    reply: LoginReply,
  },
  loginWithTicket: {
    method: 'POST',
    path: '/api/v1/auth/ticket',
    access: 'none',
    summary: 'Sign in with the one-time link that `berth up` opens.',
    body: z.strictObject({
      ticket: z.string().min(16).max(200),
      kind: z.enum(['browser', 'token']).default('browser').describe('As for login: the desktop app asks for a token.'),
    }),
    reply: LoginReply,
  },
  logout: {
    method: 'POST',
    path: '/api/v1/auth/logout',
    access: 'user',
    summary: 'End this sign-in and every grant made with it.',
    status: 204,
    reply: z.void(),
  },
  me: { method: 'GET', path: '/api/v1/me', access: 'user', summary: 'Who is signed in.', reply: Me },
  changePassword: {
    method: 'POST',
    path: '/api/v1/me/password',
    access: 'user',
    summary: 'Change the own password; every other sign-in ends.',
    body: z.strictObject({ oldPassword: z.string().max(1024), newPassword: z.string().max(1024) }),
    status: 204,
    reply: z.void(),
  },

  listUsers: {
    method: 'GET',
    path: '/api/v1/users',
    access: 'superadmin',
    summary: 'List users.',
    query: Page,
    reply: pageOf(User),
  },
  createUser: {
    method: 'POST',
    path: '/api/v1/users',
    access: 'superadmin',
    summary: 'Create a user.',
    body: UserSpec,
    status: 201,
    reply: User,
  },
  updateUser: {
    method: 'PATCH',
    path: '/api/v1/users/:id',
    access: 'superadmin',
    summary: 'Rename, deactivate or re-activate a user, change the role, or set a new password.',
    params: z.object({ id: UserId }),
    body: UserChange,
    reply: User,
  },

  listKeypairs: {
    method: 'GET',
    path: '/api/v1/keypairs',
    access: 'user',
    summary: 'Own keypairs; a superadmin sees all. In the order of access keys.',
    query: Page.extend({ mine: z.stringbool().optional() }),
    reply: pageOf(Keypair),
  },
  createKeypair: {
    method: 'POST',
    path: '/api/v1/keypairs',
    access: 'user',
    summary: 'Make a keypair; the reply is the only one with its secret key.',
    body: KeypairSpec,
    status: 201,
    reply: NewKeypair,
  },
  updateKeypair: {
    method: 'PATCH',
    path: '/api/v1/keypairs/:accessKey',
    access: 'user',
    summary: 'Activate, deactivate, or (superadmins) set the rate limit.',
    params: z.object({ accessKey: AccessKey }),
    body: KeypairChange,
    reply: Keypair,
  },
  deleteKeypair: {
    method: 'DELETE',
    path: '/api/v1/keypairs/:accessKey',
    access: 'user',
    summary: 'Delete a keypair that no session refers to.',
    params: z.object({ accessKey: AccessKey }),
    status: 204,
    reply: z.void(),
  },

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
  createGrant: {
    method: 'POST',
    path: '/api/v1/sessions/:id/apps/:app/grant',
    access: 'user',
    summary: 'Start the app if needed and obtain the right to tunnel to it for five minutes.',
    params: session.extend({ app: z.string().max(32) }),
    status: 201,
    reply: Grant,
  },
  renewGrant: {
    method: 'POST',
    path: '/api/v1/grants/renew',
    access: 'none',
    summary: 'Extend a grant that has not expired; the grant itself, in `x-berth-grant`, is the credential.',
    reply: Grant,
  },

  listImages: {
    method: 'GET',
    path: '/api/v1/images',
    access: 'user',
    summary: 'Images that can be launched.',
    reply: z.object({ items: z.array(Image) }),
  },
  getResources: {
    method: 'GET',
    path: '/api/v1/resources',
    access: 'user',
    summary: 'Capacity, use and the largest possible request.',
    reply: Resources,
  },
  listAgents: {
    method: 'GET',
    path: '/api/v1/agents',
    access: 'superadmin',
    summary: 'Agents with devices, capacity and use.',
    reply: z.object({ items: z.array(Agent) }),
  },
  createJoinToken: {
    method: 'POST',
    path: '/api/v1/agents/join-tokens',
    access: 'superadmin',
    summary: 'A one-time token (15 minutes) with which an agent joins.',
    body: z.strictObject({ resourceGroup: z.string().max(64).default('default') }),
    status: 201,
    reply: z.object({ token: z.string(), join: z.string(), expiresAt: z.iso.datetime() }),
  },
  updateAgent: {
    method: 'PATCH',
    path: '/api/v1/agents/:id',
    access: 'superadmin',
    summary: 'Make an agent schedulable or not.',
    params: z.object({ id: AgentId }),
    body: z.strictObject({ schedulable: z.boolean() }),
    reply: Agent,
  },
  forgetAgent: {
    method: 'DELETE',
    path: '/api/v1/agents/:id',
    access: 'superadmin',
    summary: 'Revoke an agent. Sessions on it end as agent_forgotten.',
    params: z.object({ id: AgentId }),
    status: 204,
    reply: z.void(),
  },

  listResourceGroups: {
    method: 'GET',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
    summary: 'Resource groups with their settings.',
    reply: z.object({ items: z.array(ResourceGroup) }),
  },
  createResourceGroup: {
    method: 'POST',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
    summary: 'Create a resource group; agents come into it with a join token of the group.',
    body: ResourceGroupSpec,
    status: 201,
    reply: ResourceGroup,
  },
  updateResourceGroup: {
    method: 'PATCH',
    path: '/api/v1/resource-groups/:name',
    access: 'superadmin',
    summary: 'Change settings of a resource group; what is left out stays.',
    params: z.object({ name: ResourceGroupName }),
    body: ResourceGroupChange,
    reply: ResourceGroup,
  },
} as const satisfies Record<string, RouteSpec>

export type RouteName = keyof typeof ROUTES
