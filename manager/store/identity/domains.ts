import { sql, type Selectable } from 'kysely'
import { defined } from '#base/defined'
import { type ResourceSlots, type StoredGpuLimit } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type DomainsTable } from '../tables/identity.ts'

export type DomainRow = Selectable<DomainsTable>

/** Domains ordered by name. @param only the single domain that the caller may see; all if left out */
export function listDomains(db: Db, only?: string): Promise<DomainRow[]> {
  const query = db.selectFrom('domains').selectAll().orderBy('name')
  return (only === undefined ? query : query.where('name', '=', only)).execute()
}

export function findDomain(db: Db, name: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('name', '=', name).executeTakeFirst()
}

/**
 * Reads a domain under a share lock: nobody changes it until the transaction ends. A caller that checks `active` can rely
 * on it for users that it adds in this transaction.
 */
export function holdDomain(db: Db, name: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('name', '=', name).forShare().executeTakeFirst()
}

/** Limits in base units. */
export interface DomainSettings {
  readonly description?: string | undefined
  readonly limits?: ResourceSlots | undefined
  readonly gpuLimits?: readonly StoredGpuLimit[] | undefined
  readonly allowedRegistries?: readonly string[] | null | undefined
  /** Names that sessions may reach; null: everything. */
  readonly allowedNames?: readonly string[] | null | undefined
  /** Names that a session reaches whose launch chooses no network; null: as much as allowed. */
  readonly defaultNames?: readonly string[] | null | undefined
  readonly active?: boolean | undefined
}

/** @returns undefined if a domain of this name exists (letter case is ignored) */
export function insertDomain(db: Db, name: string, settings: DomainSettings): Promise<DomainRow | undefined> {
  return db
    .insertInto('domains')
    .values({ name, ...columnsOf(settings) })
    .onConflict(conflict => conflict.expression(sql`lower(name)`).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Fields that are left out keep their values. @returns undefined if no domain has this name */
export function updateDomain(db: Db, name: string, settings: DomainSettings): Promise<DomainRow | undefined> {
  return db
    .updateTable('domains')
    .set({ ...columnsOf(settings), version: sql`version + 1` })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst()
}

function columnsOf(settings: DomainSettings) {
  const { description, limits, gpuLimits, allowedRegistries, allowedNames, defaultNames, active } = settings
  return {
    ...defined({ description }),
    ...(limits === undefined ? {} : { limits: JSON.stringify(limits) }),
    ...(gpuLimits === undefined ? {} : { gpu_limits: JSON.stringify(gpuLimits) }),
    ...(allowedRegistries === undefined ? {} : { allowed_registries: JSON.stringify(allowedRegistries) }),
    ...(allowedNames === undefined ? {} : { allowed_names: allowedNames && JSON.stringify(allowedNames) }),
    ...(defaultNames === undefined ? {} : { default_names: defaultNames && JSON.stringify(defaultNames) }),
    ...defined({ active }),
  }
}
