import { type Insertable, type Selectable } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db, type KeypairsTable } from './schema.ts'

export type KeypairRow = Selectable<KeypairsTable> & { readonly email: string }
export type NewKeypair = Pick<
  Insertable<KeypairsTable>,
  'access_key' | 'user_id' | 'sealed_secret' | 'active' | 'rate_limit'
>

const withOwner = (db: Db) =>
  db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .selectAll('keypairs')
    .select('users.email as email')

export async function insertKeypair(db: Db, keypair: NewKeypair): Promise<void> {
  await db.insertInto('keypairs').values(keypair).execute()
}

export function findKeypair(db: Db, accessKey: string): Promise<KeypairRow | undefined> {
  return withOwner(db).where('access_key', '=', accessKey).executeTakeFirst()
}

/** In the order of access keys; `after` is the last one of the page before. */
export function listKeypairs(
  db: Db,
  filter: { ownerId?: UserId | undefined; limit: number; after?: string | undefined },
): Promise<KeypairRow[]> {
  let query = withOwner(db).orderBy('access_key').limit(filter.limit)
  if (filter.ownerId !== undefined) query = query.where('user_id', '=', filter.ownerId)
  if (filter.after !== undefined) query = query.where('access_key', '>', filter.after)
  return query.execute()
}

export async function updateKeypair(
  db: Db,
  accessKey: string,
  change: { active?: boolean; rate_limit?: number },
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await db.updateTable('keypairs').set(change).where('access_key', '=', accessKey).execute()
}

/** Fails with SQLSTATE 23503 while a session refers to it. */
export async function deleteKeypair(db: Db, accessKey: string): Promise<void> {
  await db.deleteFrom('keypairs').where('access_key', '=', accessKey).execute()
}
