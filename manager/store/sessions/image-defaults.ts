import { sql, type Selectable } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type ImageDefaultsTable } from '../tables/sessions.ts'

export type ImageDefaultsRow = Selectable<ImageDefaultsTable>

export function listImageDefaults(db: Db, userId: UserId): Promise<ImageDefaultsRow[]> {
  return db.selectFrom('image_defaults').selectAll().where('user_id', '=', userId).orderBy('image').execute()
}

/** Inserts the defaults of an image, or replaces those that the user has. */
export function upsertImageDefaults(
  db: Db,
  { userId, image, settings }: { userId: UserId; image: string; settings: ImageDefaultsRow['settings'] },
): Promise<ImageDefaultsRow> {
  return db
    .insertInto('image_defaults')
    .values({ user_id: userId, image, settings: JSON.stringify(settings) })
    .onConflict(conflict =>
      conflict
        .columns(['user_id', 'image'])
        .doUpdateSet({ settings: JSON.stringify(settings), changed_at: sql`now()` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** @returns false if the user had no defaults for the image */
export async function deleteImageDefaults(db: Db, userId: UserId, image: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('image_defaults')
    .where('user_id', '=', userId)
    .where('image', '=', image)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
