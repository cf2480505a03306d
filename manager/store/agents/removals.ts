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

/** Begins a removal, and takes the agent out of scheduling. @returns the row; undefined if the agent is unknown, revoked or leaves already */
export function beginRemoval(db: Db, id: AgentId, removal: AgentRemoval): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({ removal: JSON.stringify(removal), schedulable: false, row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .where(sql<boolean>`coalesce(removal->>'step', 'draining') = 'draining'`)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Lets a drained host leave, unless its removal was called off or its program is being replaced.
 * @returns the row; undefined if it does not leave
 */
export function beginLeaving(db: Db, id: AgentId, removal: AgentRemoval): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({ removal: JSON.stringify({ ...removal, step: 'leaving' }), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where(sql<boolean>`removal->>'step' = 'draining' and program_update->>'state' is distinct from 'updating'`)
    .returningAll()
    .executeTakeFirst()
}

/** Saves that a host has left, and what stays on it. The caller then deletes the agent. */
export async function saveLeft(db: Db, id: AgentId, removal: AgentRemoval): Promise<void> {
  await db
    .updateTable('agents')
    .set({ removal: JSON.stringify(removal), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .execute()
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
