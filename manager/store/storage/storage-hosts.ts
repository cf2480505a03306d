import { type Db } from '../schema.ts'

/** Marker of each storage host that was ever used, by its name. */
export async function readMarkers(db: Db): Promise<Map<string, string>> {
  const rows = await db.selectFrom('storage_hosts').select(['name', 'marker']).execute()
  return new Map(rows.map(({ name, marker }) => [name, marker]))
}

/** Stores the marker of a new storage host. @returns false if the name or the marker belongs to another storage host */
export async function insertStorageHost(db: Db, name: string, marker: string): Promise<boolean> {
  await db
    .insertInto('storage_hosts')
    .values({ name, marker })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return (await readMarkers(db)).get(name) === marker
}
