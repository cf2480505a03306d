import { AppError, because, type UserId } from '#manager/contract'

/** Connections of one person at a time, of each kind, at one manager. */
export interface TunnelLimits {
  /** To apps and ports of sessions, those of others included. */
  readonly tunnels: number
  readonly terminals: number
  /** Strangers' connections through all the links of one owner. */
  readonly visitors: number
}

/**
 * A connection takes a port from the console to here, and descriptors in three processes: few people with as many as they
 * like would leave none to the others. The local proxy has at most 512 to one app.
 */
export const TUNNEL_LIMITS: TunnelLimits = { tunnels: 2_000, terminals: 200, visitors: 2_000 }

export interface Places {
  /**
   * Takes a place of a person, or of the owner of a link for visitors. Kinds are counted apart.
   * @returns gives the place back; to be called once
   * @throws AppError `rate_limited`
   */
  take(userId: UserId, kind: keyof TunnelLimits): () => void
}

export function createPlaces(limits: TunnelLimits = TUNNEL_LIMITS): Places {
  const taken = new Map<string, number>()

  return {
    take(userId, kind) {
      const key = `${kind}:${userId}`
      const count = taken.get(key) ?? 0
      const limit = limits[kind]
      if (count >= limit) throw new AppError('rate_limited', { ...because(CAUSES[kind], { limit }), whySaysNext: true })
      taken.set(key, count + 1)
      return () => {
        const left = (taken.get(key) ?? 1) - 1
        if (left > 0) taken.set(key, left)
        else taken.delete(key)
      }
    },
  }
}

const CAUSES = {
  tunnels: 'connections_of_person',
  terminals: 'terminals_of_person',
  visitors: 'visitors_of_owner',
} as const
