import {
  addSlots,
  type AgentId,
  formatAmount,
  formatSlots,
  type Reservation,
  type ResourceSlots,
  type SlotName,
} from '#manager/contract'
import { totalOf } from '../scheduler/plan/index.ts'
import { type Occupancy, type PlacingPresence, readOccupancy } from '../scheduler/snapshot.ts'
import { findAgents } from '../store/agents/agents.ts'
import { listReservations, type ReservationOf } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, canManage } from '../users/authorize.ts'

/** The reservations for sessions that the caller manages, with the amounts that they hold now. @param resourceGroup all if left out */
export async function readReservations(
  { db, presence, caller }: { db: Db; presence: Pick<PlacingPresence, 'orphans'>; caller: Caller },
  resourceGroup?: string,
): Promise<Reservation[]> {
  const seen = (await listReservations(db, resourceGroup)).filter(({ owner, domain }) =>
    canManage(caller, { ownerId: owner.id, domain }),
  )
  const agents = (
    await findAgents(
      db,
      seen.flatMap(one => partsOf(one).map(({ agentId }) => agentId)),
    )
  ).flatMap(agent => agent ?? [])
  const occupancy = await readOccupancy(db, agents, presence)
  const names = new Map(agents.map(({ id, name }) => [id, name]))
  return seen.map(reservation => toReservation(reservation, names, occupancy))
}

/** The parts of the reservation, one for each agent. */
function partsOf({ agentId, parts, requested, clusterSize, devices }: ReservationOf) {
  const one = { agentId, requested, clusterSize, devices }
  return parts?.map(({ kernels, ...part }) => ({ ...part, requested, clusterSize: kernels })) ?? [one]
}

function toReservation(
  reservation: ReservationOf,
  names: ReadonlyMap<AgentId, string>,
  occupancy: ReadonlyMap<AgentId, Occupancy>,
): Reservation {
  const { resourceGroup, sessionId, name, owner, agentId, since, reason } = reservation
  const parts = partsOf(reservation)
  const held = parts.map(part => heldNow(part, occupancy.get(part.agentId)))
  const needed = totalOf(reservation)
  const slots = held.map(part => part.slots).reduce<ResourceSlots>(addSlots, {})
  const devices = held.flatMap(part => part.devices)
  return {
    resourceGroup,
    session: { id: sessionId, name, ownerEmail: owner.email },
    agent: { id: agentId, name: names.get(agentId) ?? '' },
    agents: parts.map(part => ({ id: part.agentId, name: names.get(part.agentId) ?? '' })),
    needed: formatSlots(needed),
    held: formatSlots(slots),
    devices: devices.map(({ uuid, slot, amount, free }) => ({
      uuid,
      slot,
      amount: formatAmount(slot, amount),
      held: formatAmount(slot, free),
    })),
    since: since.toISOString(),
    expectedBy: reason.expectedBy ?? null,
  }
}

type Held = Pick<ReservationOf, 'requested' | 'clusterSize' | 'devices'>

/**
 * The part of a reservation that is free on its agent now. GPUs are counted on the reserved devices only: free amounts of other
 * devices are not held.
 *
 * @param occupancy of the agent; undefined holds nothing
 */
export function heldNow({ requested, clusterSize, devices: reserved }: Held, occupancy: Occupancy | undefined) {
  const needed = totalOf({ requested, clusterSize })
  const known = new Map(occupancy?.devices.map(device => [device.uuid, device]))
  const devices = reserved.map(({ uuid, slot, amount }) => {
    const device = known.get(uuid)
    const free = device ? Math.max(0, device.total - device.occupied) : 0
    return { uuid, slot, amount, free: Math.min(amount, free) }
  })
  const free = (slot: SlotName) =>
    slot === 'cuda.device' || slot === 'cuda.shares'
      ? devices.reduce((sum, device) => sum + (device.slot === slot ? device.free : 0), 0)
      : (occupancy?.capacity[slot] ?? 0) - (occupancy?.occupied[slot] ?? 0)
  const slots: ResourceSlots = Object.fromEntries(
    (Object.entries(needed) as [SlotName, number][]).map(([slot, amount]) => [
      slot,
      Math.min(amount, Math.max(0, free(slot))),
    ]),
  )
  return { needed, slots, devices }
}
