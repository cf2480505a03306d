import { connect, type Socket } from 'node:net'
import { AppError, because } from '#manager/contract/light'
import { encrypted, placeOf } from './connect-directly.ts'
import { type NetworkProxy } from './way.ts'

const MAX_HEAD_BYTES = 16 * 1024

/** The proxy itself cannot be reached: the only failure after which another way may help. */
export class ProxyAway extends AppError {
  constructor(proxy: string, cause?: unknown) {
    super('unavailable', because('proxy_away', { proxy }), { cause })
  }
}

/** The proxy asks for a name and a password, or refuses those that it got. */
export class ProxySignInWanted extends AppError {
  readonly proxy: string

  constructor(proxy: string, wasRefused: boolean) {
    super('unavailable', because(wasRefused ? 'proxy_sign_in_wrong' : 'proxy_sign_in', { proxy }))
    this.proxy = proxy
  }
}

export interface ByProxy {
  readonly proxy: NetworkProxy
  readonly target: URL
  readonly signal: AbortSignal
}

/**
 * Opens a connection to a server through an HTTP proxy (CONNECT, RFC 9110 section 9.3.6). After that the socket leads to the server: TLS is
 * done by the caller, so the proxy sees the name of the server and nothing else.
 *
 * @returns a paused socket; bytes that came with the answer are still in it
 * @throws ProxyAway, ProxySignInWanted; AppError `unavailable` if the proxy refuses; the signal's reason
 */
export async function connectBy({ proxy, target, signal }: ByProxy): Promise<Socket> {
  signal.throwIfAborted()
  const url = new URL(proxy.url)
  const socket = url.protocol === 'https:' ? await encrypted({ url }) : connect(placeOf(url))
  const abort = () => socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const { hostname, port } = target
  const place = `${hostname}:${port || (target.protocol === 'https:' ? 443 : 80)}`
  const lines = [`CONNECT ${place} HTTP/1.1`, `Host: ${place}`]
  if (proxy.signIn !== undefined)
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(proxy.signIn).toString('base64')}`)
  try {
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
    const head = await readHead(socket).catch((error: unknown) => {
      signal.throwIfAborted()
      throw error instanceof AppError ? error : new ProxyAway(proxy.url, error)
    })
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1])
    if (status >= 200 && status < 300) return socket
    throw refusal({ status, head, proxy, server: place })
  } catch (error) {
    socket.on('error', () => undefined).destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function refusal(answer: { status: number; head: string; proxy: NetworkProxy; server: string }): AppError {
  const { status, head, server } = answer
  const { url: proxy, signIn } = answer.proxy
  if (status === 407) {
    const offered = [...head.matchAll(/^proxy-authenticate:\s*(\S+)/gim)].map(([, scheme = '']) => scheme)
    if (offered.some(scheme => scheme.toLowerCase() === 'basic'))
      return new ProxySignInWanted(proxy, signIn !== undefined)
    return new AppError('unavailable', because('proxy_sign_in_kind', { proxy, kinds: offered.join(', ') }))
  }
  // Only these statuses say that the proxy tried; any other means that the proxy itself refuses.
  const hasTried = status === 502 || status === 503 || status === 504
  return Number.isNaN(status)
    ? new AppError('unavailable', because('proxy_no_http', { proxy }))
    : new AppError('unavailable', because(hasTried ? 'proxy_no_way' : 'proxy_refused', { proxy, server, status }))
}

/** Reads up to the end of an answer's head; bytes after it are put back. */
function readHead(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let got: Buffer = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    got = Buffer.concat([got, chunk])
    const end = got.indexOf('\r\n\r\n')
    if (end < 0 && got.length <= MAX_HEAD_BYTES) return
    socket.pause()
    if (end >= 0 && got.length > end + 4) socket.unshift(got.subarray(end + 4))
    resolve(got.toString('latin1', 0, Math.max(end, 0)))
  }
  const onEnd = () => reject(new Error('the proxy closed the connection'))
  socket.on('data', onData).once('end', onEnd).once('close', onEnd).once('error', reject)
  return promise.finally(() => socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', reject))
}
