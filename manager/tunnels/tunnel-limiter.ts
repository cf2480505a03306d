import { createOpenCounts } from '#base/open-counts'
import { AppError, because, type SessionId, type UserId } from '#manager/contract'

/** Connections at a time at one manager: of one person, of each kind, and of all people together. */
export interface TunnelLimits {
  /** To apps and ports of sessions, including those of others. */
  readonly tunnels: number
  /** Tunnels to one app or port of one session. */
  readonly ofApp: number
  readonly terminals: number
  /** Connections of strangers through all the links of one owner. */
  readonly visitors: number
  /** Tunnels, terminals and visitors of everybody. */
  readonly all: number
}

/**
 * A connection takes a port between console and manager, and descriptors in three processes: without limits, a few people could use up all
 * of them. The local proxy opens at most 256 to one web app, and any number to a port for raw TCP: so a program that opens many
 * connections, to a database for example, must leave some for the person's other apps.
 */
const OF_PERSON = { tunnels: 2_000, ofApp: 1_000, terminals: 200, visitors: 2_000 } as const
/** Console and agent on one computer each have a pair of ports to the manager for a tunnel, of 28,000 pairs. */
const MOST_OF_ALL = 10_000

/**
 * Limits for a process that may open so many descriptors. Tunnels, with two descriptors each, take at most two thirds of these; the rest is for
 * requests, files and agents.
 */
export function tunnelLimits(descriptors: number): TunnelLimits {
  return { ...OF_PERSON, all: Math.min(MOST_OF_ALL, Math.floor(descriptors / 3)) }
}

type Kind = 'tunnels' | 'terminals' | 'visitors'

export interface TunnelLimiter {
  /**
   * Counts a connection of a person, or of the owner of the link that a visitor uses. Kinds are counted apart.
   *
   * A person has at most as many of the places of everybody as are still free. So one person gets half of them, two get a third each, and
   * somebody with few connections gets a further one, however many others have as many as they can.
   *
   * @param of where the connection goes: its app or port, none for a terminal
   * @returns ends the connection: it counts no longer
   * @throws AppError `rate_limited`
   */
  take(userId: UserId, kind: Kind, of: { readonly sessionId: SessionId; readonly app?: string }): () => void
}

export function createTunnelLimiter(limits: TunnelLimits = tunnelLimits(Infinity)): TunnelLimiter {
  const counts = createOpenCounts()
  const shares = createOpenCounts()

  return {
    take(userId, kind, { sessionId, app }) {
      const taken: (() => void)[] = []
      const leave = () => taken.forEach(one => one())
      const keep = (place: (() => void) | undefined, why: () => ReturnType<typeof because>) => {
        if (place) taken.push(place)
        else {
          leave()
          throw new AppError('rate_limited', { ...why(), whySaysNext: true })
        }
      }
      keep(counts.take(`${kind}:${userId}`, limits[kind]), () => because(CAUSES[kind], { limit: limits[kind] }))
      if (kind === 'tunnels' && app !== undefined) {
        const why = () => because('connections_of_app', { limit: limits.ofApp, app })
        keep(counts.take(`app:${userId}:${sessionId}:${app}`, limits.ofApp), why)
      }
      // Strangers at the links of an owner take nothing from the owner's share.
      const share = kind === 'visitors' ? `visitors:${userId}` : userId
      keep(shares.take(share, limits.all - shares.size), () => because('connections_of_all', { limit: limits.all }))
      return leave
    },
  }
}

const CAUSES = {
  tunnels: 'connections_of_person',
  terminals: 'terminals_of_person',
  visitors: 'visitors_of_owner',
} as const
