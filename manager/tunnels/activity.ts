import { type Splice } from './splice.ts'

/** What has gone through the tunnels of a session, as counted on the client's side of the manager. */
export interface SessionActivity {
  readonly tunnels: number
  readonly bytesUp: number
  readonly bytesDown: number
}

interface Owner {
  readonly sessionId: string
  readonly loginId: string
}

interface Totals {
  readonly open: Set<Splice>
  endedUp: number
  endedDown: number
}

/** The live tunnels, by session. Sums are made when asked for, so counting costs nothing per byte. */
export interface Activity {
  add(tunnel: Splice, owner: Owner): void
  remove(tunnel: Splice): void
  cut(which: (owner: Owner) => boolean): void
  readonly of: (sessionId: string) => SessionActivity
  readonly size: number
  /** Resolves when no tunnel is left. */
  empty(): Promise<void>
}

/** Sessions without open tunnels are remembered for their sums, up to so many. */
const MAX_REMEMBERED = 10_000

export function createActivity(): Activity {
  const owners = new Map<Splice, Owner>()
  const sessions = new Map<string, Totals>()
  const whenEmpty: (() => void)[] = []

  return {
    add(tunnel, owner) {
      owners.set(tunnel, owner)
      const totals = sessions.get(owner.sessionId) ?? { open: new Set(), endedUp: 0, endedDown: 0 }
      totals.open.add(tunnel)
      sessions.set(owner.sessionId, totals)
    },
    remove(tunnel) {
      const owner = owners.get(tunnel)
      const totals = owner && sessions.get(owner.sessionId)
      if (!owner || !totals?.open.delete(tunnel)) return
      owners.delete(tunnel)
      totals.endedUp += tunnel.bytesUp
      totals.endedDown += tunnel.bytesDown
      if (sessions.size > MAX_REMEMBERED && totals.open.size === 0) sessions.delete(owner.sessionId)
      if (owners.size === 0) for (const resolve of whenEmpty.splice(0)) resolve()
    },
    cut(which) {
      for (const [tunnel, owner] of owners) if (which(owner)) tunnel.destroy()
    },
    of(sessionId) {
      const totals = sessions.get(sessionId)
      let [bytesUp, bytesDown] = [totals?.endedUp ?? 0, totals?.endedDown ?? 0]
      for (const tunnel of totals?.open ?? []) {
        bytesUp += tunnel.bytesUp
        bytesDown += tunnel.bytesDown
      }
      return { tunnels: totals?.open.size ?? 0, bytesUp, bytesDown }
    },
    get size() {
      return owners.size
    },
    empty: () => (owners.size === 0 ? Promise.resolve() : new Promise(resolve => whenEmpty.push(resolve))),
  }
}
