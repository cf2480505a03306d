import { createOpenCounts } from '#base/open-counts'
import { AppError, because, type SessionId, type UserId } from '#manager/contract'

/** Connections of one person at a time, of each kind, at one manager. */
export interface TunnelLimits {
  /** To apps and ports of sessions, those of others included. */
  readonly tunnels: number
  /** Tunnels to one app or port of one session. */
  readonly ofApp: number
  readonly terminals: number
  /** Strangers' connections through all the links of one owner. */
  readonly visitors: number
}

/**
 * A connection takes a port from the console to here, and descriptors in three processes: few people with as many as they
 * like would leave none to the others. The local proxy opens at most 256 to one web app, and any number to a port for raw TCP: a program
 * that opens one connection after the other, to a database for example, leaves some of its person's to their other apps.
 */
export const TUNNEL_LIMITS: TunnelLimits = { tunnels: 2_000, ofApp: 1_000, terminals: 200, visitors: 2_000 }

type Kind = 'tunnels' | 'terminals' | 'visitors'

export interface TunnelLimiter {
  /**
   * Counts a connection of a person, or of the owner of the link that a visitor uses. Kinds are counted apart.
   * @param of where the connection goes: its app or port, none for a terminal
   * @returns ends the connection: it counts no longer
   * @throws AppError `rate_limited`
   */
  take(userId: UserId, kind: Kind, of: { readonly sessionId: SessionId; readonly app?: string }): () => void
}

export function createTunnelLimiter(limits: TunnelLimits = TUNNEL_LIMITS): TunnelLimiter {
  const counts = createOpenCounts()

  return {
    take(userId, kind, { sessionId, app }) {
      const leave = counts.take(`${kind}:${userId}`, limits[kind])
      if (!leave) throw tooMany(because(CAUSES[kind], { limit: limits[kind] }))
      if (kind !== 'tunnels' || app === undefined) return leave
      const leaveApp = counts.take(`app:${userId}:${sessionId}:${app}`, limits.ofApp)
      if (leaveApp) {
        return () => {
          leaveApp()
          leave()
        }
      }
      leave()
      throw tooMany(because('connections_of_app', { limit: limits.ofApp, app }))
    },
  }
}

const tooMany = (why: ReturnType<typeof because>) => new AppError('rate_limited', { ...why, whySaysNext: true })

const CAUSES = {
  tunnels: 'connections_of_person',
  terminals: 'terminals_of_person',
  visitors: 'visitors_of_owner',
} as const
