import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** Largest difference of two clocks that is no problem. HTTP dates have whole seconds, so a small difference may be rounding. */
const SKEW_MS = 5_000

const AGREES = { manager: 'clock_agrees_with_manager', database: 'clock_agrees_with_database' } as const
const DIFFERS = {
  manager: { ahead: 'manager_clock_ahead', behind: 'manager_clock_behind' },
  database: { ahead: 'database_clock_ahead', behind: 'database_clock_behind' },
} as const

export const clock: PartCheck = {
  name: 'clock',
  nameBy: 'check_clock',
  of: ['manager', 'agent'],
  run({ managerAheadMs, database }) {
    const others = [
      { name: 'manager', aheadMs: managerAheadMs },
      {
        name: 'database',
        aheadMs: database.kind === 'external' && database.status === 'reachable' ? database.aheadMs : undefined,
      },
    ] as const
    const known = others.flatMap(({ name, aheadMs }) => (aheadMs === undefined ? [] : [{ name, aheadMs }]))
    if (known.length === 0) return undefined
    const off = known.find(({ aheadMs }) => Math.abs(aheadMs) > SKEW_MS)
    if (!off) return ok(because(known.length > 1 ? 'clock_agrees_with_both' : AGREES[known[0]?.name ?? 'manager']))
    const seconds = Math.round(Math.abs(off.aheadMs) / 1000)
    return warning(because(DIFFERS[off.name][off.aheadMs > 0 ? 'ahead' : 'behind'], { seconds }), because('clock_mend'))
  },
}
