import { sql } from 'kysely'
import { type AgentId, LIVE_STATUSES } from '#manager/contract'
import { type AgentImage } from '#agent/contract'
import { type Db } from '../schema.ts'

export interface HeldImage {
  readonly agentId: AgentId
  readonly image: AgentImage
}

/**
 * Every image on every agent that is not revoked. Copies of an image come in the order in which their agents joined; copies with equal
 * descriptions come together and share one description, which the database sends once.
 * @param agentId the images on this agent only
 */
export async function listHeldImages(db: Db, agentId?: AgentId): Promise<HeldImage[]> {
  const [{ rows }, agents] = await Promise.all([
    // In the order of an index: sorting the copies of a thousand agents would take most of the time.
    sql<{ digest: string; image: AgentImage; holders: AgentId[] }>`
      select digest, holders, (select image from agent_images held where held.agent_id = holders[1] and held.digest = alike.digest) as image
      from (
        select digest, described, array_agg(agent_id) as holders from agent_images
        where ${agentId === undefined ? sql`true` : sql`agent_id = ${agentId}`} group by digest, described
      ) alike`.execute(db),
    db
      .selectFrom('agents')
      .select('id')
      .where('status', '<>', 'REVOKED')
      .$if(agentId !== undefined, query => query.where('id', '=', agentId as AgentId))
      .orderBy('joined_at')
      .orderBy('id')
      .execute(),
  ])
  const ranks = new Map(agents.map(({ id }, rank) => [id, rank]))
  const rankOf = (id: AgentId | undefined) => (id && ranks.get(id)) ?? Number.POSITIVE_INFINITY
  const groups = rows.map(({ digest, image, holders }) => {
    const known = holders.filter(id => ranks.has(id)).toSorted((a, b) => rankOf(a) - rankOf(b))
    return { digest, image, holders: known, rank: rankOf(known[0]) }
  })
  return groups
    .toSorted((a, b) => (a.digest === b.digest ? a.rank - b.rank : a.digest < b.digest ? -1 : 1))
    .flatMap(({ image, holders }) => holders.map(agentId => ({ agentId, image })))
}

/** Number of unrevoked agents that hold each image of this agent, by digest. */
export async function countHolders(db: Db, agentId: AgentId): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('agent_images')
    .innerJoin('agents', 'agents.id', 'agent_images.agent_id')
    .select(({ fn }) => ['agent_images.digest', fn.countAll<number>().as('holders')])
    .where('agents.status', '<>', 'REVOKED')
    .where('agent_images.digest', 'in', db.selectFrom('agent_images').select('digest').where('agent_id', '=', agentId))
    .groupBy('agent_images.digest')
    .execute()
  return new Map(rows.map(({ digest, holders }) => [digest, holders]))
}

/** The agent's description of its copy of an image; undefined if it has none. */
export async function findHeldImage(db: Db, agentId: AgentId, digest: string): Promise<AgentImage | undefined> {
  const row = await db
    .selectFrom('agent_images')
    .select('image')
    .where('agent_id', '=', agentId)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row?.image
}

/** Digests of the images on each agent. */
export async function readImageDigests(db: Db, agentIds: readonly AgentId[]): Promise<Map<AgentId, Set<string>>> {
  const held = new Map<AgentId, Set<string>>(agentIds.map(id => [id, new Set<string>()]))
  if (agentIds.length === 0) return held
  const rows = await db
    .selectFrom('agent_images')
    .select(['agent_id', 'digest'])
    .where('agent_id', '=', sql<AgentId>`any(${agentIds}::uuid[])`)
    .execute()
  for (const { agent_id, digest } of rows) held.get(agent_id)?.add(digest)
  return held
}

/**
 * Processor architectures of images, by digest. If agents and registries disagree about an image, it is left out: it exists for several
 * architectures, or an agent is wrong, and then sessions must not be kept from other hosts.
 */
export async function readArchitectures(db: Db, wanted: readonly string[]): Promise<Map<string, string>> {
  const digests = [...new Set(wanted)]
  if (digests.length === 0) return new Map()
  // Equal descriptions of copies count once, before they are parsed.
  const { rows } = await sql<{ digest: string; architecture: string }>`
    select digest, min(architecture) as architecture from (
      select digest, image ->> 'architecture' as architecture from (
        select distinct on (digest, described) digest, described, image from agent_images
        where digest = any(${digests}::text[]) order by digest, described
      ) alike
      union all
      select digest, architecture from registry_images where digest = any(${digests}::text[])
    ) told where architecture is not null
    group by digest having count(distinct architecture) = 1`.execute(db)
  return new Map(rows.map(({ digest, architecture }) => [digest, architecture]))
}

/** Number of images that one statement writes: some hundred kilobytes. */
const IMAGES_AT_ONCE = 500

/**
 * Replaces the list of images on an agent. Rows of unchanged images are not written.
 * @param digest digest of the list; callers compare it to skip writing an equal list the next time
 */
export async function replaceImages(
  db: Db,
  agentId: AgentId,
  images: readonly AgentImage[],
  digest: string | null = null,
): Promise<void> {
  await db.updateTable('agents').set({ images_digest: digest }).where('id', '=', agentId).execute()
  const unique = [...new Map(images.map(image => [image.id, image])).values()]
  await sql`delete from agent_images as held where agent_id = ${agentId}
    and not exists (select from unnest(${unique.map(({ id }) => id)}::text[]) as told (digest) where told.digest = held.digest)`.execute(
    db,
  )
  for (let at = 0; at < unique.length; at += IMAGES_AT_ONCE) {
    const some = unique.slice(at, at + IMAGES_AT_ONCE)
    // The images are passed as two array parameters, because a statement takes at most 65,535 parameters.
    const digests = some.map(({ id }) => id)
    const texts = some.map(image => JSON.stringify(image))
    await sql`insert into agent_images as held (agent_id, digest, image, described)
      select ${agentId}::uuid, digest, image::jsonb, sha256(convert_to(image::jsonb::text, 'UTF8'))
      from unnest(${digests}::text[], ${texts}::text[]) as told (digest, image)
      on conflict (agent_id, digest) do update set image = excluded.image, described = excluded.described
      where held.described is distinct from excluded.described`.execute(db)
  }
}

/** Image of a live session, and the agent of one of its kernels; `agentId` is null if the kernel is not placed yet. */
export interface ImageInUse {
  readonly agentId: AgentId | null
  readonly digest: string | null
  readonly reference: string
}

/** Images that a clean-up must keep. */
export function listImagesInUse(db: Db): Promise<ImageInUse[]> {
  return db
    .selectFrom('sessions')
    .innerJoin('kernels', 'kernels.session_id', 'sessions.id')
    .select(['kernels.agent_id as agentId', 'sessions.image_digest as digest', 'sessions.image as reference'])
    .distinct()
    .where('sessions.status', 'in', LIVE_STATUSES)
    .execute()
}
