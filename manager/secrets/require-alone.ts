import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '#manager/contract'
import { listManagers, MANAGER_GONE_MS } from '../store/operation/managers.ts'
import { type Db } from '../store/schema.ts'

const CHECK_EVERY_MS = 500

/**
 * Waits until no manager is alive on this database. One that has just crashed is listed until it has been silent for `goneMs`. @throws
 * AppError `master_key_in_use` with the addresses of managers that are alive
 */
export async function requireAlone(db: Db, goneMs = MANAGER_GONE_MS): Promise<void> {
  const until = performance.now() + goneMs
  for (;;) {
    const living = (await listManagers(db)).filter(({ silentMs }) => silentMs < goneMs)
    if (living.length === 0) return
    if (performance.now() > until) {
      const managers = living.map(({ url }) => url)
      const why = `Managers that run have the old master key: ${managers.join(', ')}. Stop all of them first.`
      throw new AppError('master_key_in_use', { why, managers })
    }
    await delay(CHECK_EVERY_MS)
  }
}
