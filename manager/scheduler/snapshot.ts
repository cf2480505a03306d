import { type AgentId, type Reason, type SessionId } from '#manager/contract'
import { type AgentRow, listAgents, readUsage } from '../store/agents.ts'
import { readImageDigests } from '../store/images.ts'
import { type Db } from '../store/schema.ts'
import { listPending } from '../store/sessions.ts'
import { type AgentSnapshot, type DeviceSnapshot, type GroupSnapshot } from './plan/index.ts'

/** What only this process knows of an agent. */
export interface AgentPresence {
  /** Connected, its state reconciled, and its engine answers: work may be sent to it. */
  isReady(id: AgentId): boolean
}

const SHARES_PER_DEVICE = 100

export interface GroupState {
  readonly snapshot: GroupSnapshot
  /** The reasons that the pending sessions carry now. */
  readonly written: ReadonlyMap<SessionId, Reason>
}

/** Reads one resource group as it is now. Usage comes from kernels, so it cannot drift. */
export async function readGroup(db: Db, resourceGroup: string, presence: AgentPresence): Promise<GroupState> {
  const [agents, pending] = await Promise.all([
    readAgents(db, await listAgents(db, resourceGroup), presence),
    listPending(db, resourceGroup),
  ])
  const snapshot: GroupSnapshot = {
    agents,
    pending: pending.map(session => ({
      id: session.id,
      ownerId: session.owner_id,
      enqueuedAt: session.created_at.getTime(),
      requested: session.requested,
      image: session.image,
      imageDigest: session.image_digest,
      failedAgents: session.failed_agents,
    })),
  }
  return { snapshot, written: new Map(pending.map(session => [session.id, session.reason])) }
}

export async function readAgents(
  db: Db,
  rows: readonly AgentRow[],
  presence: AgentPresence,
): Promise<readonly AgentSnapshot[]> {
  const ids = rows.map(row => row.id)
  const usage = await readUsage(db, ids)
  const images = await readImageDigests(db, ids)
  return rows.map(row => ({
    id: row.id,
    name: row.name,
    capacity: row.capacity,
    occupied: usage.slots(row.id),
    devices: row.devices.map(({ uuid, slot }): DeviceSnapshot => {
      const total = slot === 'cuda.device' ? 1 : SHARES_PER_DEVICE
      const taken = usage.device(row.id, uuid)
      // Held in the other mode (an admin changed it meanwhile): nothing of it can be given out.
      const occupied = taken === undefined ? 0 : taken.slot === slot ? taken.amount : total
      return { uuid, slot, total, occupied }
    }),
    images: images.get(row.id) ?? new Set<string>(),
    schedulable: row.schedulable,
    connected: presence.isReady(row.id),
  }))
}
