import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

export const cgroups: PartCheck = {
  name: 'cgroups',
  nameBy: 'check_cgroups',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.cgroupVersion === '2') return ok(because('cgroups_2'))
    return warning(because('cgroups_1', { version: engine.cgroupVersion || '?' }), because('cgroups_1_mend'))
  },
}
