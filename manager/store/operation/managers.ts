import { sql } from 'kysely'
import { type AgentId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface ManagerRow {
  readonly id: string
  readonly url: string
  readonly version: string
  readonly startedAt: Date
  readonly seenAt: Date
  readonly clockAheadMs: number
  /** Time since the last heartbeat, by the clock of the database. */
  readonly silentMs: number
}

/** A manager that is silent for longer counts as gone. */
export const MANAGER_GONE_MS = 15_000

/** Records a heartbeat of a manager process. @returns true if it was not in the table (new, or removed meanwhile) */
export async function saveManager(db: Db, manager: { id: string; url: string; version: string }): Promise<boolean> {
  // oxlint-disable-next-line berth/clock -- measures how far the clock of this process is off
  const clockMs = Date.now()
  const { rows } = await sql<{ inserted: boolean }>`
    insert into managers (id, advertise_url, version, clock_ahead_ms)
    values (${manager.id}, ${manager.url}, ${manager.version},
            round(${clockMs}::bigint - extract(epoch from clock_timestamp()) * 1000))
    on conflict (id) do update set seen_at = now(), advertise_url = excluded.advertise_url,
      clock_ahead_ms = excluded.clock_ahead_ms
    returning xmax = 0 as inserted`.execute(db)
  return rows[0]?.inserted ?? false
}

/** Oldest first. */
export async function listManagers(db: Db): Promise<ManagerRow[]> {
  const { rows } = await sql<ManagerRow>`
    select id, advertise_url as url, version, started_at as "startedAt", seen_at as "seenAt",
           clock_ahead_ms as "clockAheadMs", (extract(epoch from now() - seen_at) * 1000)::bigint as "silentMs"
    from managers order by started_at, id`.execute(db)
  return rows
}

export interface LinkCounts {
  readonly id: string
  readonly agents: number
  readonly via: number
  /**
   * Agents that are connected to other managers but not to this one. Only links older than `settledMs` count, and only if this manager has
   * also been running for longer.
   */
  readonly missing: number
}

export async function countLinks(db: Db, settledMs: number): Promise<LinkCounts[]> {
  const { rows } = await sql<LinkCounts>`
    select m.id, (select count(*) from agent_links l where l.manager_id = m.id) as agents,
      (select count(l.via) from agent_links l where l.manager_id = m.id) as via,
      (select count(distinct o.agent_id) from agent_links o
       where o.manager_id <> m.id and greatest(o.since, m.started_at) < now() - ${settledMs} * interval '1 millisecond'
         and not exists (select from agent_links l where l.manager_id = m.id and l.agent_id = o.agent_id)) as missing
    from managers m`.execute(db)
  return rows
}

/** Holders of the locks `pg_try_advisory_lock(hashtextextended(text, 0))`, as the `application_name` of their sessions. */
export async function listLockHolders(
  db: Db,
  texts: readonly string[],
): Promise<{ readonly text: string; readonly holder: string }[]> {
  const { rows } = await sql<{ text: string; holder: string }>`
    select t.text, a.application_name as holder
    from unnest(${texts}::text[]) as t (text)
    join pg_locks l on l.locktype = 'advisory' and l.objsubid = 1 and l.granted
      and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(t.text, 0)
      and l.database = (select oid from pg_database where datname = current_database())
    join pg_stat_activity a on a.pid = l.pid
    order by 1`.execute(db)
  return rows
}

export interface AgentLinkRow {
  readonly agentId: AgentId
  readonly id: string
  readonly url: string
  readonly via: string | null
}

/** The links of these agents, those of the oldest manager first. */
export async function listAgentLinks(db: Db, agentIds: readonly AgentId[]): Promise<AgentLinkRow[]> {
  const { rows } = await sql<AgentLinkRow>`
    select l.agent_id as "agentId", m.id, m.advertise_url as url, v.advertise_url as via
    from agent_links l join managers m on m.id = l.manager_id left join managers v on v.id = l.via
    where l.agent_id = any(${agentIds}::uuid[]) order by m.started_at, m.id`.execute(db)
  return rows
}

/** Deletes a manager with its links to agents. @returns false if another process has deleted it already */
export async function deleteManager(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('managers').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends the database sessions of a process that hangs while connected, which releases its locks. */
export async function endSessionsNamed(db: Db, applicationName: string): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = ${applicationName} and datname = current_database() and usename = current_user`.execute(db)
}

/** Replaces the list of this manager's control connections. `links`: per agent the relaying manager, null if direct. */
export async function replaceAgentLinks(
  db: Db,
  managerId: string,
  links: ReadonlyMap<AgentId, string | null>,
): Promise<void> {
  await sql`
    delete from agent_links where manager_id = ${managerId} and agent_id <> all(${[...links.keys()]}::uuid[])`.execute(
    db,
  )
  await writeLinks(db, managerId, links)
}

/** Writes the control connections of this manager to some agents: per agent the relaying manager, null if direct, undefined without one. */
export async function changeAgentLinks(
  db: Db,
  managerId: string,
  changes: ReadonlyMap<AgentId, string | null | undefined>,
): Promise<void> {
  const ended = [...changes].flatMap(([id, via]) => (via === undefined ? [id] : []))
  if (ended.length > 0)
    await sql`delete from agent_links where manager_id = ${managerId} and agent_id = any(${ended}::uuid[])`.execute(db)
  const links = new Map([...changes].flatMap(([id, via]) => (via === undefined ? [] : [[id, via] as const])))
  if (links.size > 0) await writeLinks(db, managerId, links)
}

async function writeLinks(db: Db, managerId: string, links: ReadonlyMap<AgentId, string | null>): Promise<void> {
  await sql`
    insert into agent_links (agent_id, manager_id, via)
    select a.id, m.id, l.via from unnest(${[...links.keys()]}::uuid[], ${[...links.values()]}::uuid[]) as l (id, via)
    join agents a on a.id = l.id join managers m on m.id = ${managerId}
    on conflict (agent_id, manager_id) do update set via = excluded.via, since = now()
    where agent_links.via is distinct from excluded.via`.execute(db)
}

/** Agents that have a control connection to a manager other than this one. @param ids all agents if left out */
export async function listLinkedElsewhere(db: Db, managerId: string, ids?: readonly AgentId[]): Promise<AgentId[]> {
  const rows = await db
    .selectFrom('agent_links')
    .select('agent_id')
    .distinct()
    .where('manager_id', '<>', managerId)
    .$if(ids !== undefined, query => query.where('agent_id', '=', sql<AgentId>`any(${ids}::uuid[])`))
    .execute()
  return rows.map(row => row.agent_id)
}

/** Agents that are CONNECTED in the database although no manager has a connection to them. */
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
