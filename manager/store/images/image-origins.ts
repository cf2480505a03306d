import { sql } from 'kysely'
import { DOCKER_HUB } from '#manager/contract'
import { type Db } from '../schema.ts'

/** A name of an image, with its id at the time of a session's request. */
export interface NamedImage {
  readonly reference: string
  readonly digest: string | null
}

export const imageKey = ({ reference, digest }: NamedImage) => `${reference} ${digest ?? ''}`

/**
 * Keys of the images that come from Docker Hub: because a registry in Berth offers them from there, or an engine reports that it pulled
 * them. Any other image without a host in its name was built on a host.
 */
export async function readImagesOfHub(db: Db, images: readonly NamedImage[]): Promise<Set<string>> {
  if (images.length === 0) return new Set()
  const { rows } = await sql<NamedImage>`
    select w.reference, w.digest
    from (select unnest(${images.map(({ reference }) => reference)}::text[]) as reference,
                 unnest(${images.map(({ digest }) => digest)}::text[]) as digest) w
    where exists (
      select from registry_images r
      where r.registry = ${DOCKER_HUB} and r.reference = w.reference and w.digest in (r.digest, r.manifest_digest))
    or exists (
      select from agent_images a, jsonb_array_elements_text(a.image -> 'repoDigests') pulled
      where a.digest = w.digest and starts_with(pulled, regexp_replace(w.reference, ':[^/:]+$', '') || '@'))`.execute(
    db,
  )
  return new Set(rows.map(imageKey))
}

/** Names of the registries whose images the users of each domain may launch; null = all. */
export async function readAllowedRegistries(
  db: Db,
  domains: readonly string[],
): Promise<Map<string, readonly string[] | null>> {
  if (domains.length === 0) return new Map()
  const rows = await db
    .selectFrom('domains')
    .select(['name', 'allowed_registries'])
    .where('name', 'in', domains)
    .execute()
  return new Map(rows.map(({ name, allowed_registries }) => [name, allowed_registries]))
}
