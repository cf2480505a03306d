import { type Selectable, sql } from 'kysely'
import { type SessionId } from '#manager/contract'
import { type Database, type Db } from '../schema.ts'

export type ImageRequestRow = Selectable<Database['image_requests']>

const fresh = sql<boolean>`image_requests.expires_at > now()`

export interface NewImageRequest {
  readonly id: string
  readonly sessionId: SessionId
  readonly reference: string
  readonly title: string | null
  readonly note: string
  readonly days: number
}

/** Replaces the request of a session. @returns false if another session asks for the same name */
export async function putImageRequest(trx: Db, request: NewImageRequest): Promise<boolean> {
  const { id, sessionId, reference, title, note, days } = request
  await trx
    .deleteFrom('image_requests')
    .where(eb => eb.or([eb('session_id', '=', sessionId), eb.and([eb('reference', '=', reference), eb.not(fresh)])]))
    .execute()
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('image_requests')
    .values({
      ...{ id, session_id: sessionId, reference, title, note },
      expires_at: sql<Date>`now() + make_interval(days => ${days})`,
    })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export function findImageRequestOf(db: Db, sessionId: SessionId): Promise<ImageRequestRow | undefined> {
  return db.selectFrom('image_requests').selectAll().where('session_id', '=', sessionId).where(fresh).executeTakeFirst()
}

/** Oldest first. */
export function listImageRequests(db: Db): Promise<ImageRequestRow[]> {
  return db.selectFrom('image_requests').selectAll().where(fresh).orderBy('id').limit(500).execute()
}

/** Takes a request out of the list: of two administrators, one gets it. */
export function takeImageRequest(db: Db, id: string): Promise<ImageRequestRow | undefined> {
  return db.deleteFrom('image_requests').where('id', '=', id).where(fresh).returningAll().executeTakeFirst()
}
