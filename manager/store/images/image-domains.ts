import { type Db } from '../schema.ts'

/** The domains that may use an image, by reference. Images without an entry are for all domains. */
export async function readImageDomains(db: Db): Promise<Map<string, readonly string[]>> {
  const rows = await db.selectFrom('image_domains').select(['reference', 'domains']).execute()
  return new Map(rows.map(({ reference, domains }) => [reference, domains]))
}

/** @param domains null: all domains may use the image */
export async function setImageDomains(db: Db, reference: string, domains: readonly string[] | null): Promise<void> {
  if (domains === null) {
    await db.deleteFrom('image_domains').where('reference', '=', reference).execute()
    return
  }
  await db
    .insertInto('image_domains')
    .values({ reference, domains: [...domains] })
    .onConflict(conflict => conflict.column('reference').doUpdateSet({ domains: [...domains] }))
    .execute()
}

/** Limits a copy of an image to the domains that may launch the image, and to those that it has itself. */
export async function limitCopyToDomains(db: Db, origin: readonly string[], copy: string): Promise<void> {
  const own = (await readImageDomains(db)).get(copy)
  await setImageDomains(db, copy, own ? own.filter(domain => origin.includes(domain)) : origin)
}
