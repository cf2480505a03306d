import { type ApiClient, type RouteReply, type SignInProviderChange } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import {
  browseProvider,
  type ProviderPerson,
  startTestProvider,
  type TestProvider,
} from '../../fixtures/oidc-provider.ts'

export const PROVIDER = 'lab'

export interface SsoWorld extends AsyncDisposable {
  readonly manager: TestManager
  readonly admin: ApiClient
  readonly provider: TestProvider
  /** Sets the provider to these settings, and to defaults for what is left out. */
  configure(settings?: SignInProviderChange): Promise<void>
  start(): Promise<RouteReply<'startSso'>>
  /** Lets the browser come back to our callback. @returns the address to which it is sent */
  comeBack(callback: URL): Promise<string>
  /** Ends a visit with the code of `codeOfAddress`. */
  finish(secret: string, code: string, more?: { totp?: string }): Promise<RouteReply<'finishSso'>>
  /** Links this account at the provider to the account of the caller, as one browser. */
  link(api: ApiClient, person: ProviderPerson, password: string): Promise<void>
  /** Does all steps like one browser. @returns the reply of the sign-in */
  signIn(person: ProviderPerson | null, more?: { totp?: string }): Promise<RouteReply<'finishSso'>>
}

let people = 0
/** A person whom the provider knows, and Berth does not yet. */
export function newPerson(more: Partial<ProviderPerson> = {}): ProviderPerson & { email: string } {
  people += 1
  return {
    sub: `sub-${people}`,
    email: `person-${people}@example.org`,
    email_verified: true,
    name: `Person ${people}`,
    ...more,
  }
}

export const codeOfAddress = (location: string) =>
  new URLSearchParams(location.slice(location.indexOf('?') + 1)).get('sso') ?? ''

/** A manager with one real provider, `lab`. */
export async function startSsoWorld(): Promise<SsoWorld> {
  await using stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const callbackUrl = `${manager.url}/api/v1/auth/sso/callback`
  const provider = stack.use(await startTestProvider(() => callbackUrl))
  const { api: admin } = await manager.signIn()
  const { issuer, clientId, clientSecret } = provider
  await admin.createSignInProvider({ body: { id: PROVIDER, name: 'The lab', issuer, clientId, clientSecret } })
  const anybody = manager.api()
  const opened = stack.move()

  const start = () => anybody.startSso({ body: { provider: PROVIDER } })
  const finish = (secret: string, code: string, more: { totp?: string } = {}) =>
    anybody.finishSso({ body: { secret, code, kind: 'token', ...more } })
  async function comeBack(callback: URL): Promise<string> {
    const reply = await fetch(callback, { redirect: 'manual' })
    if (reply.status !== 303) throw new Error(`the callback answered ${reply.status}: ${await reply.text()}`)
    return reply.headers.get('location') ?? ''
  }
  return {
    manager,
    admin,
    provider,
    async configure(settings = {}) {
      const defaults = {
        active: true,
        issuer,
        scopes: ['email', 'profile'],
        emailClaim: 'email',
        trustEmail: false,
        emailDomains: [],
        createAccounts: true,
        linkByEmail: false,
        trustSecondFactor: false,
        domain: 'default',
        groupsClaim: null,
        mapping: [],
        clientSecret,
      }
      await admin.updateSignInProvider({ params: { id: PROVIDER }, body: { ...defaults, ...settings } })
    },
    start,
    comeBack,
    finish,
    async link(api, person, password) {
      provider.person = person
      const { url, secret } = await api.startLinking({ body: { provider: PROVIDER, password } })
      const code = codeOfAddress(await comeBack(await browseProvider(url, issuer)))
      await api.finishLinking({ body: { secret, code } })
    },
    async signIn(person, more = {}) {
      provider.person = person
      const { url, secret } = await start()
      const code = codeOfAddress(await comeBack(await browseProvider(url, issuer)))
      return finish(secret, code, more)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
