import { within } from '#base/within'
import type { SessionId } from '#manager/contract'
import { AppError } from '#manager/contract/light'
import type { Proxy } from '#proxy'
import type { Tunnel } from '#proxy/contract'

/** Time limit for a session's server, in seconds: to start, and then until OpenSSH receives its first bytes. */
export const REACH_SECONDS = 15
/**
 * Time limit for the tunnel: one second less than OpenSSH's own limit (REACH_SECONDS too), because a ProxyCommand must report
 * the reason before OpenSSH ends it.
 */
export const START_MS = REACH_SECONDS * 1_000 - 1_000

export const NO_ANSWER =
  `The session did not answer within ${REACH_SECONDS} seconds: the host cannot be reached or is overloaded, or the session is ` +
  'frozen. See `berth session show`.'

/** @throws AppError `unavailable` if the tunnel cannot be opened in time; those of `tunnel.open` */
export async function openSshTunnel(
  proxy: Proxy,
  sessionId: SessionId,
  { app = 'sshd', withinMs = START_MS }: { app?: string | undefined; withinMs?: number } = {},
): Promise<Tunnel> {
  return await within(
    withinMs,
    proxy.tunnel.open({ sessionId, app }),
    () => new AppError('unavailable', { why: NO_ANSWER }),
  )
}

/** Reason why no bytes ever came from the session; undefined if some did. @param tunnels tunnels that are still open */
export function silenceOf(tunnels: readonly Pick<Tunnel, 'bytesDown' | 'lastError'>[]): string | undefined {
  const [tunnel] = tunnels
  if (!tunnel) return 'The session has ended.'
  return tunnel.bytesDown > 0 ? undefined : (tunnel.lastError?.message ?? NO_ANSWER)
}
