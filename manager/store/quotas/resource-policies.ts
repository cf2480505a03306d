import { sql, type Selectable } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type ResourcePoliciesTable } from '../tables/quotas.ts'

export type ResourcePolicyRow = Selectable<ResourcePoliciesTable>
export type CountedPolicyRow = ResourcePolicyRow & { readonly users: number; readonly keypairs: number }

/** Settings of a policy as they are stored: base units, null = unlimited. */
export type PolicySettings = Readonly<Omit<ResourcePolicyRow, 'name' | 'created_at' | 'version'>>

const counted = (db: Db) =>
  db
    .selectFrom('resource_policies as p')
    .selectAll('p')
    .select([
      sql<number>`(select count(*) from users where resource_policy = p.name)`.as('users'),
      sql<number>`(select count(*) from keypairs where resource_policy = p.name)`.as('keypairs'),
    ])

export function listResourcePolicies(db: Db): Promise<CountedPolicyRow[]> {
  return counted(db).orderBy('p.name').execute()
}

export function findResourcePolicy(db: Db, name: string): Promise<CountedPolicyRow | undefined> {
  return counted(db).where('p.name', '=', name).executeTakeFirst()
}

/** The policy of the user and, if there is a keypair, that of the keypair. */
export function listPoliciesOf(
  db: Db,
  { userId, keypair }: { userId: UserId; keypair: string | null },
): Promise<ResourcePolicyRow[]> {
  return db
    .selectFrom('resource_policies as p')
    .selectAll('p')
    .where(eb =>
      eb.or([
        eb('p.name', 'in', eb.selectFrom('users').select('resource_policy').where('id', '=', userId)),
        eb('p.name', 'in', eb.selectFrom('keypairs').select('resource_policy').where('access_key', '=', keypair)),
      ]),
    )
    .execute()
}

/** @returns false if a policy of this name exists */
export async function insertResourcePolicy(db: Db, name: string, settings: PolicySettings): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('resource_policies')
    .values({ name, ...columnsOf(settings) })
    .onConflict(conflict => conflict.column('name').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** @returns false if no policy has this name */
export async function updateResourcePolicy(db: Db, name: string, change: Partial<PolicySettings>): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('resource_policies')
    .set({ ...columnsOf(change), version: sql`version + 1` })
    .where('name', '=', name)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Fails with SQLSTATE 23503 while a user or keypair has the policy. @returns false if no policy has this name */
export async function deleteResourcePolicy(db: Db, name: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('resource_policies').where('name', '=', name).executeTakeFirst()
  return numDeletedRows === 1n
}

function columnsOf({
  limits,
  gpu_limits: gpus,
  allowed_storage_hosts: hosts,
  allowed_names: names,
  default_names: usual,
  ...numbers
}: Partial<PolicySettings>) {
  return {
    ...numbers,
    ...(limits === undefined ? {} : { limits: JSON.stringify(limits) }),
    ...(gpus === undefined ? {} : { gpu_limits: JSON.stringify(gpus) }),
    ...(hosts === undefined ? {} : { allowed_storage_hosts: JSON.stringify(hosts) }),
    ...(names === undefined ? {} : { allowed_names: names && JSON.stringify(names) }),
    ...(usual === undefined ? {} : { default_names: usual && JSON.stringify(usual) }),
  }
}

/**
 * Fails with SQLSTATE 23503 if there is no such policy. @returns the owner of the changed limits; undefined if there is no such user or
 * keypair
 */
export async function assignResourcePolicy(
  db: Db,
  name: string,
  to: { userId: UserId } | { accessKey: string },
): Promise<UserId | undefined> {
  const query =
    'userId' in to
      ? db
          .updateTable('users')
          .set({ resource_policy: name, version: sql`version + 1` })
          .where('id', '=', to.userId)
          .returning('id')
      : db
          .updateTable('keypairs')
          .set({ resource_policy: name })
          .where('access_key', '=', to.accessKey)
          .returning('user_id as id')
  return (await query.executeTakeFirst())?.id
}
