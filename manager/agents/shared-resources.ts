import {
  addSlots,
  type AgentId,
  formatSlots,
  type Resources,
  type ResourceSlots,
  SLOT_NAMES,
  type SlotName,
} from '#manager/contract'
import { canTake, FreeCapacity } from '../scheduler/plan/index.ts'
import { type PlacingPresence, readFreeCapacity } from '../scheduler/snapshot.ts'
import { listAgents } from '../store/agents/agents.ts'
import { listResourceGroups } from '../store/quotas/resource-groups.ts'
import { countSessions } from '../store/sessions/session-list.ts'
import { type Db } from '../store/schema.ts'
import { howPartsHold, modelsOf, sharedOf, stockOf } from './devices.ts'

/** The amounts that are the same for every user. */
export type SharedResources = Omit<Resources, 'left' | 'sessionsLeft'>

/** Agents that are connected, and those that may get work. */
export interface PresentAgents {
  readonly presence: PlacingPresence
  readonly isConnected: (id: AgentId) => boolean
}

/** The amounts of the resource groups, of all if `groups` is left out. */
export async function readSharedResources(
  db: Db,
  { presence, isConnected }: PresentAgents,
  groups?: ReadonlySet<string>,
): Promise<SharedResources> {
  const rows = (await listAgents(db)).filter(row => groups?.has(row.resource_group) ?? true)
  const agents = (await readFreeCapacity(db, rows, presence)).filter(agent => agent.connected)
  const options = new Map((await listResourceGroups(db)).map(group => [group.name, group.options]))
  const groupOf = new Map(rows.map(row => [row.id, row.resource_group]))
  const shared = sharedOf(rows.filter(row => row.schedulable && presence.isReady(row.id)).flatMap(row => row.devices))
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
      connected: rows.filter(row => isConnected(row.id)).length,
      lost: rows.filter(row => !isConnected(row.id)).length,
    },
    sessions: await countSessions(db, groups),
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
