import { type Selectable, sql } from 'kysely'
import { defined } from '#base/defined'
import { type Db } from '../schema.ts'
import { type RegistriesTable } from '../tables/images.ts'

export type RegistryRow = Selectable<RegistriesTable> & { readonly images: number }

export interface NewRegistry {
  readonly name: string
  readonly url: string
  readonly projects: readonly string[]
  readonly username: string | null
  readonly sealedPassword: string | null
  readonly active: boolean
}

const withCount = (db: Db) =>
  db
    .selectFrom('registries')
    .selectAll('registries')
    .select(eb =>
      eb
        .selectFrom('registry_images')
        .whereRef('registry_images.registry', '=', 'registries.name')
        .select(inner => inner.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('images'),
    )

export function listRegistries(db: Db): Promise<RegistryRow[]> {
  return withCount(db).orderBy('name').execute()
}

export function findRegistry(db: Db, name: string): Promise<RegistryRow | undefined> {
  return withCount(db).where('name', '=', name).executeTakeFirst()
}

/** @returns false if a registry of this name exists */
export async function insertRegistry(db: Db, { projects, sealedPassword, ...rest }: NewRegistry): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('registries')
    .values({ ...rest, projects: JSON.stringify(projects), sealed_password: sealedPassword })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export async function updateRegistry(
  db: Db,
  name: string,
  { projects, sealedPassword, ...rest }: Partial<Omit<NewRegistry, 'name'>>,
): Promise<void> {
  await db
    .updateTable('registries')
    .set({
      ...rest,
      ...(projects === undefined ? {} : { projects: JSON.stringify(projects) }),
      ...defined({ sealed_password: sealedPassword }),
      version: sql`version + 1`,
    })
    .where('name', '=', name)
    .execute()
}

/** @returns false if no registry had this name */
export async function deleteRegistry(db: Db, name: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('registries').where('name', '=', name).executeTakeFirst()
  return numDeletedRows === 1n
}

export async function setScanned(db: Db, name: string): Promise<void> {
  await db
    .updateTable('registries')
    .set({ scanned_at: sql`now()`, version: sql`version + 1` })
    .where('name', '=', name)
    .execute()
}
