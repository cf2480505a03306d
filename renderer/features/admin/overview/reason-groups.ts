import { type ReasonCode, type Session } from '#manager/contract'

/** Sessions with the same reason. */
export interface ReasonGroup {
  readonly code: ReasonCode
  readonly count: number
  /** The newest of them; its reason is the example. */
  readonly newest: Session
}

/** Sessions by the code of their reason, the most frequent first. @param sessions newest first */
export function groupByReason(sessions: readonly Session[]): readonly ReasonGroup[] {
  const groups = new Map<ReasonCode, { count: number; newest: Session }>()
  for (const session of sessions) {
    const known = groups.get(session.reason.code)
    if (known) known.count += 1
    else groups.set(session.reason.code, { count: 1, newest: session })
  }
  return [...groups].map(([code, group]) => ({ code, ...group })).toSorted((a, b) => b.count - a.count)
}
