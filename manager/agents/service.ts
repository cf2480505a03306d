import {
  type Agent,
  type AgentChange,
  AgentId,
  type AgentSort,
  type AgentSummary,
  AppError,
  because,
  type DeviceMode,
  readSort,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type PlacingPresence } from '../scheduler/snapshot.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { endForgotten } from '../sessions/end-forgotten.ts'
import {
  type AgentRow,
  findAgent,
  listAgents,
  listDeviceHolders,
  lockAgent,
  setAgent,
  setDevices,
} from '../store/agents/agents.ts'
import { type AgentFilter, listAgentPage } from '../store/agents/agent-list.ts'
import { lockResourceGroup } from '../store/quotas/resource-groups.ts'
import { noSuchAgent } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { inMode, withDevices } from './devices.ts'
import { type AgentViewsDeps, createAgentViews } from './agent-view.ts'
import { createJoinTokens, type JoinTokens, type JoinTokensDeps } from './join-tokens.ts'
import { moveAgent } from './move-agent.ts'
import { readSharedResources, type SharedResources } from './shared-resources.ts'
import { type AgentGateway } from '../agent-link/gateway.ts'

export interface AgentService extends JoinTokens {
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
  /** @param groups only the agents and sessions of these resource groups */
  resources(groups?: ReadonlySet<string>): Promise<SharedResources>
}

export interface AgentQuery extends AgentFilter {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly sort?: AgentSort | undefined
}

export interface AgentServiceDeps extends JoinTokensDeps, AgentViewsDeps {
  readonly store: Store
  readonly gateway: Pick<AgentGateway, 'isConnected' | 'lastSeen' | 'disconnect'>
  readonly presence: PlacingPresence
  readonly changes: SessionChanges
  readonly events: EventPublisher
  readonly onAgentChanged: () => void
  readonly log: Log
  /** Sends the new modes to the agent, through the manager to which it is connected. */
  readonly onModesChanged: (id: AgentId) => void
}

export function createAgentService(deps: AgentServiceDeps): AgentService {
  const { store, gateway, presence, events } = deps
  const views = createAgentViews(deps)

  function announce(row: AgentRow): void {
    events.publish({ topic: 'agent', id: row.id, version: row.row_version }, 'superadmins')
    events.publish({ topic: 'resources', id: 'all', version: store.now() }, 'everyone')
    deps.onAgentChanged()
  }

  return {
    list: async () => views.whole(await listAgents(store.db)),
    async summaries({ limit, cursor, sort = 'name', ...filter }) {
      const { rows, total } = await listAgentPage(store.db, {
        ...filter,
        limit: limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        ...readSort(sort),
      })
      const page = rows.slice(0, limit)
      const commonOf = await views.commonOf(page.map(({ id }) => id))
      const items = page.map(row => ({
        ...commonOf(row),
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
      const [agent] = row ? await views.whole([row]) : []
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
      const [agent] = row ? await views.whole([row]) : []
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
      const [agent] = row ? await views.whole([row]) : []
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
    ...createJoinTokens(deps),
    resources: groups =>
      readSharedResources(store.db, { presence, isConnected: id => gateway.isConnected(id) }, groups),
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

function parseCursor(cursor: string): AgentId {
  const parsed = AgentId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
