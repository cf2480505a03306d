import { sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/**
 * After this time without a look at the console, the next look begins a new visit. A reload, or opening another page, continues the visit.
 */
const NEW_VISIT = sql`interval '30 minutes'`

/** Continues the visit of a user, or begins a new one. @returns the end of the previous visit; null on the first visit */
export async function putVisit(db: Db, userId: UserId): Promise<Date | null> {
  const isNew = sql<boolean>`now() - visits.seen >= ${NEW_VISIT}`
  const { since } = await db
    .insertInto('visits')
    .values({ user_id: userId, since: null, seen: sql<Date>`now()` })
    .onConflict(conflict =>
      conflict.column('user_id').doUpdateSet({
        since: sql<Date | null>`case when ${isNew} then visits.seen else visits.since end`,
        seen: sql<Date>`now()`,
      }),
    )
    .returning('since')
    .executeTakeFirstOrThrow()
  return since
}
