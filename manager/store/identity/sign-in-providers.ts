import { type Selectable, sql } from 'kysely'
import { type SignInProviderSettings } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SignInProvidersTable } from '../tables/sign-in.ts'

export type SignInProviderRow = Selectable<SignInProvidersTable>

export function listSignInProviders(db: Db): Promise<SignInProviderRow[]> {
  return db
    .selectFrom('sign_in_providers')
    .selectAll()
    .orderBy(sql`lower(settings ->> 'name')`)
    .orderBy('id')
    .execute()
}

export function findSignInProvider(db: Db, id: string): Promise<SignInProviderRow | undefined> {
  return db.selectFrom('sign_in_providers').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Serialises changes of providers with changes of the setting that makes users depend on them. Call `lockSuperadmins` first where both are needed. */
export async function lockSignInProviders(trx: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:sign-in-providers', 0))`.execute(trx)
}

interface Kept {
  readonly settings: SignInProviderSettings
  /** Sealed; null for a public client. */
  readonly sealedSecret: string | null
}

/** @returns false if the id is taken */
export async function insertSignInProvider(trx: Db, id: string, { settings, sealedSecret }: Kept): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('sign_in_providers')
    .values({
      id,
      settings: JSON.stringify(settings),
      sealed_secret: sealedSecret,
      // Rights that an earlier provider with this id gave, and that are not yet taken back, are checked against the new mapping.
      mapping_version: sql<number>`1 + coalesce((select max(given_version) from sign_in_identities where given_by = ${id}), 0)`,
    })
    .onConflict(conflict => conflict.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** @param change `changesMapping`: the mapping may have given more rights before than it gives now */
export async function updateSignInProvider(
  trx: Db,
  id: string,
  { settings, sealedSecret, changesMapping }: Kept & { readonly changesMapping: boolean },
): Promise<void> {
  await trx
    .updateTable('sign_in_providers')
    .set({
      settings: JSON.stringify(settings),
      sealed_secret: sealedSecret,
      version: sql`version + 1`,
      mapping_version: sql`mapping_version + ${changesMapping ? 1 : 0}`,
    })
    .where('id', '=', id)
    .execute()
}

/** Sign-ins that have begun at the provider fail. @returns false if there is no such provider */
export async function deleteSignInProvider(trx: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('sign_in_providers').where('id', '=', id).executeTakeFirst()
  return numDeletedRows === 1n
}
