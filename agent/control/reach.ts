import { connect, type Socket } from 'node:net'
import { VIA_PATH, VIA_TO_HEADER, VIA_UPGRADE } from '#agent/contract'
import { AppError, PING_INTERVAL_MS } from '#manager/contract'
import { connectPinned } from './pinned-tls.ts'
import { type Credential, requestUpgrade } from './upgrade-socket.ts'

/** Address of a manager, and its required key (SPKI, SHA-256); without a key, a system authority must vouch for it. */
export interface Where {
  readonly url: string
  readonly fingerprint: string | undefined
}

/** Route to a manager that cannot be dialled: through another manager to which this agent is connected. */
export interface Route {
  readonly door: Where & Credential & { readonly processId: string }
  /** Process id of the manager to reach. */
  readonly to: string
}

/**
 * @param onReached called when the other computer has taken the connection: before its key is checked, and before the program there has
 *   noticed
 * @returns a connected socket with its key checked; nothing has been read from it. @throws Error, or the signal's reason
 */
export async function dialDirectly(
  { url, fingerprint }: Where,
  signal: AbortSignal,
  onReached?: () => void,
): Promise<Socket> {
  const { hostname, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const where = { host, port: Number(port || (secure ? 443 : 80)), allowHalfOpen: true }
  const socket = secure ? connectPinned(where, fingerprint) : connect(where)
  if (onReached) socket.once('connect', onReached)
  return await connected(socket, secure, signal)
}

/**
 * Connects through another manager. Threat model: the manager in between only forwards bytes and is not trusted. Over https the
 * agent checks the key of the manager to reach; over http that manager proves itself.
 */
export async function dialThrough({ door, to }: Route, where: Where, signal: AbortSignal): Promise<Socket> {
  const outer = await dialDirectly(door, signal)
  await passedOn(outer, { door, to }, signal)
  const { hostname, protocol } = new URL(where.url)
  // The peer never speaks first, so no byte is lost.
  if (protocol !== 'https:') return outer.resume()
  const host = hostname.replace(/^\[|\]$/g, '')
  return await connected(connectPinned({ socket: outer, host }, where.fingerprint), true, signal)
}

function passedOn(socket: Socket, { door, to }: Route, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const onAbort = () => socket.destroy()
  signal.addEventListener('abort', onAbort, { once: true })
  const request = { url: new URL(door.url), path: VIA_PATH, protocol: VIA_UPGRADE, headers: { [VIA_TO_HEADER]: to } }
  requestUpgrade(socket, request, door, accepted => {
    if (accepted) resolve(undefined)
    else reject(new AppError('unavailable', { why: `${door.url} does not reach that manager either.` }))
  })
  return promise
    .catch((error: unknown) => {
      socket.destroy()
      throw error
    })
    .finally(() => signal.removeEventListener('abort', onAbort))
}

function connected(socket: Socket, secure: boolean, signal: AbortSignal): Promise<Socket> {
  socket.setNoDelay(true).setKeepAlive(true, PING_INTERVAL_MS)
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const event = secure ? 'secureConnect' : 'connect'
  const onConnect = () => {
    // The socket was destroyed because its key was wrong: the error follows.
    if (!socket.destroyed) resolve(socket)
  }
  const onClose = () => reject(new Error('the connection was closed'))
  const onAbort = () => {
    socket.destroy()
    reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
  }
  // This listener stays: a socket between two owners must not crash the process with an unhandled error.
  socket.on('error', reject)
  socket.once(event, onConnect).once('close', onClose)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return promise.finally(() => {
    socket.off(event, onConnect).off('close', onClose)
    signal.removeEventListener('abort', onAbort)
  })
}
