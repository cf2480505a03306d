import { sql, type Selectable } from 'kysely'
import { type ResourceSlots } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type DomainsTable } from '../tables/identity.ts'

export type DomainRow = Selectable<DomainsTable>

/** By name. @param only the one domain that the caller may see */
export function listDomains(db: Db, only?: string): Promise<DomainRow[]> {
  const query = db.selectFrom('domains').selectAll().orderBy('name')
  return (only === undefined ? query : query.where('name', '=', only)).execute()
}

export function findDomain(db: Db, name: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('name', '=', name).executeTakeFirst()
}

/** Until the transaction ends it is not changed: whoever joins it now is of a domain that is still active. */
export function holdDomain(db: Db, name: string): Promise<DomainRow | undefined> {
  return db.selectFrom('domains').selectAll().where('name', '=', name).forShare().executeTakeFirst()
}

/** Limits in base units. */
export interface DomainSettings {
  readonly description?: string | undefined
  readonly limits?: ResourceSlots | undefined
  readonly allowedRegistries?: readonly string[] | null | undefined
  readonly active?: boolean | undefined
}

/** @returns undefined if there is one of this name (names differ by more than letter case) */
export function insertDomain(db: Db, name: string, settings: DomainSettings): Promise<DomainRow | undefined> {
  return db
    .insertInto('domains')
    .values({ name, ...columnsOf(settings) })
    .onConflict(conflict => conflict.expression(sql`lower(name)`).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** What is left out stays. @returns undefined if there is none of this name */
export function updateDomain(db: Db, name: string, settings: DomainSettings): Promise<DomainRow | undefined> {
  return db
    .updateTable('domains')
    .set({ ...columnsOf(settings), version: sql`version + 1` })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst()
}

function columnsOf({ description, limits, allowedRegistries, active }: DomainSettings) {
  return {
    ...(description === undefined ? {} : { description }),
    ...(limits === undefined ? {} : { limits: JSON.stringify(limits) }),
    ...(allowedRegistries === undefined ? {} : { allowed_registries: JSON.stringify(allowedRegistries) }),
    ...(active === undefined ? {} : { active }),
  }
}
