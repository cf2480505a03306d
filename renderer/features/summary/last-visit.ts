import { parseJson } from '#manager/contract'

/** Times of the visits to the console on this computer, in milliseconds since 1970. */
export interface Visit {
  /** End of the visit before this one; changes since then are news. Null on the first visit. */
  readonly since: number | null
  /** When the page was last seen. */
  readonly seen: number
}

/** A page that was away for this long begins a new visit. A reload, or a look at another page, does not. */
const NEW_VISIT_MS = 30 * 60_000

export function readVisit(text: string | null): Visit | null {
  const value = parseJson(text ?? 'null')
  if (typeof value !== 'object' || value === null || !('seen' in value) || !('since' in value)) return null
  const { since, seen } = value
  if (typeof seen !== 'number' || (since !== null && typeof since !== 'number')) return null
  return { since, seen }
}

/** The visit that continues, or a new one. */
export function visitAt(now: number, before: Visit | null): Visit {
  if (!before) return { since: null, seen: now }
  const isNew = now - before.seen >= NEW_VISIT_MS
  return { since: isNew ? before.seen : before.since, seen: now }
}
