import { type Insertable, type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db, type UsersTable } from './schema.ts'

export type UserRow = Selectable<UsersTable>
export type NewUser = Pick<Insertable<UsersTable>, 'id' | 'email' | 'name' | 'role' | 'password_hash'>

/** False if the e-mail address is taken (addresses differ by more than letter case). */
export async function insertUser(db: Db, user: NewUser): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(user)
    .onConflict(conflict => conflict.expression(sql`lower(email)`).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('users')
    .selectAll()
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .executeTakeFirst()
}

export function findUser(db: Db, id: UserId): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Oldest first; `after` is the last id of the page before. */
export function listUsers(db: Db, page: { limit: number; after?: UserId | undefined }): Promise<UserRow[]> {
  let query = db.selectFrom('users').selectAll().orderBy('id').limit(page.limit)
  if (page.after !== undefined) query = query.where('id', '>', page.after)
  return query.execute()
}

export async function countUsers(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export type UserUpdate = Partial<Pick<UserRow, 'name' | 'role' | 'active' | 'password_hash'>>

/** The row as it is now, or undefined if there is no such user. */
export function updateUser(db: Db, id: UserId, update: UserUpdate): Promise<UserRow | undefined> {
  return db
    .updateTable('users')
    .set({ ...update, version: sql<number>`version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
