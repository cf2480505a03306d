import { sql, type Selectable } from 'kysely'
import {
  type AgentId,
  type AgentVersion,
  type Because,
  type Device,
  keysOf,
  OCCUPYING_STATUSES,
  type ResourceSlots,
  type SettableMode,
  type TextKeys,
  type UserId,
} from '#manager/contract'
import { accountHolds } from '../identity/users.ts'
import { type Db } from '../schema.ts'
import { type AgentsTable, type StoredProgram } from '../tables/agents.ts'

export type AgentRow = Selectable<AgentsTable>

export async function findAgent(db: Db, id: AgentId): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Rows in the order of `ids`; undefined for an unknown id. */
export async function findAgents(db: Db, ids: readonly AgentId[]): Promise<(AgentRow | undefined)[]> {
  const rows = await db
    .selectFrom('agents')
    .selectAll()
    .where('id', '=', sql<AgentId>`any(${ids}::uuid[])`)
    .execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => byId.get(id))
}

/** Agents that are not revoked, in the order in which they joined. */
export async function listAgents(db: Db, resourceGroup?: string): Promise<AgentRow[]> {
  const query = db.selectFrom('agents').selectAll().where('status', '<>', 'REVOKED').orderBy('joined_at').orderBy('id')
  return (resourceGroup === undefined ? query : query.where('resource_group', '=', resourceGroup)).execute()
}

export interface JoinedAgent {
  readonly id: AgentId
  readonly name: string
  readonly publicKey: string
  readonly resourceGroup: string
}

/**
 * Saves an agent that joins: a new one, or a known one that joins again with its own key. With `replaces` (an admin wants the agent
 * replaced) any key is accepted, and then only the new key is valid.
 *
 * @returns false if the id belongs to another key: a join string alone must not give control over another agent's sessions
 */
