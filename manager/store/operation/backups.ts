import { type BackupRun } from '#manager/contract'
import { type Db } from '../schema.ts'

const KEY = 'backups'

/** State of the backups, shared by all managers. */
export interface BackupState {
  /** The last due time that a manager has handled, in ISO 8601. */
  readonly due: string | null
  /** The last backup that was started, with the id of its task. */
  readonly last: (BackupRun & { readonly taskId: string }) | null
  readonly lastDone: BackupRun | null
}

const NONE: BackupState = { due: null, last: null, lastDone: null }

export async function readBackupState(db: Db): Promise<BackupState> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY).executeTakeFirst()
  return (row?.value as BackupState | undefined) ?? NONE
}

/** For use after a restore: the recorded backups belong to another installation. */
export async function forgetBackups(trx: Db): Promise<void> {
  await trx.deleteFrom('settings').where('key', '=', KEY).execute()
}

/**
 * Changes the state under a lock. Call it in a transaction. @param change the new state, or undefined to leave it @returns whether it was
 * changed
 */
export async function changeBackupState(
  trx: Db,
  change: (state: BackupState) => BackupState | undefined,
): Promise<boolean> {
  await trx
    .insertInto('settings')
    .values({ key: KEY, value: JSON.stringify(NONE) })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  const row = await trx.selectFrom('settings').select('value').where('key', '=', KEY).forUpdate().executeTakeFirst()
  const next = change((row?.value as BackupState | undefined) ?? NONE)
  if (!next) return false
  await trx
    .updateTable('settings')
    .set({ value: JSON.stringify(next) })
    .where('key', '=', KEY)
    .execute()
  return true
}
