import { because } from '#manager/contract'
import { DISK_WARNING_BYTES, gib } from '../amounts.ts'
import { type PartCheck, ok, problem, warning } from '../check.ts'

const MEND = because('homes_disk_mend')

/** Compares the free space with the agent's floor, below which it starts no session. */
export const homesDisk: PartCheck = {
  name: 'disk of the homes',
  nameBy: 'check_homes_disk',
  of: ['agent'],
  run({ homes: { path, freeBytes, floorBytes } }) {
    if (freeBytes === undefined) return undefined
    const values = { size: gib(freeBytes), path }
    if (freeBytes < floorBytes) {
      return problem(because('homes_disk_short', { ...values, needed: gib(floorBytes) }), MEND)
    }
    if (freeBytes < Math.max(DISK_WARNING_BYTES, 2 * floorBytes)) return warning(because('disk_low', values), MEND)
    return ok(because('disk_free', values))
  },
}
