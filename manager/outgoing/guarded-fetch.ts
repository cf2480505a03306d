import { lookup } from 'node:dns'
import { type Agent, type IncomingMessage, request as httpRequest, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { type LookupFunction } from 'node:net'
import { addAbortSignal, Readable } from 'node:stream'
import { isCredentialAddress } from './credential-addresses.ts'

/** Error for a request that was not sent, because its address may provide this machine's credentials. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
  constructor(host: string) {
    super(`Berth does not connect to ${host}.`)
  }
}

/** Node's own lookup, as far as this file uses it. */
export type Lookup = typeof lookup

/**
 * `fetch` for addresses that administrators, registries and sign-in providers choose. Redirects are not followed, and answers are requested
 * without compression.
 *
 * Threat model: an answer or a DNS record may lead this process to the address at which clouds provide the machine's credentials. The
 * connection goes to exactly the addresses that were checked, so a name cannot change in between; a name with one bad address is refused. A
 * proxy of the environment, if Node is told to use one, looks names up itself.
 *
 * @throws RefusedAddress; TypeError `fetch failed` with its cause, or the reason of the signal, as `fetch` does
 */
export type GuardedFetch = (address: string | URL, init?: RequestInit) => Promise<Response>

/**
 * The same as in Node's `fetch`: intermediaries may drop a connection that was idle for longer, and the next request would wait for its
 * time limit.
 */
const REST_MS = 4_000

export interface GuardedFetchOptions {
  /** Only tests pass one. */
  readonly find?: Lookup
  /**
   * Refuses further addresses. Called with the host of the URL for addresses that are written out, and with the name and each of its addresses
   * otherwise.
   */
  readonly refuses?: (host: string, address: string) => boolean
  /** False: every request has a connection of its own, so that its addresses are judged by the rules of this moment. Default: true. */
  readonly keepAlive?: boolean
}

export function createGuardedFetch({
  find = lookup,
  refuses = () => false,
  keepAlive = true,
}: GuardedFetchOptions = {}): GuardedFetch {
  const isRefused = (host: string, address: string) => isCredentialAddress(address) || refuses(host, address)
  const options = { keepAlive, timeout: REST_MS, lookup: guarded(find, isRefused), ...proxyOfEnvironment() }
  const agents = { 'http:': new HttpAgent(options), 'https:': new HttpsAgent(options) }

  return async (address, init = {}) => {
    const url = new URL(address)
    // Addresses are not looked up.
    if (isRefused(url.hostname, url.hostname)) throw new RefusedAddress(url.host)
    const asked = new Request(url, init)
    const isSecure = url.protocol === 'https:'
    if (!isSecure && url.protocol !== 'http:') throw new TypeError(`${url.protocol} is not called`)
    const body = asked.body === null ? undefined : Buffer.from(await asked.arrayBuffer())
    const { signal } = asked
    try {
      return toResponse(await send(asked, { agent: isSecure ? agents['https:'] : agents['http:'], body }), asked)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof RefusedAddress) throw new RefusedAddress(url.host)
      throw new TypeError('fetch failed', { cause: error })
    }
  }
}

function send(
  { url, method, headers, signal }: Request,
  { agent, body }: { agent: Agent; body: Buffer | undefined },
): Promise<IncomingMessage> {
  const own = { 'user-agent': 'berth', accept: '*/*', 'accept-encoding': 'identity' }
  const call = url.startsWith('https:') ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const request = call(url, { method, agent, signal, headers: { ...own, ...Object.fromEntries(headers) } }, resolve)
    request.once('error', reject)
    request.end(body)
  })
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

function toResponse(reply: IncomingMessage, { method, signal }: Request): Response {
  const status = reply.statusCode ?? 0
  const pairs = Object.entries(reply.headersDistinct).flatMap(([name, values = []]) =>
    values.map(value => [name, value] as [string, string]),
  )
  const init = { status, statusText: reply.statusMessage ?? '', headers: pairs }
  if (method === 'HEAD' || WITHOUT_BODY.has(status)) {
    reply.resume()
    return new Response(null, init)
  }
  return new Response(Readable.toWeb(addAbortSignal(signal, reply)) as ReadableStream<Uint8Array>, init)
}

function guarded(find: Lookup, isRefused: (host: string, address: string) => boolean): LookupFunction {
  return (hostname, options, done) => {
    find(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        done(error, '', 0)
        return
      }
      const [first] = addresses
      if (!first) done(new Error(`${hostname} has no address`), '', 0)
      else if (addresses.some(({ address }) => isRefused(hostname, address))) done(new RefusedAddress(hostname), '', 0)
      else if (options.all) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
}

/** As Node's `fetch` does. @see https://nodejs.org/api/cli.html#node_use_env_proxy1 */
function proxyOfEnvironment(): { proxyEnv?: NodeJS.ProcessEnv } {
  return process.env['NODE_USE_ENV_PROXY'] === '1' ? { proxyEnv: process.env } : {}
}

export const guardedFetch = createGuardedFetch()
