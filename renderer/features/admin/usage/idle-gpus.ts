import { parseSlots, type Session } from '#manager/contract'

/** A GPU that is used less than this, in percent, does nothing. */
const IDLE_PERCENT = 5

/** GPUs that a session holds: whole ones and shares, of all its containers. */
export function gpusHeld({ requested, clusterSize }: Pick<Session, 'requested' | 'clusterSize'>): number {
  const slots = parseSlots(requested)
  return ((slots['cuda.device'] ?? 0) + (slots['cuda.shares'] ?? 0) / 100) * clusterSize
}

/** Running sessions that hold GPUs of which none does anything now, those with the most GPUs first. Unknown use is no idleness. */
export function idleGpuSessions(sessions: readonly Session[]): readonly Session[] {
  return sessions
    .filter(({ status, stats, ...session }) => {
      if (status !== 'RUNNING' || gpusHeld(session) === 0 || !stats || stats.gpus.length === 0) return false
      return stats.gpus.every(({ utilization }) => utilization !== null && utilization < IDLE_PERCENT)
    })
    .toSorted((a, b) => gpusHeld(b) - gpusHeld(a))
}
