import { isFinished, type SessionEvent } from '#manager/contract'
import { t } from '../../words/en/detail.ts'

export interface TimelineRow {
  readonly event: SessionEvent
  /** Time that the session spent in this state; null for a final state. */
  readonly durationMs: number | null
  /** True for the current state, whose duration still grows. */
  readonly ongoing: boolean
  /**
   * Length of the bar: the duration relative to the longest wait, 0…1. Null for running, because a long run would flatten all other bars.
   */
  readonly share: number | null
}

/**
 * Lists the states of a session with their durations. Both the session and its kernels report transitions, and some of them twice: a
 * transition into the current state is left out, unless it reports an interruption or a program that was killed.
 *
 * @param events oldest first
 */
export function timelineRows(events: readonly SessionEvent[], now: Date): TimelineRow[] {
  const shown = events.filter((event, index) => event.to !== events[index - 1]?.to || isNews(event))
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

/** Whether the event deserves a row although the state does not change. */
const isNews = ({ reason: { code } }: SessionEvent) => NEWS.has(code)
const NEWS: ReadonlySet<SessionEvent['reason']['code']> = new Set([
  'interruption_announced',
  'interruption_called_off',
  'memory_killed',
  'gpu_failed',
  'gpu_warned',
])

/** Text of a duration below 10 s, for which whole seconds are too coarse. @returns undefined for 10 s or longer */
export function shortDuration(milliseconds: number): string | undefined {
  if (milliseconds >= 10_000) return undefined
  return milliseconds < 1000
    ? t('milliseconds', { count: Math.round(milliseconds) })
    : t('tenths', { seconds: (milliseconds / 1000).toFixed(1) })
}
