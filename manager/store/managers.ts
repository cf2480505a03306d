import { sql } from 'kysely'
import { type AgentId } from '#manager/contract'
import { type Db } from './schema.ts'

export interface ManagerRow {
  readonly id: string
  readonly url: string
  readonly version: string
  readonly startedAt: Date
  /** Since its last sign of life, by the clock of the database. */
  readonly silentMs: number
}

/** Says that the process lives. @returns whether it was not in the table (any more) */
export async function saveManager(db: Db, manager: { id: string; url: string; version: string }): Promise<boolean> {
  const { rows } = await sql<{ inserted: boolean }>`
    insert into managers (id, advertise_url, version) values (${manager.id}, ${manager.url}, ${manager.version})
    on conflict (id) do update set seen_at = now(), advertise_url = excluded.advertise_url
    returning xmax = 0 as inserted`.execute(db)
  return rows[0]?.inserted ?? false
}

/** Oldest first. */
export async function listManagers(db: Db): Promise<ManagerRow[]> {
  const { rows } = await sql<ManagerRow>`
    select id, advertise_url as url, version, started_at as "startedAt",
           (extract(epoch from now() - seen_at) * 1000)::bigint as "silentMs"
    from managers order by started_at, id`.execute(db)
  return rows
}

/** Its links to agents go with it. @returns false if somebody else was quicker */
export async function deleteManager(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('managers').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends the session that holds the locks of a process which hangs but still has its connection. */
export async function endSessionsNamed(db: Db, applicationName: string): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = ${applicationName} and datname = current_database() and usename = current_user`.execute(db)
}

/** Makes the table say exactly that this manager has control connections to these agents. */
export async function saveAgentLinks(db: Db, managerId: string, agentIds: readonly AgentId[]): Promise<void> {
  await sql`
    delete from agent_links where manager_id = ${managerId} and agent_id <> all(${agentIds}::uuid[])`.execute(db)
  await sql`
    insert into agent_links (agent_id, manager_id)
    select a.id, m.id from agents a, managers m where a.id = any(${agentIds}::uuid[]) and m.id = ${managerId}
    on conflict do nothing`.execute(db)
}

/** Agents that have a control connection to another manager than this. */
export async function listLinkedElsewhere(db: Db, managerId: string): Promise<AgentId[]> {
  const rows = await db
    .selectFrom('agent_links')
    .select('agent_id')
    .distinct()
    .where('manager_id', '<>', managerId)
    .execute()
  return rows.map(row => row.agent_id)
}

/** Agents that the database believes connected although no manager has a connection to them. */
export async function listUnlinked(db: Db): Promise<AgentId[]> {
  const rows = await db
    .selectFrom('agents')
    .select('id')
    .where('status', '=', 'CONNECTED')
    .where(eb =>
      eb.not(
        eb.exists(eb.selectFrom('agent_links').select('agent_id').whereRef('agent_links.agent_id', '=', 'agents.id')),
      ),
    )
    .execute()
  return rows.map(row => row.id)
}
