import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

export const liveRestore: PartCheck = {
  name: 'live-restore',
  nameBy: 'check_live_restore',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.liveRestore) return ok(because('live_restore_on'))
    return warning(because('live_restore_off'), because('live_restore_off_mend'))
  },
}
