import { type Insertable, type Selectable } from 'kysely'
import { type Role, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type KeypairsTable } from '../tables/accounts.ts'

export type KeypairRow = Selectable<KeypairsTable> & {
  readonly email: string
  /** The owner's role. */
  readonly role: Role
  readonly domain: string
}
export type NewKeypair = Pick<
  Insertable<KeypairsTable>,
  'access_key' | 'user_id' | 'sealed_secret' | 'active' | 'rate_limit'
>

const withOwner = (db: Db) =>
  db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .selectAll('keypairs')
    .select(['users.email', 'users.role', 'users.domain'])

export async function insertKeypair(db: Db, keypair: NewKeypair): Promise<void> {
  await db.insertInto('keypairs').values(keypair).execute()
}

export function findKeypair(db: Db, accessKey: string): Promise<KeypairRow | undefined> {
  return withOwner(db).where('access_key', '=', accessKey).executeTakeFirst()
}

/** Keypairs ordered by access key; `after` is the last access key of the previous page. */
export function listKeypairs(
  db: Db,
  filter: {
    /** Keypairs of `ownerId` and, if `domain` is set, of all its users except superadmins; undefined for all keypairs. */
    visible?: { readonly ownerId: UserId; readonly domain?: string } | undefined
    limit: number
    after?: string | undefined
  },
): Promise<KeypairRow[]> {
  let query = withOwner(db).orderBy('access_key').limit(filter.limit)
  if (filter.visible !== undefined) {
    const { ownerId, domain } = filter.visible
    query = query.where(eb =>
      eb.or([
        eb('user_id', '=', ownerId),
        ...(domain === undefined
          ? []
          : [eb.and([eb('users.domain', '=', domain), eb('users.role', '<>', 'superadmin')])]),
      ]),
    )
  }
  if (filter.after !== undefined) query = query.where('access_key', '>', filter.after)
  return query.execute()
}

/** Deactivates all keypairs of a user: nothing can be opened with them any more. */
export async function deactivateKeypairs(db: Db, ownerId: UserId): Promise<void> {
  await db.updateTable('keypairs').set({ active: false }).where('user_id', '=', ownerId).execute()
}

/** All access keys of a user, active or not. */
export async function listAccessKeys(db: Db, ownerId: UserId): Promise<string[]> {
  const rows = await db
    .selectFrom('keypairs')
    .select('access_key')
    .where('user_id', '=', ownerId)
    .orderBy('access_key')
    .execute()
  return rows.map(row => row.access_key)
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
/** Locks the row: sign-ins with this keypair wait until the transaction ends. */
export async function lockKeypair(db: Db, accessKey: string): Promise<void> {
  await db.selectFrom('keypairs').select('access_key').where('access_key', '=', accessKey).forUpdate().execute()
}

/** Whether a keypair is active; it does not change until the transaction ends. */
export async function holdActiveKeypair(db: Db, accessKey: string): Promise<boolean> {
  const query = db.selectFrom('keypairs').select('active').where('access_key', '=', accessKey).forShare()
  return (await query.executeTakeFirst())?.active ?? false
}

export async function deleteKeypair(db: Db, accessKey: string): Promise<void> {
  await db.deleteFrom('keypairs').where('access_key', '=', accessKey).execute()
}
