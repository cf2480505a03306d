import { sql, type Selectable } from 'kysely'
import {
  type AgentId,
  type Device,
  OCCUPYING_STATUSES,
  type ResourceSlots,
  type SettableMode,
  type UserId,
} from '#manager/contract'
import { type AgentsTable, type Db } from '../schema.ts'

export type AgentRow = Selectable<AgentsTable>

export async function findAgent(db: Db, id: AgentId): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('id', '=', id).executeTakeFirst()
}

/** In the order of the ids. */
export async function findAgents(db: Db, ids: readonly AgentId[]): Promise<(AgentRow | undefined)[]> {
  const rows = await db
    .selectFrom('agents')
    .selectAll()
    .where('id', '=', sql<AgentId>`any(${ids}::uuid[])`)
    .execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => byId.get(id))
}

/** All but the revoked ones, oldest first. */
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
 * A new agent, or a known one that joins again with its own key; where an admin wants its place taken (`replaces`), with
 * any. From then on only that key counts.
 *
 * @returns false if somebody else has that id: a join string alone must not take over what another agent runs
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
          status: 'LOST',
          // Revoking paused it; a pause of its own stays.
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
  readonly version: string
  readonly engineVersion: string
}

/** @returns the new row version, undefined if the agent was revoked or is unknown */
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
      version: state.version,
      engine_version: state.engineVersion,
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

/** Sessions that hold devices of the agent now, by UUID. */
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

/** @returns the new row version, undefined if that is what the row says, or if there is none */
export async function setProblem(db: Db, id: AgentId, problem: string | null): Promise<number | undefined> {
  const row = await db
    .updateTable('agents')
    .set({ problem, row_version: sql`row_version + 1` })
    .where('id', '=', id)
    .where('problem', 'is distinct from', problem)
    .returning('row_version')
    .executeTakeFirst()
  return row?.row_version
}

/** Until the transaction ends. */
export async function lockAgent(db: Db, id: AgentId): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/** They are here. Says so where another manager, not knowing, has called one of them lost. */
export async function setLastSeen(db: Db, ids: readonly AgentId[]): Promise<void> {
  await db
    .updateTable('agents')
    .set({ last_seen_at: sql`now()`, status: 'CONNECTED' })
    .where('id', '=', sql<AgentId>`any(${ids}::uuid[])`)
    .where('status', '<>', 'REVOKED')
    .execute()
}

export interface NewJoinToken {
  readonly tokenHash: Buffer
  readonly resourceGroup: string
  readonly createdBy: UserId | null
  readonly lifetimeMs: number
  /** The id that an agent gets which joins with it. */
  readonly agentId: AgentId
  readonly replaces?: AgentId | undefined
}

export async function insertJoinToken(db: Db, token: NewJoinToken): Promise<Date> {
  const row = await db
    .insertInto('join_tokens')
    .values({
      token_hash: token.tokenHash,
      resource_group: token.resourceGroup,
      created_by: token.createdBy,
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
 * Uses a token up. The agent that used it, proven by its key, may use it again until it expires, because it may not have
 * heard our answer; but not after it was revoked. An agent has the id that the manager made with the token; one that is
 * known, proven by its key, keeps its own.
 *
 * @returns where it leads to, undefined if it is unknown, expired, used by another agent, or for another one
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
      return eb.or([eb('used_at', 'is', null), eb.exists(usedByIt)])
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

/** What agents hold now: sums over kernels in occupying states, never a counter. */
export interface Usage {
  slots(agentId: AgentId): ResourceSlots
  /** Base units of `slot` taken on the device, by how it is given out. */
  device(agentId: AgentId, uuid: string): { readonly slot: string; readonly amount: number } | undefined
}

export async function readUsage(db: Db, agentIds: readonly AgentId[]): Promise<Usage> {
  if (agentIds.length === 0) return { slots: () => ({}), device: () => undefined }
  // One row per agent: every pass of the scheduler reads this, and rows cost more than what is in them.
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

/** Also of revoked ones: sessions that ended there still say where they ran. */
export async function listAgentNames(db: Db, ids: readonly AgentId[]): Promise<Map<AgentId, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('agents').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map(row => [row.id, row.name]))
}
