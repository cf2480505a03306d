import { randomBytes } from 'node:crypto'
import {
  addSlots,
  type Agent,
  type AgentChange,
  type AgentDevice,
  AgentId,
  type AgentSort,
  type AgentSummary,
  AppError,
  because,
  type Device,
  type DeviceFigures,
  type DeviceMode,
  formatAmount,
  formatSlots,
  readSort,
  type Resources,
  type ResourceSlots,
  type RouteReply,
  SLOT_NAMES,
  type SlotName,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { canTake, FreeCapacity } from '../scheduler/plan/index.ts'
import { requireResourceGroup } from '../quotas/require-resource-group.ts'
import { type PlacingPresence, readFreeCapacity } from '../scheduler/snapshot.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { endForgotten } from '../sessions/end-forgotten.ts'
import {
  type AgentRow,
  findAgent,
  findJoinToken,
  findOpenJoinToken,
  deleteJoinToken,
  insertJoinToken,
  type JoinTokenMaker,
  listOpenJoinTokens,
  listAgents,
  listDeviceHolders,
  lockAgent,
  readUsage,
  setAgent,
  setDevices,
  type Usage,
} from '../store/agents/agents.ts'
import { type AgentFilter, type ListedAgent, listAgentPage } from '../store/agents/agent-list.ts'
import { listResourceGroups, lockResourceGroup } from '../store/quotas/resource-groups.ts'
import { listAgentLinks } from '../store/operation/managers.ts'
import { noSuchAgent } from '../store/missing.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { countSessions } from '../store/sessions/session-list.ts'
import { hashToken } from '../users/secrets.ts'
import { howPartsHold, inMode, modelsOf, sharedOf, stockOf, withDevices } from './devices.ts'
import { type HostInvitation, hostLine, requireSafeAddress } from './host-line.ts'
import { moveAgent } from './move-agent.ts'
import { type AgentUpdates } from './updates.ts'
import { type AgentGateway } from '../agent-link/gateway.ts'

export interface AgentService {
  list(): Promise<Agent[]>
  /** A page of agents, without their devices. */
  summaries(query: AgentQuery): Promise<{ items: AgentSummary[]; nextCursor: string | null; total: number }>
  /** An agent, including forgotten ones. @throws `agent_not_found` */
  get(id: AgentId): Promise<Agent>
  /** Fields that are left out stay as they are. @throws `agent_not_found`, and as `moveAgent` */
  change(id: AgentId, change: AgentChange): Promise<Agent>
  /** @throws `agent_not_found`, `device_not_found`, `device_mode_fixed`, `device_in_use` */
  setDeviceMode(id: AgentId, uuid: string, mode: DeviceMode): Promise<Agent>
  /**
   * Revokes the agent's key, closes its connection, and ends its sessions as `agent_forgotten`. Idempotent.
   * @throws `agent_not_found`
   */
  forget(id: AgentId, actor: string): Promise<void>
  /**
   * @param replaces the agent that the new agent replaces; the new one stays in the same resource group
   * @throws `resource_group_not_found`, `agent_not_found`
   */
  createJoinToken(options: {
    resourceGroup: string
    madeBy: JoinTokenMaker | null
    replaces?: AgentId | undefined
  }): Promise<JoinToken>
  /** Tokens with which hosts may still join, newest first. */
  openJoinTokens(): Promise<RouteReply<'listJoinTokens'>>
  /** Withdraws a token that nobody has used. @param id as `createJoinToken` returned it @throws `not_found` */
  withdrawJoinToken(id: string): Promise<void>
  /** The invitation of a host that shows the token of a join string. @throws `join_token_invalid`, `config_invalid` (an address without TLS) */
  invitation(token: string): Promise<HostInvitation>
  /** @param id as `createJoinToken` returned it @throws `not_found` */
  joinToken(id: string): Promise<RouteReply<'getJoinToken'>>
  /** @param groups only the agents and sessions of these resource groups */
  resources(groups?: ReadonlySet<string>): Promise<SharedResources>
}

export interface AgentQuery extends AgentFilter {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly sort?: AgentSort | undefined
}

/** The amounts that are the same for every user. */
export type SharedResources = Omit<Resources, 'left' | 'sessionsLeft'>

export interface JoinToken {
  /** Identifies the token without revealing its secret. */
  readonly id: string
  readonly token: string
  /** All data that an agent needs: `berth-join:` and base64url of `{url, token, managerKey, agentId}`. */
  readonly join: string
  /** Address at which the host must reach this manager. */
  readonly url: string
  /** Line for a shell on the host (`host-line.ts`). */
  readonly command: string
  readonly expiresAt: string
}

export interface AgentServiceDeps {
  readonly store: Store
  readonly gateway: Pick<AgentGateway, 'isConnected' | 'lastSeen' | 'disconnect'>
  readonly presence: PlacingPresence
  readonly changes: SessionChanges
  readonly events: EventPublisher
  /** URL at which agents reach this manager. */
  readonly url: () => string
  /** Fingerprint of the TLS key that agents pin for an address; undefined if a public authority certifies it. */
  readonly tlsKeyFor: (url: string) => Promise<string | undefined>
  /** Fingerprint of the key with which managers authenticate; agents pin it when they join. */
  readonly keyFingerprint: string
  readonly onAgentChanged: () => void
  readonly log: Log
  readonly deviceFigures: (id: AgentId) => readonly DeviceFigures[]
  readonly updates: Pick<AgentUpdates, 'view'>
  /** Sends the new modes to the agent, through the manager to which it is connected. */
  readonly onModesChanged: (id: AgentId) => void
}

const TOKEN_LIFETIME_MS = 15 * 60_000

export function createAgentService(deps: AgentServiceDeps): AgentService {
  const { store, gateway, presence, events } = deps

  async function toAgents(rows: readonly AgentRow[]): Promise<Agent[]> {
    const ids = rows.map(row => row.id)
    const [links, usage, updateOf] = await Promise.all([
      listAgentLinks(store.db, ids),
      readUsage(store.db, ids),
      deps.updates.view(),
    ])
    const linksOf = Map.groupBy(links, link => link.agentId)
    return rows.map(row => ({
      ...commonOf(row, usage, updateOf),
      devices: row.devices.map(device =>
        toDevice(device, usage.device(row.id, device.uuid), deps.deviceFigures(row.id)),
      ),
      managers: linksOf.get(row.id)?.map(({ id, url, via }) => ({ id, url, via })) ?? [],
    }))
  }

  /** The fields of an agent that lists also contain. */
  function commonOf(
    row: AgentRow | ListedAgent,
    usage: Usage,
    updateOf: Awaited<ReturnType<AgentUpdates['view']>>,
  ): Omit<Agent, 'devices' | 'managers'> {
    return {
      id: row.id,
      name: row.name,
      resourceGroup: row.resource_group,
      status: row.status,
      schedulable: row.schedulable,
      capacity: formatSlots(row.capacity),
      occupied: formatSlots(usage.slots(row.id)),
      networkIsolation: row.network_isolation,
      networkIsolationReason: row.network_isolation_reason,
      ...(row.network_isolation_reason_by && { networkIsolationReasonBy: row.network_isolation_reason_by }),
      version: row.version,
      update: updateOf(row),
      removal: row.removal,
      engineVersion: row.engine_version,
      problem: row.problem,
      ...(row.problem_by && { problemBy: row.problem_by }),
      lastSeenAt: (gateway.lastSeen(row.id) ?? row.last_seen_at).toISOString(),
    }
  }

  /** @param agentId id for the agent that joins; null for a token of a manager that made none */
  async function invite(token: string, agentId: AgentId | null, replaces: AgentId | null): Promise<HostInvitation> {
    const url = deps.url()
    const fingerprint = await deps.tlsKeyFor(url)
    const managerKey = deps.keyFingerprint
    const ids = { agentId: agentId ?? undefined, replaces: replaces ?? undefined }
    const text = JSON.stringify({ url, token, fingerprint, managerKey, ...ids })
    const join = `berth-join:${Buffer.from(text).toString('base64url')}`
    return { url, token, join, fingerprint, replaces: replaces !== null }
  }

  function announce(row: AgentRow): void {
    events.publish({ topic: 'agent', id: row.id, version: row.row_version }, 'superadmins')
    events.publish({ topic: 'resources', id: 'all', version: store.now() }, 'everyone')
    deps.onAgentChanged()
  }

  return {
    list: async () => toAgents(await listAgents(store.db)),
    async summaries({ limit, cursor, sort = 'name', ...filter }) {
      const { rows, total } = await listAgentPage(store.db, {
        ...filter,
        limit: limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        ...readSort(sort),
      })
      const page = rows.slice(0, limit)
      const ids = page.map(({ id }) => id)
      const [usage, updateOf] = await Promise.all([readUsage(store.db, ids), deps.updates.view()])
      const items = page.map(row => ({
        ...commonOf(row, usage, updateOf),
        gpus: row.gpus,
        deviceProblems: row.broken.map(({ uuid, model, problem, problemBy }) => ({
          uuid,
          model,
          problem,
          ...(problemBy && { problemBy }),
        })),
      }))
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total }
    },
    async get(id) {
      const row = await findAgent(store.db, id)
      const [agent] = row ? await toAgents([row]) : []
      if (!agent) throw noSuchAgent(id)
      return agent
    },
    async change(id, { schedulable, resourceGroup }) {
      const row = await store.transaction(async trx => {
        // A host that leaves would never be empty.
        if (schedulable === true && (await lockAgent(trx, id))?.removal?.step !== undefined)
          throw new AppError('agent_leaving', { agentId: id, ...because('call_removal_off') })
        const moved = resourceGroup === undefined ? undefined : await moveAgent(trx, id, resourceGroup)
        return schedulable === undefined ? (moved ?? findAgent(trx, id)) : setAgent(trx, id, { schedulable })
      })
      const [agent] = row ? await toAgents([row]) : []
      if (!row || !agent) throw noSuchAgent(id)
      announce(row)
      return agent
    },
    async setDeviceMode(id, uuid, mode) {
      const row = await store.transaction(async trx => {
        const known = await lockAgent(trx, id)
        if (!known || known.status === 'REVOKED') throw noSuchAgent(id)
        // The lock keeps the scheduler from placing sessions, so a device that is free now stays free until the mode is
        // written.
        await lockResourceGroup(trx, known.resource_group)
        return changeMode(trx, known, uuid, mode)
      })
      const [agent] = row ? await toAgents([row]) : []
      if (!row || !agent) throw noSuchAgent(id)
      announce(row)
      deps.onModesChanged(id)
      return agent
    },
    async forget(id, actor) {
      const known = await findAgent(store.db, id)
      if (!known) throw noSuchAgent(id)
      // Only the revocation must succeed here; the deadline checks repeat the rest until it is done.
      const row = (await setAgent(store.db, id, { status: 'REVOKED', schedulable: false })) ?? known
      gateway.disconnect(id, because('agent_removed'))
      announce(row)
      await endForgotten(deps, { agentId: id, actor })
    },
    async createJoinToken({ madeBy, replaces, ...wanted }) {
      // The agent of this computer, for which nobody asked, is told another address.
      if (madeBy !== null) requireSafeAddress(deps.url())
      const old = replaces && (await findAgent(store.db, replaces))
      if (replaces && (!old || old.status === 'REVOKED')) throw noSuchAgent(replaces)
      const resourceGroup = old?.resource_group ?? wanted.resourceGroup
      await requireResourceGroup(store.db, resourceGroup)
      const token = randomBytes(32).toString('base64url')
      const tokenHash = hashToken(token)
      const lifetimeMs = TOKEN_LIFETIME_MS
      const agentId = replaces ?? newId(AgentId)
      const made = { tokenHash, resourceGroup, madeBy, lifetimeMs, agentId, replaces }
      const expiresAt = await insertJoinToken(store.db, made)
      const invitation = await invite(token, agentId, replaces ?? null)
      const { join, url } = invitation
      const command = hostLine(invitation)
      return { id: tokenHash.toString('hex'), token, join, url, command, expiresAt: expiresAt.toISOString() }
    },
    async invitation(token) {
      const found = await findOpenJoinToken(store.db, hashToken(token))
      if (!found) throw new AppError('join_token_invalid', because('host_line_over'))
      requireSafeAddress(deps.url())
      return invite(token, found.agentId, found.replaces)
    },
    async joinToken(id) {
      const found = await findJoinToken(store.db, Buffer.from(id, 'hex'))
      if (!found) throw new AppError('not_found', because('join_string_gone'))
      return { expiresAt: found.expiresAt.toISOString(), agent: found.agent }
    },
    async openJoinTokens() {
      const tokens = await listOpenJoinTokens(store.db)
      const items = tokens.map(({ tokenHash, createdAt, expiresAt, entitled, ...token }) => ({
        ...token,
        id: tokenHash.toString('hex'),
        status: entitled ? ('open' as const) : ('ended' as const),
        createdAt: createdAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
      }))
      return { items }
    },
    async withdrawJoinToken(id) {
      if (!(await deleteJoinToken(store.db, Buffer.from(id, 'hex'))))
        throw new AppError('not_found', because('join_string_gone'))
    },
    async resources(groups) {
      const rows = (await listAgents(store.db)).filter(row => groups?.has(row.resource_group) ?? true)
      const agents = (await readFreeCapacity(store.db, rows, presence)).filter(agent => agent.connected)
      const options = new Map((await listResourceGroups(store.db)).map(group => [group.name, group.options]))
      const groupOf = new Map(rows.map(row => [row.id, row.resource_group]))
      const shared = sharedOf(
        rows.filter(row => row.schedulable && presence.isReady(row.id)).flatMap(row => row.devices),
      )
      const open = agents.filter(agent => canTake(agent, options.get(groupOf.get(agent.id) ?? '')))
      const sum = (pick: (agent: (typeof agents)[number]) => ResourceSlots) =>
        formatSlots(agents.reduce<ResourceSlots>((total, agent) => addSlots(total, pick(agent)), {}))
      return {
        largest: formatSlots(largestOf(open.map(agent => new FreeCapacity(agent, 'empty')))),
        free: formatSlots(largestOf(open.map(agent => new FreeCapacity(agent)))),
        partsHold: howPartsHold(shared),
        sharedGpus: modelsOf(shared),
        gpus: stockOf(open.flatMap(({ devices }) => devices)),
        capacity: sum(agent => agent.capacity),
        occupied: sum(agent => agent.occupied),
        agents: {
          connected: rows.filter(row => gateway.isConnected(row.id)).length,
          lost: rows.filter(row => !gateway.isConnected(row.id)).length,
        },
        sessions: await countSessions(store.db, groups),
      }
    },
  }
}

