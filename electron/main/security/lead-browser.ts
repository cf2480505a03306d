import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket } from 'node:net'
import { isOfOtherUser } from '#proxy/peer-uid'

/** Long enough for a browser that has to start first. */
const WAIT_MS = 60_000
const PLAIN = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' }
const USED = 'Berth: this address was used before. Go back to Berth and try again.\n'
const NOT_YOURS =
  'Berth: this browser is not known as one of the user of the app. Run it as that user, without a proxy, and try again.\n'

export interface LeadDeps {
  /** Whether another user of the computer opened a connection. */
  readonly isOther?: (socket: Socket) => Promise<boolean>
  readonly waitMs?: number
}

/**
 * Leads the user's browser to an address that other users of the computer must not read, such as a provider's with the state of a sign-in.
 *
 * Threat model: every user reads the arguments of `xdg-open`, and every user may connect to 127.0.0.1. So the arguments have an address of
 * ours that is random, works once and for a minute, and leads nobody but browsers of this user (Linux tells whose connection it is). Other
 * users do not use it up. A page of the browser cannot read where it leads.
 *
 * @returns the address for the browser
 */
export async function leadBrowser(
  target: string,
  { isOther = isOfOtherUser, waitMs = WAIT_MS }: LeadDeps = {},
): Promise<string> {
  // A header takes no other form.
  const { href: location } = new URL(target)
  const path = `/${randomBytes(32).toString('base64url')}`
  let isUsed = false
  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { port } = server.address() as AddressInfo
    if (request.method !== 'GET' || request.url !== path || request.headers.host !== `127.0.0.1:${port}`) {
      response.writeHead(404, PLAIN).end()
      return
    }
    if (await isOther(request.socket)) response.writeHead(403, PLAIN).end(NOT_YOURS)
    else if (isUsed) response.writeHead(410, PLAIN).end(USED)
    else {
      isUsed = true
      response.writeHead(303, { ...PLAIN, location, 'referrer-policy': 'no-referrer' }).end()
    }
  }
  server.maxConnections = 64
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  setTimeout(() => server.close().closeAllConnections(), waitMs).unref()
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
}