export async function saveJoinedAgent(db: Db, agent: JoinedAgent, { replaces = false } = {}): Promise<boolean> {
  const values = { name: agent.name, public_key: agent.publicKey, resource_group: agent.resourceGroup }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('agents')
    .values({ id: agent.id, ...values, status: 'LOST', capacity: '{}', devices: '[]' })
    .onConflict(conflict =>
      conflict
        .column('id')
        .doUpdateSet({
          ...values,
          // A rejoining agent keeps its group: only `moveAgent` changes it, and only without sessions.
          resource_group: sql`case when agents.status = 'REVOKED' then excluded.resource_group else agents.resource_group end`,
          status: 'LOST',
          removal: null,
          // Revoking has paused the agent: undo that. A pause that an admin set on an agent that was not revoked stays.
          schedulable: sql`agents.schedulable or agents.status = 'REVOKED'`,
          row_version: sql`agents.row_version + 1`,
        })
        .where(eb => eb.or([eb('agents.public_key', '=', agent.publicKey), sql<boolean>`${replaces}::boolean`])),
    )
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

export interface ReportedState {
  readonly capacity: ResourceSlots
  readonly devices: readonly Device[]
  readonly networkIsolation: 'full' | 'partial'
  readonly networkIsolationReason: string | null
  readonly networkIsolationReasonBy?: TextKeys | null
  readonly version: string
  readonly engineVersion: string
  /** Null for agents of an older version. */
  readonly program?: StoredProgram | null | undefined
}

/** @returns the new row version; undefined if the agent was revoked or is unknown */
export async function saveReportedState(
  db: Db,
  id: AgentId,
  state: ReportedState & Partial<DeviceState>,
): Promise<number | undefined> {
  const row = await db
    .updateTable('agents')
    .set({
      status: 'CONNECTED',
      capacity: JSON.stringify(state.capacity),
      devices: JSON.stringify(state.devices),
      ...(state.modes ? { device_modes: JSON.stringify(state.modes) } : {}),
      network_isolation: state.networkIsolation,
      network_isolation_reason: state.networkIsolationReason,
      network_isolation_reason_by: jsonOrNull(state.networkIsolationReasonBy),
      version: state.version,
      engine_version: state.engineVersion,
      program: state.program ? JSON.stringify(state.program) : null,
      last_seen_at: sql`now()`,
      row_version: sql`row_version + 1`,
    })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .returning('row_version')
    .executeTakeFirst()
  return row?.row_version
}

export interface DeviceState {
  readonly capacity: ResourceSlots
  readonly devices: readonly Device[]
  readonly modes: Readonly<Record<string, SettableMode>>
}

export async function setDevices(
  db: Db,
  id: AgentId,
  { capacity, devices, modes }: DeviceState,
): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({
      capacity: JSON.stringify(capacity),
      devices: JSON.stringify(devices),
      device_modes: JSON.stringify(modes),
      row_version: sql`row_version + 1`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Pairs of a device of the agent (its UUID) and a session that holds it now (its name). */
export async function listDeviceHolders(db: Db, id: AgentId): Promise<{ uuid: string; session: string }[]> {
  return db
    .selectFrom('kernel_devices as d')
    .innerJoin('kernels as k', 'k.id', 'd.kernel_id')
    .innerJoin('sessions as s', 's.id', 'k.session_id')
    .select(['d.uuid', 's.name as session'])
    .distinct()
    .where('d.agent_id', '=', id)
    .where('k.status', 'in', OCCUPYING_STATUSES)
    .orderBy('s.name')
    .execute()
}

export async function setAgent(
  db: Db,
  id: AgentId,
  change: Partial<Pick<AgentRow, 'status' | 'schedulable'>>,
): Promise<AgentRow | undefined> {
  return db
    .updateTable('agents')
    .set({ ...change, row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('status', '<>', 'REVOKED')
    .returningAll()
    .executeTakeFirst()
}

/** @returns the new row version; undefined if the row has this problem already, or the agent is unknown */
export async function setProblem(db: Db, id: AgentId, problem: Because | null): Promise<number | undefined> {
  const { why, keys } = problem ? { why: problem.why, keys: keysOf(problem) } : { why: null, keys: null }
  const row = await db
    .updateTable('agents')
    .set({ problem: why, problem_by: jsonOrNull(keys), row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('problem', 'is distinct from', why)
    .returning('row_version')
    .executeTakeFirst()
  return row?.row_version
}

/** @returns the name of the agent if superadmins must be informed now; undefined if they were informed before, or the agent has left */
export async function setFaultTold(db: Db, id: AgentId, isFault: boolean): Promise<string | undefined> {
  const row = await db
    .updateTable('agents')
    .set({ fault_told: isFault })
    .where('id', '=', id)
    .where('fault_told', '<>', isFault)
    .where('status', '<>', 'REVOKED')
    .returning('name')
    .executeTakeFirst()
  return row?.name
}

const jsonOrNull = (keys: TextKeys | null | undefined) => (keys ? JSON.stringify(keys) : null)

/** Locks the row until the transaction ends. */
export async function lockAgent(db: Db, id: AgentId): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/** Records that these agents are connected; also corrects another manager that has marked one of them as lost. */
export async function setLastSeen(db: Db, ids: readonly AgentId[]): Promise<void> {
  await db
    .updateTable('agents')
    .set({ last_seen_at: sql`now()`, status: 'CONNECTED' })
    .where('id', '=', sql<AgentId>`any(${ids}::uuid[])`)
    .where('status', '<>', 'REVOKED')
    .execute()
}

/** Maker of a token: the account, and the sign-in or keypair that was used. */
export interface JoinTokenMaker {
  readonly userId: UserId
  readonly loginId: string | null
  readonly keypair: string | null
}

export interface NewJoinToken {
  readonly tokenHash: Buffer
  readonly resourceGroup: string
  readonly madeBy: JoinTokenMaker | null
  readonly lifetimeMs: number
  /** Id for the agent that joins with this token. */
  readonly agentId: AgentId
  readonly replaces?: AgentId | undefined
}

export async function insertJoinToken(db: Db, token: NewJoinToken): Promise<Date> {
  const row = await db
    .insertInto('join_tokens')
    .values({
      token_hash: token.tokenHash,
      resource_group: token.resourceGroup,
      created_by: token.madeBy?.userId ?? null,
      login_id: token.madeBy?.loginId ?? null,
      keypair: token.madeBy?.keypair ?? null,
      expires_at: sql<Date>`now() + ${token.lifetimeMs} * interval '1 millisecond'`,
      used_by: null,
      agent_id: token.agentId,
      replaces: token.replaces ?? null,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return row.expires_at
}

/**
 * Whether the maker of a token is a superadmin now, and the sign-in or keypair with which it was made is there; tokens of the desktop app
 * and `berth up` have no maker.
 */
const makerMayJoin = sql<boolean>`((join_tokens.created_by is null or exists (
    select from users maker where maker.id = join_tokens.created_by and maker.role = 'superadmin' and ${accountHolds('maker')}))
  and (join_tokens.login_id is null or exists (
    select from logins l where l.id = join_tokens.login_id and l.expires_at > now()))
  and (join_tokens.keypair is null or exists (
    select from keypairs k where k.access_key = join_tokens.keypair and k.active)))`

export interface OpenJoinToken {
  readonly tokenHash: Buffer
  readonly resourceGroup: string
  /** Address of its maker; null for one of this computer's own agent. */
  readonly maker: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
  /** Name of the agent that it replaces. */
  readonly replaces: string | null
  /** Whether a host may join with it now; false if its maker may not add hosts any more. */
  readonly entitled: boolean
}

const MOST_OPEN_TOKENS = 500

/** Tokens that nobody has used and that have not expired, newest first. */
export function listOpenJoinTokens(db: Db): Promise<OpenJoinToken[]> {
  return db
    .selectFrom('join_tokens')
    .leftJoin('agents', 'agents.id', 'join_tokens.replaces')
    .select(['token_hash as tokenHash', 'join_tokens.resource_group as resourceGroup', 'agents.name as replaces'])
    .select(['created_at as createdAt', 'expires_at as expiresAt', makerMayJoin.as('entitled')])
    .select(sql<string | null>`(select email from users maker where maker.id = join_tokens.created_by)`.as('maker'))
    .where('used_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('created_at', 'desc')
    .limit(MOST_OPEN_TOKENS)
    .execute()
}

/** Deletes a token that nobody has used. @returns whether it existed */
export async function deleteJoinToken(db: Db, tokenHash: Buffer): Promise<boolean> {
  const query = db.deleteFrom('join_tokens').where('token_hash', '=', tokenHash).where('used_at', 'is', null)
  return (await query.executeTakeFirst()).numDeletedRows === 1n
}

/**
 * A token that is valid now, for a host that prepares to join; also one that an agent has used, which may set itself up again until it
 * expires. Nothing is consumed.
 */
export async function findOpenJoinToken(
  db: Db,
  tokenHash: Buffer,
): Promise<{ agentId: AgentId | null; replaces: AgentId | null } | undefined> {
  return db
    .selectFrom('join_tokens')
    .select(['agent_id as agentId', 'replaces'])
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .where(makerMayJoin)
    .executeTakeFirst()
}

/** The agent that joined with a token; undefined if there is no such token, or no longer. */
export async function findJoinToken(
  db: Db,
  tokenHash: Buffer,
): Promise<{ expiresAt: Date; agent: Pick<AgentRow, 'id' | 'name' | 'status'> | null } | undefined> {
  const row = await db
    .selectFrom('join_tokens as t')
    .leftJoin('agents as a', 'a.id', 't.used_by')
    .select(['t.expires_at', 'a.id', 'a.name', 'a.status'])
    .where('t.token_hash', '=', tokenHash)
    .executeTakeFirst()
  if (!row) return undefined
  const { expires_at: expiresAt, id, name, status } = row
  return { expiresAt, agent: id && name !== null && status ? { id, name, status } : null }
}

/**
 * Consumes a join token. The agent that used it may use it again until it expires, because our answer may have been lost; it proves itself
 * by its key and must not be revoked. A new agent must have the id that the manager made with the token. A known agent, proven by its key,
 * keeps its own id, unless the token replaces an agent. A token of a superadmin is valid only while its maker is a superadmin, and the
 * sign-in or keypair is there with which it was made: rights are read when they are used (ADR 60).
 *
 * @returns the token's resource group and the agent that it replaces; undefined if the token is unknown, expired, used by another agent, or
 *   made for another agent
 */
export async function takeJoinToken(
  db: Db,
  tokenHash: Buffer,
  { agentId, publicKey }: { agentId: AgentId; publicKey: string },
): Promise<TakenToken | undefined> {
  return db
    .updateTable('join_tokens')
    .set({ used_at: sql`now()`, used_by: agentId })
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .where(eb => {
      const usedByIt = eb
        .selectFrom('agents')
        .select('agents.id')
        .where('agents.id', '=', agentId)
        .where('agents.public_key', '=', publicKey)
        .where('agents.status', '<>', 'REVOKED')
        .whereRef('agents.id', '=', 'join_tokens.used_by')
      return eb.or([eb.and([eb('used_at', 'is', null), makerMayJoin]), eb.exists(usedByIt)])
    })
    .where(eb => {
      const isKnown = eb
        .selectFrom('agents')
        .select('agents.id')
        .where('agents.id', '=', agentId)
        .where('agents.public_key', '=', publicKey)
      return eb.or([eb('agent_id', '=', agentId), eb.and([eb('replaces', 'is', null), eb.exists(isKnown)])])
    })
    .returning(['resource_group as resourceGroup', 'replaces'])
    .executeTakeFirst()
}

export interface TakenToken {
  readonly resourceGroup: string
  readonly replaces: AgentId | null
}

/** Resources that agents hold now: sums over kernels in occupying states, never a counter. */
export interface Usage {
  slots(agentId: AgentId): ResourceSlots
  /** Base units occupied on the device, and the slot (whole devices or shares) in which they are counted. */
  device(agentId: AgentId, uuid: string): { readonly slot: string; readonly amount: number } | undefined
}

export async function readUsage(db: Db, agentIds: readonly AgentId[]): Promise<Usage> {
  if (agentIds.length === 0) return { slots: () => ({}), device: () => undefined }
  // The query returns one row per agent: every pass of the scheduler reads this, and the number of rows costs more than their size.
  const { rows: held } = await sql<{ agent_id: AgentId; slots: ResourceSlots }>`
    select agent_id, json_object_agg(slot, amount) as slots from (
      select k.agent_id, s.key as slot, sum(s.value::bigint)::bigint as amount
      from kernels k, jsonb_each_text(k.slots) s
      where k.status in (${sql.join(OCCUPYING_STATUSES)}) and k.agent_id = any(${agentIds}::uuid[])
      group by k.agent_id, s.key) sums
    group by agent_id`.execute(db)
  const { rows: taken } = await sql<{ agent_id: AgentId; devices: TakenDevices }>`
    select agent_id, json_object_agg(uuid, json_build_object('slot', slot, 'amount', amount)) as devices from (
      select d.agent_id, d.uuid, d.slot, sum(d.amount)::bigint as amount
      from kernel_devices d join kernels k on k.id = d.kernel_id
      where k.status in (${sql.join(OCCUPYING_STATUSES)}) and d.agent_id = any(${agentIds}::uuid[])
      group by d.agent_id, d.uuid, d.slot) sums
    group by agent_id`.execute(db)
  const slots = new Map(held.map(row => [row.agent_id, row.slots]))
  const devices = new Map(taken.map(row => [row.agent_id, row.devices]))
  return {
    slots: agentId => slots.get(agentId) ?? {},
    device: (agentId, uuid) => devices.get(agentId)?.[uuid],
  }
}

type TakenDevices = Readonly<Record<string, { readonly slot: string; readonly amount: number } | undefined>>

/** Number of agents that are not revoked, by resource group. */
export async function countAgentsByGroup(db: Db): Promise<Map<string, number>> {
  const { rows } = await sql<{ resource_group: string; count: number }>`
    select resource_group, count(*)::int as count from agents where status <> 'REVOKED' group by 1`.execute(db)
  return new Map(rows.map(row => [row.resource_group, row.count]))
}

/** Versions of agents that are not revoked, the most frequent first. */
export async function listAgentVersions(db: Db): Promise<AgentVersion[]> {
  const { rows } = await sql<AgentVersion>`
    select version, engine_version as "engineVersion", array_agg(name order by name) as names
    from agents where status <> 'REVOKED' group by 1, 2 order by count(*) desc, 1, 2`.execute(db)
  return rows
}

/** Names of agents, including revoked ones: sessions that ended there still show where they ran. */
export async function listAgentNames(db: Db, ids: readonly AgentId[]): Promise<Map<AgentId, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map(row => [row.id, row.name]))
}
