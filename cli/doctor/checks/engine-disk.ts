import { because } from '#manager/contract'
import { DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, gib } from '../amounts.ts'
import { type PartCheck, ok, problem, warning } from '../check.ts'

const MEND = because('engine_disk_mend')

export const engineDisk: PartCheck = {
  name: 'disk of the engine',
  nameBy: 'check_engine_disk',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable' || engine.rootFreeBytes === undefined) return undefined
    const values = { size: gib(engine.rootFreeBytes), path: engine.rootDirectory }
    if (engine.rootFreeBytes < DISK_PROBLEM_BYTES) return problem(because('engine_disk_full', values), MEND)
    if (engine.rootFreeBytes < DISK_WARNING_BYTES) return warning(because('disk_low', values), MEND)
    return ok(because('disk_free', values))
  },
}
