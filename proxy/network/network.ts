import { type RequestOptions } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type TLSSocket } from 'node:tls'
import { untilAborted } from '#base/within'
import { AppError, because } from '#manager/contract/light'
import { connectBy as connectByHttp, ProxyAway, ProxySignInWanted } from './connect-by.ts'
import { connectBySocks } from './connect-by-socks.ts'
import { encrypted, placeOf, untilSecure } from './connect-directly.ts'
import { directFetch, type Fetch } from './direct-fetch.ts'
import { mismatch, type Pin, type ShownCertificate, shownOf } from './pin.ts'
import { DIRECT, type FindWays, type NetworkProxy, isLoopback, type Way } from './way.ts'

/** How connections to servers leave this computer. */
export interface Network {
  /** `fetch` of Node, or by the proxy of the network. Redirects are not followed. */
  readonly fetch: Fetch
  /**
   * Opens connections that need special treatment: by the proxy of the network, or to a server whose certificate is known by its
   * fingerprint. With TLS for https.
   *
   * @returns undefined if neither applies: the caller dials directly
   * @throws AppError `unavailable` with the reason: the proxy does not answer, refuses, or wants a sign-in, or another certificate
   */
  detour(url: URL, signal?: AbortSignal): Promise<Socket | undefined>
  /** For `http.request` and WebSockets; undefined if `detour` is. */
  agentFor(url: URL): Promise<RequestOptions['agent']>
  /** The certificate that a server shows, trusted or not. Nothing is sent there. @throws as `detour` */
  shownBy(url: URL): Promise<ShownCertificate>
}

export interface NetworkDeps {
  /** Called for every new connection, because settings change while a program runs; never for this computer itself. */
  readonly findWays: FindWays
  /**
   * Called when a proxy wants a name and a password, or refused those that it got; the connection waits for the answer. The answer is used
   * for that proxy until the proxy refuses it.
   *
   * @returns `name:password`; null if there is none
   */
  readonly signInFor?: (wanted: SignInWanted) => Promise<string | null>
  /** Recognises the server of an origin; undefined for servers that authorities vouch for. */
  readonly pinOf?: (origin: string) => Pin | undefined
}

type AskSignIn = NonNullable<NetworkDeps['signInFor']>

/** A proxy wants a name and a password. */
export interface SignInWanted {
  /** Origin of the proxy. */
  readonly proxy: string
  /** The `name:password` that the proxy has just refused. */
  readonly refused: string | undefined
  /**
   * Tries another `name:password` with one request, so that a wrong one is not sent by every waiting connection: many networks lock an
   * account after a few of them.
   *
   * @returns whether the proxy took it
   * @throws AppError `unavailable` if the proxy is away, or refuses for another reason
   */
  readonly tryOut: (signIn: string) => Promise<boolean>
}

/** A proxy that does not answer within this time is given up for the next way. */
const CONNECT_MS = 10_000

/**
 * Connections by the proxy of a network: CONNECT of HTTP, or SOCKS of version 5.
 *
 * Threat model: the proxy of a network is not trusted. It learns names and ports of servers and the user's sign-in for the proxy itself;
 * TLS is between us and the server, verified like without a proxy. A sign-in for a proxy goes to that proxy only, and in the clear if the
 * proxy speaks plain HTTP or SOCKS. Loopback addresses are never looked up nor sent anywhere, so that no setting can lead the traffic of
 * this computer out of it.
 *
 * A server with a pin must hold exactly that key, whatever authorities, names or dates say; the key is compared before anything is sent.
 * Without a pin the certificate is verified as usual; there is no way to skip both.
 */
