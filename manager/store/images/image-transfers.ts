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
