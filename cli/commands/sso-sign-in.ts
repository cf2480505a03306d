import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline/promises'
import { type ApiClient, AppError, type SsoReturn } from '#manager/contract'
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
 * 127.0.0.1, takes one code and closes. Before the browser sends the code, a page of Berth asks, and shows the word that we show: so a
 * person who was led into the sign-in of another user's program sees that it is not theirs. A local user who sees the address of the browser in
 * the list of processes could sign in there as somebody else: the caller therefore names the account that is signed in.
 *
 * @throws AppError as the manager's `startSso`, `bad_request`, `sso_expired` where nobody came back
 */
export async function signInWithBrowser(
  api: ApiClient,
  { provider, browserHere }: SsoRequest,
  tell: (text: string) => void,
): Promise<SsoProof> {
  const id = provider ?? (await onlyProvider(api))
  return visitProvider(to => api.startSso({ body: { provider: id, return: to } }), browserHere, tell)
}

/**
 * Has the person visit a provider, for a sign-in or a link. The threat model is that of `signInWithBrowser`.
 *
 * @throws AppError as `start`, `bad_request`, `sso_expired` where nobody came back
 */
export async function visitProvider(
  start: (to: SsoReturn) => Promise<{ url: string; secret: string; word: string; expiresAt: string }>,
  browserHere: boolean,
  tell: (text: string) => void,
): Promise<SsoProof> {
  if (!browserHere) {
    const { url, secret } = await start({ to: 'code' })
    tell(`Open this address in a browser:\n\n  ${url}\n\nSign in there, then enter the code that the page shows.`)
    return { secret, code: await readCode() }
  }
  const callback = await listen()
  try {
    const started = await start({ to: 'loopback', port: callback.port })
    tell(
      `Continue in the browser. If it does not open, use this address:\n\n  ${started.url}\n\n` +
        `At the end the browser shows a word. Continue there only if it is ${started.word}.`,
    )
    await openBrowser(started.url)
    return { secret: started.secret, code: await callback.code(new Date(started.expiresAt).getTime() - Date.now()) }
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

const CODE = /^berth_[\w-]{43}$/
const DONE = `<!doctype html><meta charset="utf-8"><title>Berth</title><p>Berth: you can close this window, and return to the terminal.</p>\n`

async function listen() {
  const found = Promise.withResolvers<string>()
  const server: Server = createServer((request, response) => {
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const url = request.headers.host === own ? URL.parse(request.url ?? '/', `http://${own}`) : null
    const code = url?.pathname === '/' ? url.searchParams.get('code') : null
    if (request.method !== 'GET' || code === null || !CODE.test(code)) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    })
    response.end(DONE, () => found.resolve(code))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async code(withinMs: number): Promise<string> {
      const over = setTimeout(
        () => found.reject(new AppError('sso_expired', { why: 'Nobody signed in in time. Try again.' })),
        withinMs,
      )
      try {
        return await found.promise
      } finally {
        clearTimeout(over)
      }
    },
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}
