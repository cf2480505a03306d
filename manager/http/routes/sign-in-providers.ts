import { type IncomingMessage } from 'node:http'
import { type FastifyInstance } from 'fastify'
import { AppError, because, type SsoReturn } from '#manager/contract'
import { type Settings } from '../../settings/settings.ts'
import { type SignInProviders } from '../../sso/providers.ts'
import { CALLBACK_PATH, type SsoAttempts } from '../../sso/attempts.ts'
import { type DirectoryAttempts } from '../../sso/directory/attempts.ts'
import { type OwnIdentities } from '../../sso/own-identities.ts'
import { type SsoSignIns } from '../../sso/sign-in.ts'
import { type Handlers } from '../handlers.ts'
import { clientAddress } from '../origin.ts'
import { deviceOf, handOver } from './identity.ts'

export type SignInProviderHandlers = Pick<
  Handlers,
  | 'startSso'
  | 'proveAtDirectory'
  | 'finishSso'
  | 'listOwnIdentities'
  | 'startLinking'
  | 'proveLinking'
  | 'checkLinking'
  | 'finishLinking'
  | 'unlinkIdentity'
  | 'listSignInProviders'
  | 'createSignInProvider'
  | 'updateSignInProvider'
  | 'deleteSignInProvider'
  | 'testSignInProvider'
  | 'lookUpInDirectory'
  | 'listUserIdentities'
  | 'removeUserIdentities'
>

export interface SignInProviderRouteDeps {
  readonly providers: SignInProviders
  readonly attempts: SsoAttempts
  readonly directoryAttempts: DirectoryAttempts
  readonly sso: SsoSignIns
  readonly own: OwnIdentities
  readonly settings: Pick<Settings, 'read'>
  /** Address of the console, used if the settings name none. */
  readonly consoleAddress: (request: IncomingMessage) => string
  /** Whether the sender of the request reaches this server by this host, and it is one of ours. */
  readonly isReachedAs: (request: IncomingMessage, host: string) => boolean
}

export function createSignInProviderRoutes(deps: SignInProviderRouteDeps): SignInProviderHandlers {
  const { providers, attempts, directoryAttempts, sso, own, settings, consoleAddress, isReachedAs } = deps
  const consoleOf = async (request: IncomingMessage) => (await settings.read()).publicUrl ?? consoleAddress(request)
  /** @throws AppError `bad_request` for a place that is not ours: the code would count at another server (`codeFor`) */
  async function requireOurs(request: IncomingMessage, to: SsoReturn): Promise<void> {
    if (to.to === 'page' || to.at === undefined || isReachedAs(request, to.at)) return
    const { publicUrl } = await settings.read()
    if (publicUrl !== null && new URL(publicUrl).host === to.at) return
    throw new AppError('bad_request', because('sso_place', { at: to.at }))
  }
  return {
    async startSso({ request: { raw } }, { body }) {
      await requireOurs(raw, body.return)
      return attempts.start({ ...body, consoleUrl: await consoleOf(raw), address: clientAddress(raw) })
    },

    proveAtDirectory: ({ request }, { body }) =>
      directoryAttempts.prove({ ...body, address: clientAddress(request.raw) }),

    async finishSso({ request, reply }, { body }) {
      const address = clientAddress(request.raw)
      const { signIn, told } = await sso.finish({ label: deviceOf(request), ...body, address })
      request.outcome = { ...request.outcome, told }
      return handOver(request, reply, signIn)
    },

    listOwnIdentities: async ({ caller }) => ({ items: await own.list(caller) }),
    async startLinking({ caller, request: { raw } }, { body }) {
      await requireOurs(raw, body.return)
      return own.start(caller, { ...body, consoleUrl: await consoleOf(raw), address: clientAddress(raw) })
    },
    proveLinking: ({ caller, request }, { body }) =>
      own.proveAtDirectory(caller, { ...body, address: clientAddress(request.raw) }),
    checkLinking: ({ caller }, { body }) => own.check(caller, body),
    finishLinking: ({ caller }, { body }) => own.finish(caller, body),
    async unlinkIdentity({ caller, request }, { body }) {
      const told = await own.unlink(caller, body)
      request.outcome = { ...request.outcome, told }
    },

    listSignInProviders: async ({ request }) => ({
      items: await providers.list(),
      callbackUrl: (await consoleOf(request.raw)) + CALLBACK_PATH,
    }),
    createSignInProvider: (_context, { body }) => providers.create(body),
    updateSignInProvider: (_context, { params, body }) => providers.change(params.id, body),
    deleteSignInProvider: (_context, { params }) => providers.remove(params.id),
    testSignInProvider: (_context, { params }) => providers.check(params.id),
    lookUpInDirectory: (_context, { params, body }) => providers.lookUp(params.id, body.username),
    listUserIdentities: async (_context, { params }) => ({ items: await providers.identities(params.id) }),
    async removeUserIdentities({ caller, request }, { params }) {
      const { removed, told } = await providers.unlink(caller, params.id)
      request.outcome = { ...request.outcome, told }
      return { removed }
    },
  }
}

/**
 * The address to which a provider sends the browser back (`redirect_uri`). It is not a route of the contract, because it answers with a
 * redirect, and browsers come to it from another site without credentials.
 */
export function registerSsoCallback(app: FastifyInstance, attempts: Pick<SsoAttempts, 'callback'>): void {
  app.get(CALLBACK_PATH, { config: { access: 'none' }, schema: { hide: true } }, async (request, reply) => {
    const query = request.url.split('?')[1] ?? ''
    const target = await attempts.callback(new URLSearchParams(query))
    return reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer').redirect(target, 303)
  })
}
