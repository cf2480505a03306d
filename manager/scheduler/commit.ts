import { type AgentId, lackingSlots, type SessionId, subtractSlots } from '#manager/contract'
import { listAgents } from '../store/agents.ts'
import { insertKernelDevices } from '../store/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { lockPending, markScheduled } from '../store/placements.ts'
import { type Db } from '../store/schema.ts'
import { insertSessionEvents } from '../store/session-events.ts'
import { lockResourceGroup, type Touched } from '../store/sessions.ts'
import { type AgentSnapshot, type Placement } from './plan/index.ts'
import { type AgentPresence, readAgents } from './snapshot.ts'

/** So many placements share a transaction: long enough to be cheap, short enough not to keep others waiting. */
const BATCH = 200

/**
 * Writes placements, leaving out those that are no longer possible: the session is not pending any more, or its slots or
 * devices are taken. Capacity is checked again under the lock of the resource group, so two schedulers (or an
 * import of running containers) at the same time cannot give out the same thing twice.
 */
export async function commitPlacements(
  store: Store,
  resourceGroup: string,
  placements: readonly Placement[],
  presence: AgentPresence,
): Promise<Touched[]> {
  const committed: Touched[] = []
  for (let start = 0; start < placements.length; start += BATCH) {
    const batch = placements.slice(start, start + BATCH)
    committed.push(...(await store.transaction(trx => commitBatch(trx, resourceGroup, batch, presence))))
  }
  return committed
}

async function commitBatch(
  trx: Db,
  resourceGroup: string,
  placements: readonly Placement[],
  presence: AgentPresence,
): Promise<readonly Touched[]> {
  await lockResourceGroup(trx, resourceGroup)
  const wanted = new Set(placements.map(placement => placement.agentId))
  const rows = (await listAgents(trx, resourceGroup)).filter(row => wanted.has(row.id) && row.schedulable)
  const agents = new Map((await readAgents(trx, rows, presence)).map(agent => [agent.id, agent]))
  const names = new Map(rows.map(row => [row.id, row.name]))
  const pending = await lockPending(
    trx,
    placements.map(placement => placement.sessionId),
  )
  const fitting = dropOversubscribed(
    placements.filter(placement => pending.has(placement.sessionId)),
    agents,
  )
  if (fitting.length === 0) return []
  return writePlacements(trx, fitting, names)
}

/** Placements in their order, as long as each still fits beside those before it. Pure. */
export function dropOversubscribed(
  placements: readonly Placement[],
  agents: ReadonlyMap<AgentId, AgentSnapshot>,
): Placement[] {
  const free = new Map([...agents].map(([id, agent]) => [id, subtractSlots(agent.capacity, agent.occupied)]))
  const freeOnDevice = new Map<string, number>(
    [...agents].flatMap(([id, agent]) =>
      agent.devices.map(device => [`${id} ${device.slot} ${device.uuid}`, device.total - device.occupied] as const),
    ),
  )
  return placements.filter(({ agentId, requested, devices }) => {
    const room = free.get(agentId)
    if (!room || lackingSlots(requested, room).length > 0) return false
    const keys = devices.map(device => ({ key: `${agentId} ${device.slot} ${device.uuid}`, amount: device.amount }))
    if (keys.some(({ key, amount }) => amount > (freeOnDevice.get(key) ?? 0))) return false
    free.set(agentId, subtractSlots(room, requested))
    for (const { key, amount } of keys) freeOnDevice.set(key, (freeOnDevice.get(key) ?? 0) - amount)
    return true
  })
}

async function writePlacements(
  trx: Db,
  placements: readonly Placement[],
  names: ReadonlyMap<AgentId, string>,
): Promise<readonly Touched[]> {
  const placed = placements.map(placement => {
    const name = names.get(placement.agentId) ?? placement.agentId
    return { ...placement, reason: { code: 'placed', message: `Placed on agent ${name}.` } as const }
  })
  const { touched, kernelOf } = await markScheduled(trx, placed)
  const kernelIdOf = (sessionId: SessionId) => {
    const kernelId = kernelOf.get(sessionId)
    if (kernelId === undefined) throw new Error(`session ${sessionId} has no kernel`)
    return kernelId
  }
  await insertKernelDevices(
    trx,
    placed.flatMap(({ sessionId, agentId, devices }) =>
      devices.map(device => ({ kernel_id: kernelIdOf(sessionId), agent_id: agentId, ...device })),
    ),
  )
  await insertSessionEvents(
    trx,
    placed.map(({ sessionId, reason }) => ({
      sessionId,
      kernelId: kernelIdOf(sessionId),
      from: 'PENDING',
      to: 'SCHEDULED',
      reason,
      actor: null,
    })),
  )
  return touched
}
