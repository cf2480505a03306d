import { type Check, ok, warning } from '../check.ts'

/** Largest difference of two clocks that is no problem. HTTP dates have whole seconds, so a small difference may be rounding. */
const SKEW_MS = 5_000

export const clock: Check = {
  name: 'clock',
  of: ['manager', 'agent'],
  run({ managerAheadMs, database }) {
    const others = [
      { name: 'manager', aheadMs: managerAheadMs },
      {
        name: 'database',
        aheadMs: database.kind === 'external' && database.status === 'reachable' ? database.aheadMs : undefined,
      },
    ]
    const known = others.flatMap(({ name, aheadMs }) => (aheadMs === undefined ? [] : [{ name, aheadMs }]))
    if (known.length === 0) return undefined
    const off = known.find(({ aheadMs }) => Math.abs(aheadMs) > SKEW_MS)
    if (!off) return ok(`The clock agrees with the ${known.map(({ name }) => name).join(' and the ')}.`)
    const seconds = Math.round(Math.abs(off.aheadMs) / 1000)
    return warning(
      `The clock of the ${off.name} is ${seconds} s ${off.aheadMs > 0 ? 'ahead of' : 'behind'} this computer's.`,
      'Synchronise both computers with a time server: `timedatectl set-ntp true`.',
    )
  },
}
