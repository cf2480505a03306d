import { sql } from 'kysely'
import { type AgentId, type AgentRemoval } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type AgentRow } from './agents.ts'

/** Agents whose hosts leave. */
export function listLeaving(db: Db): Promise<AgentRow[]> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('status', '<>', 'REVOKED')
    .where('removal', 'is not', null)
    .orderBy('id')
    .execute()
}

/** Begins a removal, and takes the agent out of scheduling. @returns the row; undefined if the agent is unknown or revoked */
export function beginRemoval(db: Db, id: AgentId, removal: AgentRemoval): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({ removal: JSON.stringify(removal), schedulable: false, row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .where(sql<boolean>`removal->>'step' is distinct from 'leaving'`)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Changes a removal, if it is at this step still.
 * @returns the row; undefined if the removal has changed meanwhile
 */
export function setRemoval(
  db: Db,
  id: AgentId,
  step: AgentRemoval['step'],
  removal: AgentRemoval | null,
): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({ removal: removal && JSON.stringify(removal), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where(sql<boolean>`removal->>'step' = ${step}`)
    .returningAll()
    .executeTakeFirst()
}
