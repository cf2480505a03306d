import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, MAX_BROWSER_DAYS, type RouteReply } from '#manager/contract'
import { type Logins, type NewSignIn } from '../../users/logins.ts'
import { type Users } from '../../users/users.ts'
import { cookieHeader } from '../credentials.ts'
import { type Handlers } from '../handlers.ts'
import { clientAddress } from '../origin.ts'

export type IdentityHandlers = Pick<
  Handlers,
  | 'login'
  | 'loginWithTicket'
  | 'logout'
  | 'me'
  | 'changePassword'
  | 'listUsers'
  | 'getUser'
  | 'createUser'
  | 'updateUser'
>

/** The browser may keep the cookie this long; the server decides when it is over. */
const COOKIE_SECONDS = MAX_BROWSER_DAYS * 24 * 3600

export function createIdentityRoutes({ logins, users }: { logins: Logins; users: Users }): IdentityHandlers {
  return {
    async login({ request, reply }, { body }) {
      const signIn = await logins.signIn({ ...body, address: clientAddress(request.raw) })
      return handOver(request, reply, body.kind, signIn)
    },

    async loginWithTicket({ request, reply }, { body }) {
      const signIn = await logins.signInWithTicket({ ...body, address: clientAddress(request.raw) })
      return handOver(request, reply, body.kind, signIn)
    },

    async logout({ caller, request, reply }) {
      if (caller.loginId === null) {
        throw new AppError('bad_request', { why: 'A signed request has no sign-in; deactivate the keypair instead.' })
      }
      await logins.end(caller.loginId)
      if (request.credentials?.from === 'cookie') void reply.header('set-cookie', cookieHeader(request.raw, '', 0))
    },

    async me({ request }) {
      const { credentials } = request
      if (!credentials) throw new AppError('not_signed_in')
      const { user, csrf, expiresAt } = credentials
      return { user: await users.view(user), csrf, expiresAt: expiresAt.toISOString() }
    },

    changePassword: ({ caller, request }, { body }) =>
      users.changePassword(caller, { ...body, address: clientAddress(request.raw) }),

    listUsers: ({ caller }, { query }) => users.list(caller, query),
    getUser: ({ caller }, { params }) => users.get(caller, params.id),
    createUser: ({ caller }, { body }) => users.create(caller, body),
    updateUser: ({ caller }, { params, body }) => users.change(caller, params.id, body),
  }
}

/** A browser gets a cookie that no script can read; others the token itself. */
function handOver(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: 'browser' | 'token',
  { token, me }: NewSignIn,
): RouteReply<'login'> {
  if (kind === 'token') return { ...me, token }
  void reply.header('set-cookie', cookieHeader(request.raw, token, COOKIE_SECONDS))
  return { ...me, token: null }
}
