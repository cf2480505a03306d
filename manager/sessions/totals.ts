import { type SessionFilter } from '../store/sessions/session-list.ts'

/** Totals from this one on are cached: nobody needs exact large numbers, and counting is most of the cost of a list page. */
const LARGE = 10_000
const KEPT_MS = 5_000
const MOST = 1_000

/**
 * Counts matching sessions. A large total may be some seconds old, because every console asks again after every hint.
 */
export function createTotals(
  count: (filter: SessionFilter) => Promise<number>,
  now: () => number = () => performance.now(),
): (filter: SessionFilter) => Promise<number> {
  const known = new Map<string, { readonly total: number; readonly at: number }>()
  return async filter => {
    const key = JSON.stringify(filter)
    const last = known.get(key)
    if (last && now() - last.at < KEPT_MS) return last.total
    const total = await count(filter)
    known.delete(key)
    if (known.size >= MOST) known.clear()
    if (total >= LARGE) known.set(key, { total, at: now() })
    return total
  }
}
