import { type Selectable, sql } from 'kysely'
import { type Db } from '../schema.ts'
import { type RegistryImagesTable } from '../tables/images.ts'

export type RegistryImageRow = Selectable<RegistryImagesTable>

export interface NewRegistryImage {
  readonly registry: string
  readonly reference: string
  readonly digest: string
  readonly manifestDigest: string
  readonly architecture: string
  readonly sizeBytes: number
  readonly labels: Readonly<Record<string, string>>
}

/** Images that agents may pull, from active registries. @param registries only images of these; null = all */
export function listOfferedImages(
  db: Db,
  { registries, references }: { registries: readonly string[] | null; references?: readonly string[] | undefined },
): Promise<RegistryImageRow[]> {
  let query = db
    .selectFrom('registry_images')
    .innerJoin('registries', 'registries.name', 'registry_images.registry')
    .selectAll('registry_images')
    .where('registries.active', '=', true)
    .orderBy('reference')
  if (registries !== null) query = query.where(eb => eb('registry', '=', eb.fn.any(eb.val([...registries]))))
  if (references) query = query.where('reference', 'in', references)
  return query.execute()
}

/** The image that an active registry offers under this reference. */
export function findOfferedImage(db: Db, reference: string): Promise<RegistryImageRow | undefined> {
  return db
    .selectFrom('registry_images')
    .innerJoin('registries', 'registries.name', 'registry_images.registry')
    .selectAll('registry_images')
    .where('registries.active', '=', true)
    .where('reference', '=', reference)
    .executeTakeFirst()
}

/** Images that active registries offer under these references, each as the text `reference digest`. */
export async function readPullable(db: Db, wanted: readonly string[]): Promise<Set<string>> {
  const references = [...new Set(wanted)]
  if (references.length === 0) return new Set()
  const rows = await db
    .selectFrom('registry_images')
    .innerJoin('registries', 'registries.name', 'registry_images.registry')
    .select(['registry_images.reference', 'registry_images.digest'])
    .where('registries.active', '=', true)
    .where(eb => eb('reference', '=', eb.fn.any(eb.val(references))))
    .execute()
  return new Set(rows.map(({ reference, digest }) => `${reference} ${digest}`))
}

/** Manifest digests of the images that the last rescans found, by reference. */
export async function readManifestDigests(db: Db, registry: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('registry_images')
    .select(['reference', 'manifest_digest'])
    .where('registry', '=', registry)
    .execute()
  return new Map(rows.map(row => [row.reference, row.manifest_digest]))
}

/** Inserts or replaces an image. No-op if the registry was deleted meanwhile. */
export async function saveRegistryImage(db: Db, image: NewRegistryImage): Promise<void> {
  const values = {
    digest: image.digest,
    manifest_digest: image.manifestDigest,
    architecture: image.architecture,
    size_bytes: image.sizeBytes,
    labels: JSON.stringify(image.labels),
  }
  await sql`
    insert into registry_images (registry, reference, digest, manifest_digest, architecture, size_bytes, labels)
    select name, ${image.reference}, ${values.digest}, ${values.manifest_digest}, ${values.architecture},
      ${values.size_bytes}, ${values.labels}::jsonb
    from registries where name = ${image.registry}
    on conflict (registry, reference) do update set digest = excluded.digest, manifest_digest = excluded.manifest_digest,
      architecture = excluded.architecture, size_bytes = excluded.size_bytes, labels = excluded.labels, scanned_at = now()`.execute(
    db,
  )
}

export async function deleteRegistryImages(db: Db, registry: string, references: readonly string[]): Promise<number> {
  if (references.length === 0) return 0
  const { numDeletedRows } = await db
    .deleteFrom('registry_images')
    .where('registry', '=', registry)
    .where(eb => eb('reference', '=', eb.fn.any(eb.val([...references]))))
    .executeTakeFirst()
  return Number(numDeletedRows)
}
