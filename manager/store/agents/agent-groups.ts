import { sql } from 'kysely'
import { type AgentId, OCCUPYING_STATUSES } from '#manager/contract'
import { lockResourceGroup } from '../quotas/resource-groups.ts'
import { type Db } from '../schema.ts'
import { type AgentRow } from './agents.ts'

/**
 * Locks the resource group of an agent, and keeps the agent in it, until the transaction ends. Every transaction locks the
 * agent before the group.
 *
 * @returns its resource group; undefined for an unknown agent
 */
export async function lockGroupOfAgent(trx: Db, id: AgentId): Promise<string | undefined> {
  const row = await trx.selectFrom('agents').select('resource_group').where('id', '=', id).forShare().executeTakeFirst()
  if (row) await lockResourceGroup(trx, row.resource_group)
  return row?.resource_group
}

/** Names of sessions with kernels on the agent that occupy it, also of those that are ending. */
export async function listOccupants(db: Db, id: AgentId): Promise<string[]> {
  const rows = await db
    .selectFrom('kernels as k')
    .innerJoin('sessions as s', 's.id', 'k.session_id')
    .select('s.name')
    .distinct()
    .where('k.agent_id', '=', id)
    .where('k.status', 'in', OCCUPYING_STATUSES)
    .orderBy('s.name')
    .execute()
  return rows.map(({ name }) => name)
}

/** Changes the resource group of an agent. A reservation of its old group on it ends: the next plan makes a new one. */
export async function setResourceGroup(trx: Db, id: AgentId, resourceGroup: string): Promise<AgentRow | undefined> {
  await trx.deleteFrom('reservations').where('agent_id', '=', id).execute()
  return trx
    .updateTable('agents')
    .set({ resource_group: resourceGroup, row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
