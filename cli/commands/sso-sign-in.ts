import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline/promises'
import { type ApiClient, AppError, isAppError, isToken, type SsoReturn } from '#manager/contract'
import { isOfOtherUser } from '#proxy/peer-uid'
import { hasDisplay, openBrowser } from '../up/browser.ts'

export interface SsoRequest {
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
 * Threat model: only this process knows the secret of the sign-in, so the code alone is worth nothing to others. The listener is on
 * 127.0.0.1, where every user of the computer may send codes: it takes those of this user's programs, until one is of this sign-in. A local
 * user who reads the provider's address in the list of processes, and signs in there as somebody else, cannot bring that code. Before the browser sends
 * the code, a page of Berth asks, and shows the word that we show: so a person who was led into the sign-in of another user's program sees that
 * it is not theirs. The caller names the account that is signed in.
 *
 * @param finish signs in; called again with another code where it throws `sso_expired`
 * @throws AppError as the manager's `startSso`, as `finish`, `bad_request`, `sso_expired` where nobody came back
 */
export async function signInWithBrowser<T>(
  api: ApiClient,
  { provider, browserHere }: SsoRequest,
  finish: (proof: SsoProof) => Promise<T>,
  tell: (text: string) => void,
): Promise<T> {
  const id = provider ?? (await onlyProvider(api))
  const start = (to: SsoReturn) => api.startSso({ body: { provider: id, return: to } })
  return visitProvider({ start, finish }, browserHere, tell)
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
  browserHere: boolean,
  tell: (text: string) => void,
): Promise<T> {
  if (!browserHere) {
    const { url, secret } = await start({ to: 'code' })
    tell(`Open this address in a browser:\n\n  ${url}\n\nSign in there, then enter the code that the page shows.`)
    return finish({ secret, code: await readCode() })
  }
  const callback = await listen()
  try {
    const started = await start({ to: 'loopback', port: callback.port })
    tell(
      `Continue in the browser. If it does not open, use this address:\n\n  ${started.url}\n\n` +
        `At the end the browser shows a word. Continue there only if it is ${started.word}.`,
    )
    await openBrowser(started.url)
    const deadline = AbortSignal.timeout(Math.max(0, new Date(started.expiresAt).getTime() - Date.now()))
    for (let isFirst = true; ; isFirst = false) {
      const code = await callback.nextCode(deadline)
      try {
        return await finish({ secret: started.secret, code })
      } catch (error) {
        if (!isAppError(error) || error.code !== 'sso_expired') throw error
        if (isFirst) tell('A code has come that is not of this sign-in. Still waiting for the browser.')
      }
    }
  } finally {
    callback.close()
  }
}

/** @throws AppError `sign_in_provider_not_found`, `bad_request` if there are several */
export async function onlyProvider(api: ApiClient): Promise<string> {
  const { providers } = await api.authOptions()
  const [first, ...others] = providers
  if (!first)
    throw new AppError('sign_in_provider_not_found', { why: 'This Berth has no sign-in provider. Use --email.' })
  if (others.length === 0) return first.id
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

/** Codes that have not been tried yet. */
const MOST_CODES = 64
const DONE = `<!doctype html><meta charset="utf-8"><title>Berth</title><p>Berth: you can close this window, and return to the terminal.</p>\n`
const NOT_YOURS =
  'Berth: this browser is not known as one of the user who signs in. Run it as that user, without a proxy, or run the command again with --no-browser.\n'

async function listen() {
  const codes: string[] = []
  const arrivals = new EventEmitter()
  const server: Server = createServer(take)
  function take(request: IncomingMessage, response: ServerResponse) {
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const url = request.headers.host === own ? URL.parse(request.url ?? '/', `http://${own}`) : null
    const code = url?.pathname === '/' ? url.searchParams.get('code') : null
    if (request.method !== 'GET' || code === null || !isToken(code)) {
      response.writeHead(404).end()
      return
    }
    // This look reads the kernel's table of all connections, so it comes last.
    void isOfOtherUser(request.socket).then(isOther => {
      if (isOther)
        response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(NOT_YOURS)
      else keep(code, response)
    })
  }
  function keep(code: string, response: ServerResponse) {
    if (codes.length >= MOST_CODES) {
      response.writeHead(503, { 'retry-after': '1', connection: 'close' }).end()
      return
    }
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(DONE, () => {
      codes.push(code)
      arrivals.emit('code')
    })
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    /** The next code that has come. @throws AppError `sso_expired` at the deadline */
    async nextCode(deadline: AbortSignal): Promise<string> {
      try {
        for (;;) {
          deadline.throwIfAborted()
          const code = codes.shift()
          if (code !== undefined) return code
          await once(arrivals, 'code', { signal: deadline })
        }
      } catch (error) {
        throw new AppError('sso_expired', { why: 'Nobody signed in in time. Try again.' }, { cause: error })
      }
    },
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}
