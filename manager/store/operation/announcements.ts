import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Id of the announcement that the user has dismissed last. */
export async function findDismissed(db: Db, userId: UserId): Promise<string | null> {
  const row = await db
    .selectFrom('dismissed_announcements')
    .select('announcement')
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.announcement ?? null
}

export async function putDismissed(db: Db, userId: UserId, announcement: string): Promise<void> {
  await db
    .insertInto('dismissed_announcements')
    .values({ user_id: userId, announcement })
    .onConflict(conflict => conflict.column('user_id').doUpdateSet({ announcement }))
    .execute()
}
