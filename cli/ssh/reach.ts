import { setTimeout as delay } from 'node:timers/promises'
import { AppError, type SessionId } from '#manager/contract'
import { type Proxy } from '#proxy'
import { type Tunnel } from '#proxy/contract'

/** How long the server of a session may take: to be started, and then until OpenSSH hears from it. */
export const REACH_SECONDS = 15
/** A ProxyCommand has to say why before OpenSSH, with the same patience, ends it. */
const START_MS = REACH_SECONDS * 1_000 - 1_000

const NO_ANSWER =
  `The session did not answer within ${REACH_SECONDS} seconds: its host is out of reach or overloaded, or the session is ` +
  'frozen. `berth session show` tells more.'

/** @throws AppError `unavailable` where the tunnel cannot be opened in time; those of `tunnel.open` */
export async function openSshTunnel(
  proxy: Proxy,
  sessionId: SessionId,
  { app = 'sshd', withinMs = START_MS }: { app?: string | undefined; withinMs?: number } = {},
): Promise<Tunnel> {
  const settled = new AbortController()
  const late = delay(withinMs, undefined, { signal: settled.signal }).then(() => {
    throw new AppError('unavailable', { why: NO_ANSWER })
  })
  try {
    return await Promise.race([proxy.tunnel.open({ sessionId, app }), late])
  } finally {
    settled.abort()
    late.catch(() => undefined)
  }
}

/** Why nothing ever came from the session; undefined where something did. @param tunnels those that are open still */
export function silenceOf(tunnels: readonly Pick<Tunnel, 'bytesDown' | 'lastError'>[]): string | undefined {
  const [tunnel] = tunnels
  if (!tunnel) return 'The session has ended.'
  return tunnel.bytesDown > 0 ? undefined : (tunnel.lastError ?? NO_ANSWER)
}
