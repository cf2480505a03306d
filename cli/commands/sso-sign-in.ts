import { createInterface } from 'node:readline/promises'
import { type ApiClient, AppError, type AuthOptions, codeFor, isAppError, type SsoReturn } from '#manager/contract'
import { hasDisplay, openBrowser } from '../up/browser.ts'
import { listenForCodes } from './sso-codes.ts'

export interface SsoRequest {
  /** Address of the server. */
  readonly endpoint: string
  /** Undefined: the only provider there is. */
  readonly provider: string | undefined
  /** False: the browser is on another computer, and shows a code to type. */
  readonly browserHere: boolean
}

/** The two values from the browser that finish the sign-in. */
export type SsoProof = Pick<Parameters<ApiClient['finishSso']>[0]['body'], 'secret' | 'code'>

/** Whether a browser that this process opens is in front of the person. */
export const hasBrowser = (env = process.env) => hasDisplay(env) && env.SSH_CONNECTION === undefined

/**
 * Has the person sign in at a provider, in a browser.
 *
 * Threat model: only this process knows the secret of the sign-in, so the code alone is worth nothing to others. Whoever knows the
 * provider's address can sign in there as somebody else, and get a code of this sign-in. So that address is given to nobody but the person's
 * browser, which fetches it from our listener: every user of the computer reads the arguments of the program that opens a browser. The listener
 * takes codes from that browser only (`sso-codes.ts`), until one is of this sign-in. Before the browser sends the code, a page of Berth asks, and shows
 * the word that we show: so a person who was led into the sign-in of another user's program sees that it is not theirs. The caller names the
 * account that is signed in. A hostile server may have passed the sign-in on to another Berth: what it gets counts at its own place only (`codeFor`).
 *
 * @param finish signs in; called again with another code where it throws `sso_expired`
 * @throws AppError as the manager's `startSso`, as `finish`, `bad_request`, `sso_expired` where nobody came back
 */
export async function signInWithBrowser<T>(
  api: ApiClient,
  { endpoint, provider, browserHere }: SsoRequest,
  finish: (proof: SsoProof) => Promise<T>,
  tell: (text: string) => void,
): Promise<T> {
  const id = provider ?? (await onlyProvider(api)).id
  const start = (to: SsoReturn) => api.startSso({ body: { provider: id, return: to } })
  return visitProvider({ start, finish }, { endpoint, browserHere }, tell)
}

/** The steps before and after the person's visit. */
interface Visit<T> {
  readonly start: (to: SsoReturn) => Promise<{ url: string; secret: string; word: string; expiresAt: string }>
  /** Called again with another code where it throws `sso_expired`. */
  readonly finish: (proof: SsoProof) => Promise<T>
}

/**
 * Has the person visit a provider, for a sign-in or a link. The threat model is that of `signInWithBrowser`.
 *
 * @throws AppError as `start` and `finish`, `bad_request`, `sso_expired` where nobody came back
 */
export async function visitProvider<T>(
  { start, finish }: Visit<T>,
  { endpoint, browserHere }: Pick<SsoRequest, 'endpoint' | 'browserHere'>,
  tell: (text: string) => void,
): Promise<T> {
  const { host: at } = new URL(endpoint)
  if (!browserHere) {
    const { url, secret } = await start({ to: 'code', at })
    tell(`Open this address in a browser:\n\n  ${url}\n\nSign in there, then enter the code that the page shows.`)
    return finish({ secret, code: await codeFor(await readCode(), at) })
  }
  const codes = await listenForCodes()
  try {
    const started = await start({ to: 'loopback', port: codes.port, at })
    const leftMs = Math.max(0, new Date(started.expiresAt).getTime() - Date.now())
    const address = codes.leadTo(started.url, leftMs)
    tell(
      `Continue in the browser. If it does not open, use this address in a browser on this computer:\n\n  ${address}\n\n` +
        `At the end the browser shows a word. Continue there only if it is ${started.word}.`,
    )
    await openBrowser(address)
    const deadline = AbortSignal.timeout(leftMs)
    for (let isFirst = true; ; isFirst = false) {
      const code = await codes.nextCode(deadline)
      try {
        return await finish({ secret: started.secret, code: await codeFor(code, at) })
      } catch (error) {
        if (!isAppError(error) || error.code !== 'sso_expired') throw error
        if (isFirst) tell('A code has come that is not of this sign-in. Still waiting for the browser.')
      }
    }
  } finally {
    codes.close()
  }
}

/** The provider with this id, or the only one. @throws AppError `sign_in_provider_not_found`, `bad_request` if there are several */
export async function chosenProvider(api: ApiClient, id: string | undefined) {
  if (id === undefined) return onlyProvider(api)
  const found = (await api.authOptions()).providers.find(provider => provider.id === id)
  if (!found) throw new AppError('sign_in_provider_not_found', { id })
  return found
}

/** @throws AppError `sign_in_provider_not_found`, `bad_request` if there are several */
export async function onlyProvider(api: ApiClient): Promise<AuthOptions['providers'][number]> {
  const { providers } = await api.authOptions()
  const [first, ...others] = providers
  if (!first)
    throw new AppError('sign_in_provider_not_found', { why: 'This Berth has no sign-in provider. Use --email.' })
  if (others.length === 0) return first
  throw new AppError('bad_request', { why: `Choose one: --sso ${providers.map(({ id }) => id).join(', --sso ')}` })
}

/** @throws AppError `bad_request` for standard input without a code */
async function readCode(): Promise<string> {
  const lines = createInterface({ input: process.stdin, ...(process.stdin.isTTY ? { output: process.stderr } : {}) })
  try {
    if (process.stdin.isTTY) return (await lines.question('Code: ')).trim()
    for await (const line of lines) return line.trim()
    throw new AppError('bad_request', { why: 'Pass the code by standard input.' })
  } finally {
    lines.close()
  }
}
