import { sql } from 'kysely'
import { type AgentId, type KernelId, type SessionId } from '#manager/contract'
import { type Db } from '../../manager/store/schema.ts'

export const AGENTS = 1_000
export const USERS = 5_000
export const SESSIONS = 100_000
export const PROJECTS = 500
export const IMAGES = 300
/** Running and waiting sessions. */
const LIVE = 4_000
export const WAITING = 2_000
/** Sessions per statement, because statements have a time limit. */
const BATCH = 10_000
const AUDIT_ROWS = 50_000

/** A container that runs on an agent. */
export interface RunningKernel {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly agentId: AgentId
}

export interface InstallationSize {
  /** Number of agents that are in the database. */
  readonly agents: number
  /** Number of ended sessions. */
  readonly ended: number
  /** Number of running and waiting sessions, and of those that wait. */
  readonly live: number
  readonly waiting: number
}
const USUAL_SIZE: InstallationSize = { agents: AGENTS, ended: SESSIONS, live: LIVE, waiting: WAITING }

/**
 * A large installation around the existing agents: users with keypairs, projects, and sessions of the last 30 days, all ended except the
 * youngest. Waiting sessions request shares of a GPU, which no agent offers, so they stay in the queue.
 *
 * @returns the containers that run
 */
export async function seedInstallation(
  db: Db,
  { agents, ended, live, waiting }: InstallationSize = USUAL_SIZE,
): Promise<RunningKernel[]> {
  await sql`insert into users (id, email, name, role, password_hash)
    select gen_random_uuid(), 'user-' || n || '@example.com', 'User ' || (n * 7919) % 5003, 'user', 'x'
    from generate_series(2, ${USERS}) n`.execute(db)
  await sql`insert into groups (id, domain, name, description)
    select gen_random_uuid(), 'default', 'project-' || n, 'Project ' || n from generate_series(2, ${PROJECTS}) n`.execute(
    db,
  )
  // Everybody is in the first project and in one other.
  await sql`insert into group_members (group_id, user_id)
    select g.id, u.id from users u join groups g on g.name = 'default' and g.domain = 'default' on conflict do nothing`.execute(
    db,
  )
  await sql`
    with projects as (select id, row_number() over (order by name) - 1 as nth from groups),
    people as (select id, row_number() over (order by email) as nth from users)
    insert into group_members (group_id, user_id)
    select projects.id, people.id from people join projects on projects.nth = people.nth % ${PROJECTS} on conflict do nothing`.execute(
    db,
  )
  // Hash digits as letters, because an access key contains only letters.
  await sql`insert into keypairs (access_key, user_id, sealed_secret, rate_limit, active)
    select 'AKIA' || left(translate(md5(email), '0123456789abcdef', 'ABCDEFGHIJKLMNOP'), 16), id, 'x', 3000, role = 'user'
    from users`.execute(db)
  await sql`analyze`.execute(db)
  for (let from = 0; from < ended + live; from += BATCH) {
    await sql`
      with owners as (select id, row_number() over (order by email) - 1 as nth from users where role = 'user'),
      projects as (select id, row_number() over (order by name) - 1 as nth from groups),
      hosts as (select id, row_number() over (order by name) - 1 as nth from agents),
      made as (
        insert into sessions (id, name, owner_id, group_id, status, reason, resource_group, image, requested, shmem_bytes,
                              environ, apps, created_at, status_at, started_at, ended_at)
        select (lpad(to_hex(1760000000000 + n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
          'session-' || (n::bigint * 7919) % 100003, owners.id, projects.id,
          status, '{"code":"started","message":"Its container runs."}', 'default', 'berth/python:3.' || n % 9,
          case when status = 'PENDING' then '{"cpu":1000,"mem":1073741824,"cuda.shares":100}'::jsonb
            else '{"cpu":1000,"mem":1073741824}' end, 67108864, '{}', '[]', began, began,
          case when status = 'PENDING' then null else began end,
          case when status in ('RUNNING', 'PENDING') then null else began + interval '1 second' * (600 + n % 7200) end
        from generate_series(${from}::int, ${Math.min(from + BATCH, ended + live) - 1}::int) n
        join owners on owners.nth = n % ${USERS - 1}
        join projects on projects.nth = n % ${PROJECTS}
        cross join lateral (select now() - interval '30 days' * (1 - n::float8 / ${ended + live}) - interval '3 hours' as began,
          case when n >= ${ended + live - waiting} then 'PENDING' when n >= ${ended} then 'RUNNING'
            when n % 20 = 0 then 'ERROR' else 'TERMINATED' end as status) of_time
        returning id, status, started_at, ended_at)
      insert into kernels (id, session_id, role, status, agent_id, slots, ended_at)
      select gen_random_uuid(), made.id, 'main1', made.status, case when made.status = 'PENDING' then null else hosts.id end,
        '{"cpu":1000,"mem":1073741824}', made.ended_at
      from made join hosts on hosts.nth = abs(hashtext(made.id::text)) % ${agents}`.execute(db)
  }
  await sql`insert into audit_log (at, action, result, actor, actor_id, target, domain)
    select now() - interval '1 minute' * (${AUDIT_ROWS} - n), 'createSession', 'ok', 'admin@localhost',
      (select id from users where role = 'superadmin'), 'session:' || n, 'default'
    from generate_series(1, ${AUDIT_ROWS}) n`.execute(db)
  await sql`vacuum analyze`.execute(db)
  return await db
    .selectFrom('kernels')
    .select(['id as kernelId', 'session_id as sessionId', 'agent_id as agentId'])
    .where('status', '=', 'RUNNING')
    .where('agent_id', 'is not', null)
    .$narrowType<{ agentId: AgentId }>()
    .execute()
}
