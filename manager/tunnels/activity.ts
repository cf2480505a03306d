import { type SessionId, type UserId } from '#manager/contract'
import { type Splice } from './splice.ts'

/** Traffic of a session's tunnels, counted on the client's side of the manager. */
export interface SessionActivity {
  readonly tunnels: number
  readonly bytesUp: number
  readonly bytesDown: number
  /** The part of these numbers that belongs to terminals. */
  readonly terminals: number
  readonly terminalBytesUp: number
  readonly terminalBytesDown: number
}

export const NO_ACTIVITY: SessionActivity = {
  tunnels: 0,
  bytesUp: 0,
  bytesDown: 0,
  terminals: 0,
  terminalBytesUp: 0,
  terminalBytesDown: 0,
}

export interface TunnelOwner {
  readonly sessionId: SessionId
  /** The credential with which it was opened: a sign-in, or an access key. */
  readonly loginId: string
  readonly userId: UserId
  /** The session belongs to another user, who shares it. */
  readonly shared: boolean
  readonly terminal?: boolean
}

interface Totals {
  readonly open: Set<Splice>
  readonly ended: Sums
  readonly endedTerminals: Sums
}

interface Sums {
  up: number
  down: number
}

/** Keeps the live tunnels by session. Sums are computed on request, so counting costs nothing per byte. */
export interface Activity {
  add(tunnel: Splice, owner: TunnelOwner): void
  remove(tunnel: Splice): void
  cut(which: (owner: TunnelOwner) => boolean): number
  readonly openedWith: () => readonly string[]
  /** Open tunnels to sessions of other users. */
  readonly shared: () => readonly TunnelOwner[]
  readonly of: (sessionId: string) => SessionActivity
  /** Totals of all tunnels since the start. */
  totals(): { tunnels: number; terminals: number; bytesUp: number; bytesDown: number }
  readonly size: number
  /** Resolves when no tunnel is left. */
  empty(): Promise<void>
}

/** Sessions without open tunnels keep their sums, up to this number of sessions. */
const MAX_REMEMBERED = 10_000

export function createActivity(): Activity {
  const owners = new Map<Splice, TunnelOwner>()
  const sessions = new Map<string, Totals>()
  const gone: Sums = { up: 0, down: 0 }
  const whenEmpty: (() => void)[] = []

  return {
    add(tunnel, owner) {
      owners.set(tunnel, owner)
      const totals = sessions.get(owner.sessionId) ?? {
        open: new Set(),
        ended: { up: 0, down: 0 },
        endedTerminals: { up: 0, down: 0 },
      }
      totals.open.add(tunnel)
      sessions.set(owner.sessionId, totals)
    },
    remove(tunnel) {
      const owner = owners.get(tunnel)
      const totals = owner && sessions.get(owner.sessionId)
      if (!owner || !totals?.open.delete(tunnel)) return
      owners.delete(tunnel)
      add(gone, tunnel)
      for (const sums of owner.terminal ? [totals.ended, totals.endedTerminals] : [totals.ended]) add(sums, tunnel)
      if (sessions.size > MAX_REMEMBERED && totals.open.size === 0) sessions.delete(owner.sessionId)
      if (owners.size === 0) for (const resolve of whenEmpty.splice(0)) resolve()
    },
    cut(which) {
      const found = [...owners].filter(([, owner]) => which(owner))
      for (const [tunnel] of found) tunnel.destroy()
      return found.length
    },
    shared: () => [...owners.values()].filter(owner => owner.shared),
    openedWith: () => [...new Set([...owners.values()].map(owner => owner.loginId))],
    of(sessionId) {
      const totals = sessions.get(sessionId)
      const all = { up: 0, down: 0, ...totals?.ended }
      const terminals = { up: 0, down: 0, ...totals?.endedTerminals }
      let count = 0
      for (const tunnel of totals?.open ?? []) {
        add(all, tunnel)
        if (!owners.get(tunnel)?.terminal) continue
        count++
        add(terminals, tunnel)
      }
      return {
        tunnels: totals?.open.size ?? 0,
        bytesUp: all.up,
        bytesDown: all.down,
        terminals: count,
        terminalBytesUp: terminals.up,
        terminalBytesDown: terminals.down,
      }
    },
    totals() {
      const sums = { ...gone }
      let terminals = 0
      for (const [tunnel, { terminal = false }] of owners) {
        add(sums, tunnel)
        if (terminal) terminals++
      }
      return { tunnels: owners.size, terminals, bytesUp: sums.up, bytesDown: sums.down }
    },
    get size() {
      return owners.size
    },
    empty: () => (owners.size === 0 ? Promise.resolve() : new Promise(resolve => whenEmpty.push(resolve))),
  }
}

function add(sums: Sums, { bytesUp, bytesDown }: Splice): void {
  sums.up += bytesUp
  sums.down += bytesDown
}
