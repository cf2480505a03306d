import { ManagerId } from '#manager/contract'
import { newId } from '../new-id.ts'
import { type Db } from '../schema.ts'

/**
 * The id of this control plane, created once per database. Containers and agents carry it, so it outlives processes and is the same for all
 * managers on one database.
 */
export async function loadManagerId(db: Db): Promise<ManagerId> {
  await db
    .insertInto('settings')
    .values({ key: 'manager_id', value: JSON.stringify(newId(ManagerId)) })
    .onConflict(conflict => conflict.column('key').doNothing())
    .execute()
  const row = await db.selectFrom('settings').select('value').where('key', '=', 'manager_id').executeTakeFirstOrThrow()
  return ManagerId.parse(row.value)
}
