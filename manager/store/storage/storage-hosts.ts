import { sql } from 'kysely'
import { type Db } from '../schema.ts'

/** Marker of each storage host that was ever used, by its name. */
export async function readMarkers(db: Db): Promise<Map<string, string>> {
  const rows = await db.selectFrom('storage_hosts').select(['name', 'marker']).execute()
  return new Map(rows.map(({ name, marker }) => [name, marker]))
}

/** Whether the storage host keeps folders, including those that are being deleted. */
export async function hasFolders(db: Db, name: string): Promise<boolean> {
  const row = await db.selectFrom('folders').select('id').where('storage_host', '=', name).limit(1).executeTakeFirst()
  return row !== undefined
}

/**
 * Stores the marker of a storage host that is new, or that keeps no folders.
 * @returns false if the host keeps folders under another marker, or if the marker belongs to another storage host
 */
export async function setMarker(db: Db, name: string, marker: string): Promise<boolean> {
  await db
    .insertInto('storage_hosts')
    .values({ name, marker })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  await db
    .updateTable('storage_hosts')
    .set({ marker })
    .where('name', '=', name)
    .where(sql<boolean>`not exists (select from folders where storage_host = ${name})`)
    .where(sql<boolean>`not exists (select from storage_hosts other where other.marker = ${marker}::uuid)`)
    .execute()
  return (await readMarkers(db)).get(name) === marker
}
