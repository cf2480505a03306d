import { sql } from 'kysely'
import { type GroupId, LIVE_STATUSES, type SessionId, type SessionPermission, type UserId } from '#manager/contract'
import { ACCOUNT_HOLDS } from '../identity/users.ts'
import { type Db } from '../schema.ts'

export interface ShareRow {
  readonly user_id: UserId
  readonly email: string
  readonly name: string
  readonly permission: SessionPermission
  readonly shared_at: Date
}

/** Ordered by address. */
export function listShares(db: Db, id: SessionId): Promise<ShareRow[]> {
  return db
    .selectFrom('session_shares')
    .innerJoin('users', 'users.id', 'session_shares.user_id')
    .select(['users.id as user_id', 'users.email', 'users.name'])
    .select(['session_shares.permission', 'session_shares.shared_at'])
    .where('session_shares.session_id', '=', id)
    .orderBy(sql`lower(users.email)`)
    .execute()
}

/** An active member of a project, by address in any letter case. */
export function findProjectMember(db: Db, groupId: GroupId, email: string): Promise<{ id: UserId } | undefined> {
  return db
    .selectFrom('group_members')
    .innerJoin('users', 'users.id', 'group_members.user_id')
    .select('users.id')
    .where('group_members.group_id', '=', groupId)
    .where(sql`lower(users.email)`, '=', email.toLowerCase())
    .where(ACCOUNT_HOLDS)
    .executeTakeFirst()
}

/**
 * Shares a session, or changes the permission of a member; records permanently that others may use the session. Fails with SQLSTATE 23503
 * if the user has left the project.
 */
export async function saveShare(
  db: Db,
  share: {
    readonly session_id: SessionId
    readonly user_id: UserId
    readonly group_id: GroupId
    readonly permission: SessionPermission
  },
): Promise<void> {
  const { permission } = share
  await db
    .insertInto('session_shares')
    .values(share)
    .onConflict(conflict =>
      conflict.columns(['session_id', 'user_id']).doUpdateSet({ permission, changed_at: sql<Date>`now()` }),
    )
    .execute()
  if (permission !== 'view') await noteUsedByOthers(db, share.session_id)
}

/** Records permanently that others may use a session. Call it with the session locked: code that adds a folder checks this record. */
export async function noteUsedByOthers(db: Db, id: SessionId): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ used_by_others_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('used_by_others_at', 'is', null)
    .execute()
}

/** Counts the owner's live sessions that are shared with the user, except `without`. */
export async function countSharedWith(
  db: Db,
  { ownerId, userId, without }: { ownerId: UserId; userId: UserId; without: SessionId },
): Promise<number> {
  const { count } = await db
    .selectFrom('session_shares')
    .innerJoin('sessions', 'sessions.id', 'session_shares.session_id')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('session_shares.user_id', '=', userId)
    .where('sessions.owner_id', '=', ownerId)
    .where('sessions.status', 'in', LIVE_STATUSES)
    .where('sessions.id', '<>', without)
    .executeTakeFirstOrThrow()
  return count
}

/** @returns false if the session is not shared with this user */
export async function deleteShare(db: Db, id: SessionId, userId: UserId): Promise<boolean> {
  const query = db.deleteFrom('session_shares').where('session_id', '=', id)
  return (await query.where('user_id', '=', userId).executeTakeFirst()).numDeletedRows === 1n
}

/** Pairs of a session and a user with whom it is shared. @param userId only sessions shared with this user */
export function listSharedSessions(db: Db, userId?: UserId): Promise<{ session_id: SessionId; user_id: UserId }[]> {
  const query = db.selectFrom('session_shares').select(['session_id', 'user_id'])
  return (userId === undefined ? query : query.where('user_id', '=', userId)).execute()
}
