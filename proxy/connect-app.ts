import type { ApiClient, Grant, SessionId } from '#manager/contract'
import { AppError, callRoute, type ClientDeps, GRANT_CALLS, GRANT_HEADER } from '#manager/contract/light'
import { dialTunnel } from './dial/dial.ts'
import { createPath } from './grants/path.ts'
import { TunnelStream } from './local/tunnel-stream.ts'

export interface ConnectAppOptions {
  readonly managerUrl: string
  readonly fetch: ClientDeps['fetch']
  /** Headers for the manager, made for each request. */
  readonly credentials: NonNullable<ClientDeps['sign']>
  readonly sessionId: SessionId
  readonly app: string
  /** Ends the attempt with its reason, or with the last error of the path. */
  readonly limit: AbortSignal
}

/**
 * Opens one connection to an app of a session, without a listener: for a program that carries the bytes itself. If the path to
 * the session is down, the connection waits for it like one of a listener, until the limit.
 *
 * `berth stdio` is started for every connection of ssh, so this file and its imports load no schemas (ADR 0026).
 *
 * Threat model: nothing listens. Credentials are requested for each call and kept nowhere; the grant stays in memory until the
 * connection is open. The holder of the stream can do what a client of the listener can: talk to an app that must ask for a key
 * itself (sshd does).
 *
 * @throws AppError of the manager (`not_signed_in`, `session_not_running`, …); `unavailable` or the reason of the limit
 */
export async function connectApp(options: ConnectAppOptions): Promise<TunnelStream> {
  const { managerUrl, sessionId, app, limit } = options
  using path = createPath({
    api: grantApi(options),
    sessionId,
    app,
    dial: ({ grant }, signal) => dialTunnel({ managerUrl, sessionId, app, headers: { [GRANT_HEADER]: grant }, signal }),
    onChange: () => undefined,
  })
  try {
    // If the first grant fails, give up at once: the manager refused it, or is away.
    await Promise.race([path.grant(), whenAborted(limit)])
    return new TunnelStream(await path.connect(limit))
  } catch (error) {
    if (!limit.aborted) throw error
    throw path.lastError === null
      ? limit.reason
      : new AppError('unavailable', { why: path.lastError.message }, { cause: error })
  }
}

function grantApi(options: ConnectAppOptions): Pick<ApiClient, 'createGrant' | 'renewGrant'> {
  const { managerUrl: baseUrl, fetch } = options
  return {
    createGrant: async input =>
      (await callRoute({ baseUrl, fetch, sign: options.credentials }, GRANT_CALLS.createGrant, input)) as Grant,
    // A renewal is authorised by the grant alone.
    renewGrant: async input => (await callRoute({ baseUrl, fetch }, GRANT_CALLS.renewGrant, input ?? {})) as Grant,
  }
}

function whenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise
}

export { environmentNetwork, type Pins, usePins } from './network/environment-network.ts'
export { textUpTo } from './network/reply-of.ts'
export type { TunnelStream } from './local/tunnel-stream.ts'
export { connectCommand } from './connect-command.ts'
