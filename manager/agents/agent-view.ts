import {
  type Agent,
  type AgentDevice,
  type AgentId,
  type Device,
  type DeviceFigures,
  formatAmount,
  formatSlots,
} from '#manager/contract'
import { type AgentGateway } from '../agent-link/gateway.ts'
import { type ListedAgent } from '../store/agents/agent-list.ts'
import { type AgentRow, readUsage, type Usage } from '../store/agents/agents.ts'
import { listAgentLinks } from '../store/operation/managers.ts'
import { type Store } from '../store/open-store.ts'
import { type AgentUpdates } from './updates.ts'

/** Agents as admins see them. */
export interface AgentViews {
  whole(rows: readonly AgentRow[]): Promise<Agent[]>
  /** Reads what is needed for these agents. @returns the fields of an agent that lists also contain */
  commonOf(ids: readonly AgentId[]): Promise<(row: AgentRow | ListedAgent) => CommonView>
}

type CommonView = Omit<Agent, 'devices' | 'managers'>

export interface AgentViewsDeps {
  readonly store: Pick<Store, 'db'>
  readonly gateway: Pick<AgentGateway, 'lastSeen'>
  readonly deviceFigures: (id: AgentId) => readonly DeviceFigures[]
  readonly updates: Pick<AgentUpdates, 'view'>
}

export function createAgentViews({ store, gateway, deviceFigures, updates }: AgentViewsDeps): AgentViews {
  function commonOf(
    row: AgentRow | ListedAgent,
    usage: Usage,
    updateOf: Awaited<ReturnType<AgentUpdates['view']>>,
  ): CommonView {
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

  return {
    async whole(rows) {
      const ids = rows.map(row => row.id)
      const [links, usage, updateOf] = await Promise.all([
        listAgentLinks(store.db, ids),
        readUsage(store.db, ids),
        updates.view(),
      ])
      const linksOf = Map.groupBy(links, link => link.agentId)
      return rows.map(row => ({
        ...commonOf(row, usage, updateOf),
        devices: row.devices.map(device => toDevice(device, usage.device(row.id, device.uuid), deviceFigures(row.id))),
        managers: linksOf.get(row.id)?.map(({ id, url, via }) => ({ id, url, via })) ?? [],
      }))
    },
    async commonOf(ids) {
      const [usage, updateOf] = await Promise.all([readUsage(store.db, ids), updates.view()])
      return row => commonOf(row, usage, updateOf)
    },
  }
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
