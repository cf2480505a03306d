import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo } from 'node:net'
import { AppError, isToken } from '#manager/contract'
import { isOfOtherUser } from '#proxy/peer-uid'

/** A port of this computer, to which the person's browser brings the code of a sign-in. */
export interface CodeListener {
  readonly port: number
  /** @returns the address that leads the person's browser to the provider */
  leadTo(provider: string, forMs: number): string
  /** The next code that has come. @throws AppError `sso_expired` at the deadline */
  nextCode(deadline: AbortSignal): Promise<string>
  close(): void
}

/** Codes that have not been tried yet. */
const MOST_CODES = 64
const PLAIN = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' }
const DONE = `<!doctype html><meta charset="utf-8"><title>Berth</title><p>Berth: you can close this window, and return to the terminal.</p>\n`
const NOT_YOURS =
  'Berth: this browser is not known as one of the user who signs in. Run it as that user, without a proxy, or run the command again with --no-browser.\n'
const NOT_BEGUN =
  'Berth: this sign-in did not begin in this browser. Open the address that the terminal shows in the same browser, or run the command again with --no-browser.\n'

/**
 * Leads one browser to the provider, and takes the codes that it brings back.
 *
 * Threat model: the listener is on 127.0.0.1, where every user of the computer can connect, and any page in the person's browser can send
 * requests. Connections of other users get nothing (Linux). The browser that is led to the provider gets a cookie, and codes count with that
 * cookie only, and only where the browser shows the answer in a window: not as a picture or a frame of a page. A page can open a window
 * here with a code that its owner has; that code is of this sign-in only if its owner knew the provider's address, which only the cookie's browser was told.
 */
export async function listenForCodes(): Promise<CodeListener> {
  const codes: string[] = []
  const arrivals = new EventEmitter()
  // A name of its own: other programs at 127.0.0.1 share its cookies, whatever their port.
  const mark = `berth_sso_${randomBytes(8).toString('hex')}=${randomBytes(32).toString('base64url')}`
  let lead: { readonly provider: string; readonly cookie: string } | undefined
  const server: Server = createServer(take)
  const own = () => `127.0.0.1:${(server.address() as AddressInfo).port}`

  function take(request: IncomingMessage, response: ServerResponse) {
    const { headers, method } = request
    const url = headers.host === own() ? URL.parse(request.url ?? '/', `http://${own()}`) : null
    const code = url?.searchParams.get('code')
    if (
      method !== 'GET' ||
      url?.pathname !== '/' ||
      lead === undefined ||
      (typeof code === 'string' && !isToken(code))
    ) {
      response.writeHead(404).end()
      return
    }
    if (!isWindow(headers) || (typeof code === 'string' && !hasCookie(headers, mark))) {
      response.writeHead(403, PLAIN).end(NOT_BEGUN)
      return
    }
    const { provider, cookie } = lead
    // This look reads the kernel's table of all connections, so it comes last.
    void isOfOtherUser(request.socket).then(isOther => {
      if (isOther) response.writeHead(403, PLAIN).end(NOT_YOURS)
      else if (typeof code === 'string') keep(code, response)
      else
        response
          .writeHead(303, { ...PLAIN, location: provider, 'set-cookie': cookie, 'referrer-policy': 'no-referrer' })
          .end()
    })
  }

  function keep(code: string, response: ServerResponse) {
    if (codes.length >= MOST_CODES) {
      response.writeHead(503, { 'retry-after': '1', connection: 'close' }).end()
      return
    }
    response.writeHead(200, { ...PLAIN, 'content-type': 'text/html; charset=utf-8' })
    response.end(DONE, () => {
      codes.push(code)
      arrivals.emit('code')
    })
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    leadTo(provider, forMs) {
      const seconds = Math.ceil(forMs / 1_000)
      // Lax: the browser comes back from the page of Berth, which is another site.
      lead = { provider, cookie: `${mark}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax` }
      return `http://${own()}/`
    },
    async nextCode(deadline) {
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

const hasCookie = ({ cookie = '' }: IncomingHttpHeaders, mark: string) =>
  cookie.split(';').some(one => one.trim() === mark)

/** False if the browser says that it loads this for a page. Programs that are no browsers say nothing. */
const isWindow = ({ 'sec-fetch-mode': mode = 'navigate', 'sec-fetch-dest': dest = 'document' }: IncomingHttpHeaders) =>
  mode === 'navigate' && dest === 'document'
