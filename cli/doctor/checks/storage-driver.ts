import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

const FINE: ReadonlySet<string> = new Set(['overlay2', 'overlayfs', 'btrfs', 'zfs', 'stargz', 'windowsfilter'])

export const storageDriver: PartCheck = {
  name: 'storage driver',
  nameBy: 'check_storage_driver',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (FINE.has(engine.storageDriver)) return ok(because('storage_driver_is', { driver: engine.storageDriver }))
    return warning(because('storage_driver_slow', { driver: engine.storageDriver }), because('storage_driver_mend'))
  },
}