export function createNetwork({ findWays, signInFor, pinOf }: NetworkDeps): Network {
  /** Sign-ins by proxy, in memory only. */
  const signIns = new Map<string, string>()
  const waysTo = async (url: URL): Promise<readonly Way[]> => (isLoopback(url) ? DIRECT : await findWays(url))
  const pinFor = (url: URL) => (url.protocol === 'https:' ? pinOf?.(url.origin) : undefined)
  const isUsual = (url: URL, [first]: readonly Way[]) =>
    pinFor(url) === undefined && (first === undefined || first.kind === 'direct')

  async function open(url: URL, ways: readonly Way[], signal?: AbortSignal): Promise<Socket> {
    const socket = await reach(url, ways, signal)
    if (url.protocol !== 'https:') return socket
    const pin = pinFor(url)
    if (pin === undefined) return await untilSecure(await encrypted({ url, socket }), signal)
    const { secured, shown } = await unverified(url, socket, signal)
    const wrong = mismatch(pin, shown)
    if (!wrong) return secured
    secured.destroy()
    throw new AppError('unavailable', because('certificate_changed', { server: url.host, ...wrong }))
  }

  async function unverified(
    url: URL,
    socket: Socket,
    signal?: AbortSignal,
  ): Promise<{ readonly secured: TLSSocket; readonly shown: ShownCertificate }> {
    const tls = { rejectUnauthorized: false }
    const secured = await untilSecure(await encrypted({ url, socket, tls }), signal)
    return { secured, shown: shownOf(secured.getPeerX509Certificate()) }
  }

  async function reach(url: URL, ways: readonly Way[], signal?: AbortSignal): Promise<Socket> {
    let failure: unknown
    for (const way of ways) {
      try {
        return await reachBy(way, url, signal)
      } catch (error) {
        // A refusal is an answer; only a proxy that is not there makes the next way worth a try.
        if (!(error instanceof ProxyAway)) throw error
        failure ??= error
      }
    }
    throw failure
  }

  async function reachBy(way: Way, url: URL, signal?: AbortSignal): Promise<Socket> {
    if (way.kind === 'unknown') {
      throw new AppError('unavailable', because('proxy_kind', { proxy: way.named, server: url.host }))
    }
    if (way.kind === 'direct') return connect(placeOf(url))
    const known = way.signIn ?? signIns.get(way.url)
    try {
      return await connectInTime({ ...way, signIn: known }, url, signal)
    } catch (error) {
      if (!(error instanceof ProxySignInWanted) || way.signIn !== undefined || !signInFor) throw error
      const wanted = { ask: signInFor, proxy: way.url, refused: known, target: url }
      const signIn = await otherSignIn(wanted, signal)
      if (signIn === null) throw error
      return await connectInTime({ url: way.url, signIn }, url, signal)
    }
  }

  /** Credentials for the second attempt: those that another connection obtained meanwhile, else the answer of `ask`; null without any. */
  async function otherSignIn(
    { ask, proxy, refused, target }: { ask: AskSignIn; proxy: string; refused: string | undefined; target: URL },
    signal?: AbortSignal,
  ): Promise<string | null> {
    const newer = signIns.get(proxy)
    if (newer !== undefined && newer !== refused) return newer
    signIns.delete(proxy)
    const asked = ask({
      proxy,
      refused,
      async tryOut(signIn) {
        try {
          const socket = await connectInTime({ url: proxy, signIn }, target)
          socket.on('error', () => undefined).destroy()
          return true
        } catch (error) {
          if (error instanceof ProxySignInWanted) return false
          throw error
        }
      },
    })
    const signIn = await untilAborted(asked, signal)
    if (signIn !== null) signIns.set(proxy, signIn)
    return signIn
  }

  async function connectInTime(proxy: NetworkProxy, target: URL, signal?: AbortSignal): Promise<Socket> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new ProxyAway(proxy.url)), CONNECT_MS)
    try {
      const both = signal ? AbortSignal.any([limit.signal, signal]) : limit.signal
      const connectBy = proxy.url.startsWith('socks5:') ? connectBySocks : connectByHttp
      return await connectBy({ proxy, target, signal: both })
    } finally {
      clearTimeout(timer)
    }
  }

  const detour: Network['detour'] = async (url, signal) => {
    const ways = await waysTo(url)
    return isUsual(url, ways) ? undefined : await open(url, ways, signal)
  }
  const agents = new Map<string, Promise<RequestOptions['agent']>>()
  const agentFor: Network['agentFor'] = async url => {
    if (isUsual(url, await waysTo(url))) return undefined
    const known = agents.get(url.protocol)
    if (known) return await known
    const made = import('./agent.ts').then(({ createAgent }) =>
      createAgent(url.protocol, async to => await open(to, await waysTo(to))),
    )
    agents.set(url.protocol, made)
    return await made
  }
  return {
    detour,
    agentFor,
    async shownBy(url) {
      const { secured, shown } = await unverified(url, await reach(url, await waysTo(url)))
      secured.destroy()
      return shown
    },
    async fetch(url, init) {
      const agent = await agentFor(new URL(url))
      if (!agent) return await directFetch(url, init)
      const { fetchBy } = await import('./fetch-by.ts')
      return await fetchBy(agent, new URL(url), init)
    },
  }
}
