import { once } from 'node:events'
import { connect, isIP, isIPv4, type Socket } from 'node:net'
import { AppError, because } from '#manager/contract/light'
import { type ByProxy, ProxyAway, ProxySignInWanted } from './connect-by.ts'
import { placeOf } from './connect-directly.ts'

/** Ways to sign in (RFC 1928 section 3). */
const [NO_SIGN_IN, PASSWORD, NONE_OF_THESE] = [0, 2, 0xff]

/** Reasons of a SOCKS proxy that does not connect (RFC 1928 section 6), by number. */
const REPLIES = [
  '',
  'general failure',
  'not allowed',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'time out',
  'unknown command',
  'unknown form of address',
]

/**
 * Opens a connection to a server through a SOCKS proxy, version 5 (RFC 1928), with a name and a password where the proxy wants them
 * (RFC 1929). Names are sent as they are: the proxy looks them up, because the network may be the only one that knows them.
 *
 * @returns a paused socket
 * @throws ProxyAway, ProxySignInWanted; AppError `unavailable` if the proxy refuses; the signal's reason
 */
export async function connectBySocks({ proxy, target, signal }: ByProxy): Promise<Socket> {
  signal.throwIfAborted()
  const url = new URL(proxy.url)
  const socket = connect({ ...placeOf(url), port: Number(url.port || 1080) })
  const abort = () => socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const { host, port } = placeOf(target)
  try {
    await signInAt(socket, proxy)
    socket.write(Buffer.from([5, 1, 0, ...addressOf(host), port >> 8, port & 0xff]))
    const [, reply = 0, , form = 0] = await take(socket, 4)
    if (reply !== 0) {
      const text = REPLIES[reply] ?? String(reply)
      throw new AppError('unavailable', because('proxy_socks_refused', { proxy: proxy.url, server: target.host, text }))
    }
    // Skip the proxy's address of the connection, which nobody needs.
    const length = form === 1 ? 4 : form === 4 ? 16 : ((await take(socket, 1))[0] ?? 0)
    await take(socket, length + 2)
    return socket.pause()
  } catch (error) {
    socket.on('error', () => undefined).destroy()
    signal.throwIfAborted()
    throw error instanceof AppError ? error : new ProxyAway(proxy.url, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function signInAt(socket: Socket, { url: proxy, signIn }: ByProxy['proxy']): Promise<void> {
  const methods = signIn === undefined ? [NO_SIGN_IN] : [NO_SIGN_IN, PASSWORD]
  socket.write(Buffer.from([5, methods.length, ...methods]))
  const [version, method] = await take(socket, 2)
  if (version !== 5) throw new AppError('unavailable', because('proxy_no_socks', { proxy }))
  if (method === NO_SIGN_IN) return
  if (method === NONE_OF_THESE && signIn === undefined) throw new ProxySignInWanted(proxy, false)
  if (method !== PASSWORD || signIn === undefined)
    throw new AppError('unavailable', because('proxy_sign_in_kind', { proxy, kinds: `SOCKS ${String(method)}` }))
  const colon = signIn.indexOf(':')
  const [name, password] = [signIn.slice(0, colon), signIn.slice(colon + 1)]
  socket.write(Buffer.concat([Buffer.from([1]), ofLength(name), ofLength(password)]))
  const [, refused] = await take(socket, 2)
  if (refused !== 0) throw new ProxySignInWanted(proxy, true)
}

/** A text of at most 255 bytes after its length. */
function ofLength(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, 255)
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function addressOf(host: string): Buffer {
  if (isIP(host) === 0) return Buffer.concat([Buffer.from([3]), ofLength(host)])
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)])
  // The hexadecimal form of an IPv6 address, with its longest run of zeros written out.
  const [before = '', after] = new URL(`http://[${host}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const gap = after === undefined ? 0 : 8 - groups(before).length - groups(after).length
  const all = [...groups(before), ...Array.from({ length: gap }, () => '0'), ...groups(after)]
  return Buffer.from([4, ...all.flatMap(group => [parseInt(group, 16) >> 8, parseInt(group, 16) & 0xff])])
}

/** Reads just this many bytes; those after them stay in the socket. @throws if it ends before */
async function take(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null
    if (bytes?.length === length) return bytes
    if (bytes !== null || socket.readableEnded || socket.destroyed) throw new Error('the proxy closed the connection')
    const end = new AbortController()
    try {
      // `once` rejects with the socket's error.
      await Promise.race(['readable', 'end', 'close'].map(event => once(socket, event, { signal: end.signal })))
    } finally {
      end.abort()
    }
  }
}