async function changeMode(trx: Db, row: AgentRow, uuid: string, mode: DeviceMode): Promise<AgentRow | undefined> {
  const device = row.devices.find(one => one.uuid === uuid)
  if (!device) throw new AppError('device_not_found', { agentId: row.id, uuid })
  if (mode === 'mig' || device.mode === 'mig') {
    throw new AppError('device_mode_fixed', {
      ...because('mig_on_host'),
      uuid,
    })
  }
  if (device.mode === mode) return row
  const holders = (await listDeviceHolders(trx, row.id)).filter(holder => holder.uuid === uuid)
  if (holders.length > 0) {
    const sessions = holders.map(({ session }) => session)
    throw new AppError('device_in_use', {
      ...because('device_used_by', { sessions: sessions.join(', ') }),
      uuid,
      sessions,
    })
  }
  const devices = row.devices.map(one => (one === device ? inMode(device, mode) : one))
  const modes = { ...row.device_modes, [uuid]: mode }
  return setDevices(trx, row.id, { capacity: withDevices(row.capacity, devices), devices, modes })
}

function toDevice(
  device: Device,
  held: { readonly amount: number } | undefined,
  figures: readonly DeviceFigures[],
): AgentDevice {
  const now = figures.find(({ uuid }) => uuid === device.uuid)
  return {
    ...device,
    occupied: formatAmount(device.slot, held?.amount ?? 0),
    utilization: now?.utilization ?? null,
    memUsedBytes: now?.memBytes ?? null,
  }
}

/** The most of each slot that any agent offers: the upper end of each control in the launch dialog. */
function largestOf(freeCapacities: readonly FreeCapacity[]): ResourceSlots {
  const slots: Partial<Record<SlotName, number>> = {}
  for (const slot of SLOT_NAMES) {
    const largest = Math.max(0, ...freeCapacities.map(freeCapacity => freeCapacity.largest(slot)))
    if (largest > 0 || slot === 'cpu' || slot === 'mem') slots[slot] = largest
  }
  return slots
}

function parseCursor(cursor: string): AgentId {
  const parsed = AgentId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
