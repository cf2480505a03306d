import { connect, type Socket } from 'node:net'
import { VIA_PATH, VIA_TO_HEADER, VIA_UPGRADE } from '#agent/contract'
import { AppError, PING_INTERVAL_MS } from '#manager/contract'
import { connectPinned } from './pinned-tls.ts'
import { type Credential, requestUpgrade } from './upgrade-socket.ts'

/** Where a manager is, and which key it must have (SPKI, SHA-256); without one an authority of the system vouches for it. */
export interface Where {
  readonly url: string
  readonly fingerprint: string | undefined
}

/** The way to a manager that cannot be dialled: through one that this agent has a connection to. */
export interface Route {
  readonly door: Where & Credential & { readonly processId: string }
  /** The process that is meant. */
  readonly to: string
}

/** @returns a connected socket, its key checked; nothing has been read from it. @throws Error, or the signal's reason */
export async function dialDirectly({ url, fingerprint }: Where, signal: AbortSignal): Promise<Socket> {
  const { hostname, port, protocol } = new URL(url)
  const secure = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const where = { host, port: Number(port || (secure ? 443 : 80)), allowHalfOpen: true }
  const socket = secure ? connectPinned(where, fingerprint) : connect(where)
  return await connected(socket, secure, signal)
}

/**
 * Threat model: the manager in between passes bytes on and is not asked to be trusted with them: over https the key is
 * checked, and over http the proofs made, with the manager behind it.
 */
export async function dialThrough({ door, to }: Route, where: Where, signal: AbortSignal): Promise<Socket> {
  const outer = await dialDirectly(door, signal)
  await passedOn(outer, { door, to }, signal)
  const { hostname, protocol } = new URL(where.url)
  // Nobody speaks first at the other end, so nothing is lost.
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
    // Its key was not the right one: the error comes next.
    if (!socket.destroyed) resolve(socket)
  }
  const onClose = () => reject(new Error('the connection was closed'))
  const onAbort = () => {
    socket.destroy()
    reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
  }
  // It stays: between its owners a socket must not take the process down with it.
  socket.on('error', reject)
  socket.once(event, onConnect).once('close', onClose)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return promise.finally(() => {
    socket.off(event, onConnect).off('close', onClose)
    signal.removeEventListener('abort', onAbort)
  })
}
