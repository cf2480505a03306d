import { sql } from 'kysely'
import { type AgentId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type ProgramUpdate } from '../tables/agents.ts'
import { type AgentRow } from './agents.ts'

/** The program that agents get. */
export interface TargetProgram {
  readonly version: string
  /** Digest of its files, hexadecimal. */
  readonly digest: string
}

export async function findTarget(db: Db): Promise<TargetProgram | undefined> {
  return db.selectFrom('agent_target').select(['version', 'digest']).executeTakeFirst()
}

/** The fields of an agent on which its update depends. */
export type AgentProgramRow = Pick<
  AgentRow,
  'id' | 'name' | 'status' | 'version' | 'program' | 'program_update' | 'removal' | 'row_version'
>

/** Programs of all agents that are not revoked, in the order in which they joined. */
export function listPrograms(db: Db): Promise<AgentProgramRow[]> {
  return db
    .selectFrom('agents')
    .select(['id', 'name', 'status', 'version', 'program', 'program_update', 'removal', 'row_version'])
    .where('status', '<>', 'REVOKED')
    .orderBy('joined_at')
    .orderBy('id')
    .execute()
}

/** Name of the first agent whose update to this program has failed. */
export async function findFailedUpdate(db: Db, digest: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('agents')
    .select('name')
    .where('status', '<>', 'REVOKED')
    .where(sql<boolean>`program_update->>'state' = 'failed' and program_update->>'digest' = ${digest}`)
    .orderBy('joined_at')
    .executeTakeFirst()
  return row?.name
}

/** @returns whether it is another one than before */
export async function saveTarget(db: Db, target: TargetProgram): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('agent_target')
    .values({ one: true, ...target })
    .onConflict(conflict =>
      conflict
        .column('one')
        .doUpdateSet(target)
        .where(eb =>
          eb.or([eb('agent_target.digest', '<>', target.digest), eb('agent_target.version', '<>', target.version)]),
        ),
    )
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Begins an update, unless another one is in progress, for a second manager may believe that it leads, or the host leaves.
 * @returns the new row version; undefined if it did not begin
 */
export async function beginUpdate(
  db: Db,
  id: AgentId,
  update: Extract<ProgramUpdate, { state: 'updating' }>,
): Promise<number | undefined> {
  // All who begin take turns here.
  await db.selectFrom('agent_target').select('one').forUpdate().execute()
  const row = await db
    .updateTable('agents')
    .set({ program_update: JSON.stringify(update), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .where('removal', 'is', null)
    .where(
      sql<boolean>`not exists (select from agents other where other.status <> 'REVOKED' and other.program_update->>'state' = 'updating')`,
    )
    .returning('row_version')
    .executeTakeFirst()
  return row?.row_version
}

/**
 * Replaces what is known of an update, if that is still the case.
 * @param before id of the update in progress; null: none is in progress
 * @returns the new row version; undefined if it has changed meanwhile
 */
export async function setUpdate(
  db: Db,
  id: AgentId,
  before: string | null,
  update: ProgramUpdate | null,
): Promise<number | undefined> {
  const row = await db
    .updateTable('agents')
    .set({ program_update: update && JSON.stringify(update), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .where(
      before === null
        ? sql<boolean>`program_update->>'state' is distinct from 'updating'`
        : sql<boolean>`program_update->>'state' = 'updating' and program_update->>'id' = ${before}`,
    )
    .returning('row_version')
    .executeTakeFirst()
  return row?.row_version
}
