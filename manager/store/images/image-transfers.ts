import { sql } from 'kysely'
import { z } from 'zod'
import { type AgentId, IMAGE_TRANSFERS } from '#manager/contract'
import { readSystemSettings } from '../operation/system-settings.ts'
import { type Db } from '../schema.ts'

const Mode = z.object({ imageTransfers: z.enum(IMAGE_TRANSFERS) })

/** The images that agents take from each other. No setting, or one that this version does not know, means none. */
export async function readImageTransfers(db: Db): Promise<(typeof IMAGE_TRANSFERS)[number]> {
  const { system } = await readSystemSettings(db)
  return Mode.safeParse(system).data?.imageTransfers ?? 'never'
}

/** The unrevoked agents that hold each of these images, by digest. */
export async function readHolders(db: Db, wanted: readonly string[]): Promise<Map<string, AgentId[]>> {
  const digests = [...new Set(wanted)]
  if (digests.length === 0) return new Map()
  const rows = await db
    .selectFrom('agent_images')
    .innerJoin('agents', 'agents.id', 'agent_images.agent_id')
    .select(['agent_images.digest', 'agent_images.agent_id'])
    .where('agents.status', '<>', 'REVOKED')
    .where(eb => eb('agent_images.digest', '=', eb.fn.any(eb.val(digests))))
    .orderBy('agents.joined_at')
    .orderBy('agents.id')
    .execute()
  const grouped = Map.groupBy(rows, ({ digest }) => digest)
  return new Map([...grouped].map(([digest, held]) => [digest, held.map(({ agent_id }) => agent_id)]))
}

/** An image, and the name by which a session asks for it. */
export interface NamedImage {
  readonly reference: string
  readonly digest: string
}

export const namedKey = ({ reference, digest }: NamedImage) => `${reference} ${digest}`

/**
 * Images among these whose name means another image elsewhere: an active registry offers another one under it, or, if none does,
 * another unrevoked agent holds another one.
 *
 * @returns keys by `namedKey`
 */
export async function readDisputed(db: Db, wanted: readonly NamedImage[]): Promise<ReadonlySet<string>> {
  const references = [...new Set(wanted.map(({ reference }) => reference))]
  if (references.length === 0) return new Set()
  const [offered, { rows: held }] = await Promise.all([
    db
      .selectFrom('registry_images')
      .innerJoin('registries', 'registries.name', 'registry_images.registry')
      .select(['reference', 'digest', 'manifest_digest'])
      .where('registries.active', '=', true)
      .where(eb => eb('reference', '=', eb.fn.any(eb.val(references))))
      .execute(),
    // Steps from one description to the next in an index: a thousand hosts have two hundred thousand copies of a few hundred images.
    sql<NamedImage>`
      with recursive alike as (
        (select digest, described, agent_id from agent_images order by digest, described limit 1)
        union all
        select next.* from alike cross join lateral (
          select digest, described, agent_id from agent_images
          where (digest, described) > (alike.digest, alike.described) order by digest, described limit 1
        ) next
      )
      select distinct name as reference, alike.digest
      from alike join agent_images one using (agent_id, digest), jsonb_array_elements_text(one.image -> 'references') as name
      where name = any(${references}::text[]) and exists (
        select from agent_images held join agents on agents.id = held.agent_id
        where held.digest = alike.digest and held.described = alike.described and agents.status <> 'REVOKED')`.execute(
      db,
    ),
  ])
  const byRegistry = Map.groupBy(offered, ({ reference }) => reference)
  const byAgents = Map.groupBy(held, ({ reference }) => reference)
  const isDisputed = ({ reference, digest }: NamedImage) => {
    const known = byRegistry.get(reference)
    if (known) return !known.some(image => image.digest === digest || image.manifest_digest === digest)
    return (byAgents.get(reference) ?? []).some(image => image.digest !== digest)
  }
  return new Set(wanted.filter(isDisputed).map(namedKey))
}
