import { type Selectable, sql } from 'kysely'
import { type Store } from '../open-store.ts'
import { type Db } from '../schema.ts'
import { type KeypairsTable, type UsersTable } from '../tables/accounts.ts'
import { ACCOUNT_HOLDS } from './users.ts'

/** A keypair with its user: the data for verifying a signature. */
export interface Signer {
  readonly keypair: Pick<Selectable<KeypairsTable>, 'access_key' | 'sealed_secret' | 'active' | 'waits' | 'rate_limit'>
  readonly user: Selectable<UsersTable>
  readonly domainActive: boolean
}

export async function findSigner(db: Db, accessKey: string): Promise<Signer | undefined> {
  return (await findSigners(db, [accessKey])).get(accessKey)
}

/** The keypairs of these access keys, by access key. */
export async function findSigners(db: Db, accessKeys: readonly string[]): Promise<ReadonlyMap<string, Signer>> {
  const rows = await db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .innerJoin('domains', 'domains.name', 'users.domain')
    .selectAll('users')
    .select([
      'keypairs.access_key',
      'keypairs.sealed_secret',
      'keypairs.active as keypair_active',
      'keypairs.waits',
      'keypairs.rate_limit',
    ])
    .select('domains.active as domain_active')
    .where('keypairs.access_key', 'in', accessKeys)
    .execute()
  return new Map(rows.map(row => [row.access_key, signerOf(row)]))
}

function signerOf({
  access_key,
  sealed_secret,
  keypair_active,
  waits,
  rate_limit,
  domain_active,
  ...user
}: SignerRow): Signer {
  return {
    keypair: { access_key, sealed_secret, active: keypair_active, waits, rate_limit },
    user,
    domainActive: domain_active,
  }
}

type SignerRow = Selectable<UsersTable> &
  Pick<Selectable<KeypairsTable>, 'access_key' | 'sealed_secret' | 'waits' | 'rate_limit'> & {
    readonly keypair_active: boolean
    readonly domain_active: boolean
  }

/** Filters access keys: keeps those that are active, with an active user and domain. */
export async function listUsableKeypairs(db: Db, accessKeys: readonly string[]): Promise<Set<string>> {
  if (accessKeys.length === 0) return new Set()
  const rows = await db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .select('access_key')
    .where('access_key', 'in', accessKeys)
    .where('keypairs.active', '=', true)
    .where(ACCOUNT_HOLDS)
    .execute()
  return new Set(rows.map(row => row.access_key))
}

/** Consumes a nonce. @returns false if it was consumed before: of two concurrent requests, one succeeds */
export async function takeNonce(db: Db, accessKey: string, nonce: string, expiresAt: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('keypair_nonces')
    .values({ access_key: accessKey, nonce, expires_at: expiresAt })
    .onConflict(conflict => conflict.columns(['access_key', 'nonce']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export interface RequestCount {
  readonly accessKey: string
  /** Start of the minute. */
  readonly minute: Date
  readonly requests: number
}

/** Adds to the counts of all managers and records the use. Deleted keypairs are skipped. */
export async function addRequests(store: Store, counts: readonly RequestCount[]): Promise<void> {
  const keys = counts.map(count => count.accessKey)
  const minutes = counts.map(count => count.minute)
  const requests = counts.map(count => count.requests)
  await store.transaction(async trx => {
    // All code locks these rows in the same order, so that two managers do not deadlock.
    await sql`
      insert into keypair_requests (access_key, minute, requests)
      select access_key, v.minute, v.requests
      from unnest(${keys}::text[], ${minutes}::timestamptz[], ${requests}::int[]) as v (access_key, minute, requests)
      join keypairs using (access_key)
      order by 1, 2
      on conflict (access_key, minute)
        do update set requests = keypair_requests.requests + excluded.requests`.execute(trx)
    await sql`
      update keypairs set last_used_at = now()
      where access_key in (
        select access_key from keypairs where access_key = any(${keys}::text[]) order by access_key for update
      )`.execute(trx)
  })
}

/** Counts of the minutes that begin after `since`. */
export async function readRequests(
  db: Db,
  accessKey: string,
  since: Date,
): Promise<{ minute: Date; requests: number }[]> {
  return db
    .selectFrom('keypair_requests')
    .select(['minute', 'requests'])
    .where('access_key', '=', accessKey)
    .where('minute', '>', since)
    .execute()
}
