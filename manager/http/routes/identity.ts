import { type IncomingMessage } from 'node:http'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError, type RouteReply } from '#manager/contract'
import { tokenOf } from '../../users/authorize.ts'
import { type Logins, type NewSignIn } from '../../users/logins.ts'
import { type UserImports } from '../../users/user-import.ts'
import { type Users } from '../../users/users.ts'
import { cookieHeader } from '../browser-sign-in.ts'
import { type Handlers } from '../handlers.ts'
import { browserName } from '../browser-name.ts'
import { clientAddress } from '../origin.ts'

export type IdentityHandlers = Pick<
  Handlers,
  | 'login'
  | 'loginWithTicket'
  | 'loginWithKeypair'
  | 'listLogins'
  | 'endLogin'
  | 'endOtherLogins'
  | 'logout'
  | 'me'
  | 'recordVisit'
  | 'changePassword'
  | 'listUsers'
  | 'getUser'
  | 'createUser'
  | 'importUsers'
  | 'updateUser'
  | 'listUserLogins'
  | 'endUserLogins'
>

export interface IdentityRoutesDeps {
  readonly logins: Logins
  readonly users: Users
  readonly userImports: UserImports
  /** Address of the console for links, used if the settings name none. */
  readonly consoleAddress: (request: IncomingMessage) => string
}

export function createIdentityRoutes(deps: IdentityRoutesDeps): IdentityHandlers {
  const { logins, users, userImports, consoleAddress } = deps
  return {
    async login({ request, reply }, { body }) {
      const signIn = await logins.signIn({ label: deviceOf(request), ...body, address: clientAddress(request.raw) })
      return handOver(request, reply, signIn)
    },

    async loginWithTicket({ request, reply }, { body }) {
      const signIn = await logins.signInWithTicket({
        label: deviceOf(request),
        ...body,
        address: clientAddress(request.raw),
      })
      return handOver(request, reply, signIn)
    },

    async loginWithKeypair({ request, reply }, { body }) {
      const signIn = await logins.signInWithKeypair({
        label: deviceOf(request),
        ...body,
        address: clientAddress(request.raw),
      })
      return handOver(request, reply, signIn)
    },

    listLogins: ({ caller }) => logins.list(caller),
    endLogin: ({ caller }, { params }) => logins.endOwn(caller, params.id),
    endOtherLogins: async ({ caller }) => ({ ended: await logins.endOthers(caller) }),

    async logout({ caller, request, reply }) {
      if (caller.loginId === null) {
        throw new AppError('bad_request', {
          why: 'A signed request has no sign-in to end. Deactivate the keypair instead.',
        })
      }
      await logins.end(caller.loginId)
      if (request.credentials?.from === 'cookie') void reply.header('set-cookie', cookieHeader(request.raw, '', 0))
    },

    async me({ request }) {
      const { credentials } = request
      if (!credentials) throw new AppError('not_signed_in')
      const { user, expiresAt, caller } = credentials
      const { scopes, tokenName } = caller
      const id = tokenOf(caller)
      const token = scopes && id !== null ? { accessToken: { id, name: tokenName ?? '', scopes: [...scopes] } } : {}
      return { user: await users.view(user), expiresAt: expiresAt.toISOString(), ...token }
    },

    recordVisit: ({ caller }) => users.recordVisit(caller),
    changePassword: ({ caller }, { body }) => users.changePassword(caller, body),

    listUsers: ({ caller }, { query }) => users.list(caller, query),
    getUser: ({ caller }, { params }) => users.get(caller, params.id),
    createUser: ({ caller }, { body }) => users.create(caller, body),
    importUsers: ({ caller, request }, { body }) => userImports.run(caller, body, consoleAddress(request.raw)),
    updateUser: ({ caller, request }, { params, body }) =>
      users.change(caller, params.id, body, consoleAddress(request.raw)),
    listUserLogins: ({ caller }, { params }) => users.listLogins(caller, params.id),
    endUserLogins: async ({ caller }, { params }) => ({ ended: await users.endLogins(caller, params.id) }),
  }
}

/** Name of the device for the list of sign-ins, if the client sends none. */
export const deviceOf = (request: FastifyRequest) => browserName(request.headers['user-agent'])

/**
 * Sends a new sign-in. A browser gets one half as a cookie that no script can read, and one half that only its page can store; other
 * clients get a bearer token.
 */
export function handOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { credential, me }: NewSignIn,
): RouteReply<'login'> {
  if (credential.kind === 'token') return { ...me, token: credential.token, originSecret: null }
  const { cookie, originSecret, maxSeconds } = credential
  void reply.header('set-cookie', cookieHeader(request.raw, cookie, maxSeconds))
  return { ...me, token: null, originSecret }
}
