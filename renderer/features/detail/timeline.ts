import { isFinished, type SessionEvent } from '#manager/contract'

export interface TimelineRow {
  readonly event: SessionEvent
  /** How long the session was in this state; null for a final one. */
  readonly durationMs: number | null
  /** The state it is in now: the duration still grows. */
  readonly ongoing: boolean
  /** Share of the longest wait, 0…1: the length of the bar. Null for running: a long life would flatten all others. */
  readonly share: number | null
}

/**
 * The states of a session with how long each lasted. Moves are reported by the session or by its kernels, and some by both:
 * a move into the state that is already there is left out.
 *
 * @param events oldest first
 */
export function timelineRows(events: readonly SessionEvent[], now: Date): TimelineRow[] {
  const shown = events.filter((event, index) => event.to !== events[index - 1]?.to)
  const rows = shown.map((event, index) => {
    const next = shown[index + 1]
    const ongoing = next === undefined && !isFinished(event.to)
    const until = next ? Date.parse(next.at) : ongoing ? now.getTime() : null
    return { event, ongoing, durationMs: until === null ? null : Math.max(0, until - Date.parse(event.at)) }
  })
  const isWait = ({ event }: (typeof rows)[number]) => event.to !== 'RUNNING'
  const longest = Math.max(1, ...rows.filter(isWait).map(row => row.durationMs ?? 0))
  return rows.map(row => ({ ...row, share: isWait(row) ? (row.durationMs ?? 0) / longest : null }))
}

/** The change since the state before it, in a form people read: short times need more than whole seconds. */
export function shortDuration(milliseconds: number): string | undefined {
  if (milliseconds >= 10_000) return undefined
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}
