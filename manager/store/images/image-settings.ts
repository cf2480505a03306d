import { sql } from 'kysely'
import { type ResourceSlots } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Minimum amounts that an admin has set, by image reference. */
export async function readImageMinimums(db: Db): Promise<Map<string, ResourceSlots>> {
  const rows = await db.selectFrom('image_settings').select(['reference', 'minimum']).execute()
  return new Map(rows.map(row => [row.reference, row.minimum]))
}

/** @param minimum null removes the setting, so that the image's labels decide */
export async function setImageMinimum(db: Db, reference: string, minimum: ResourceSlots | null): Promise<void> {
  if (minimum === null) {
    await db.deleteFrom('image_settings').where('reference', '=', reference).execute()
    return
  }
  const text = JSON.stringify(minimum)
  await db
    .insertInto('image_settings')
    .values({ reference, minimum: text })
    .onConflict(conflict =>
      conflict.column('reference').doUpdateSet({ minimum: text, version: sql`image_settings.version + 1` }),
    )
    .execute()
}
