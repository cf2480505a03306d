import { type Db } from '../schema.ts'

export interface ImageAliasRow {
  readonly alias: string
  readonly reference: string
}

/** All aliases, by name. */
export function listImageAliases(db: Db): Promise<ImageAliasRow[]> {
  return db.selectFrom('image_aliases').select(['alias', 'reference']).orderBy('alias').execute()
}

/** Resolves an alias; a name that is no alias is returned unchanged. */
export async function resolveImageAlias(db: Db, name: string): Promise<string> {
  const row = await db.selectFrom('image_aliases').select('reference').where('alias', '=', name).executeTakeFirst()
  return row?.reference ?? name
}

/** @returns the image of the alias now: a different one than requested if the alias existed */
export async function putImageAlias(db: Db, { alias, reference }: ImageAliasRow): Promise<string> {
  await db
    .insertInto('image_aliases')
    .values({ alias, reference })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return resolveImageAlias(db, alias)
}

/** @returns whether there was such an alias */
export async function deleteImageAlias(db: Db, alias: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('image_aliases').where('alias', '=', alias).executeTakeFirst()
  return numDeletedRows === 1n
}
