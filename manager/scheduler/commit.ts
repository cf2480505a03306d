import { type AgentId, because, lackingSlots, reasonOf, type SessionId, subtractSlots } from '#manager/contract'
import { type AgentRow, findAgents } from '../store/agents/agents.ts'
import { readLimits } from './read-limits.ts'
import { insertKernelDevices } from '../store/sessions/kernels.ts'
import { listScopedSessions, listScopes, lockLimits, scopeIdsOf } from '../store/quotas/limits.ts'
import { type Store } from '../store/open-store.ts'
import { holdPause } from '../store/operation/pause.ts'
import {
  countFreeClusterNetworks,
  lockClusterNetworks,
  lockPending,
  markScheduled,
} from '../store/sessions/placements.ts'
import { findResourceGroup, lockResourceGroup } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { lowerMounts } from '../store/sessions/rights.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { holdFoldersOf } from '../store/storage/folders.ts'
import { type Touched } from '../store/sessions/touches.ts'
import { Limits, partsOf, type Placement } from './plan/index.ts'
import { type ReadRights } from './rights.ts'
import { type Occupancy, type PlacingPresence, readOccupancy } from './snapshot.ts'

/** Number of placements per transaction: large enough to be cheap, small enough not to delay other transactions. */
const BATCH = 200

interface CommitDeps {
  readonly presence: PlacingPresence
  readonly rights: ReadRights
}

/**
 * Writes placements and leaves out those that are no longer possible: the session is not pending any more, its slots or devices are taken,
 * a limit is reached, or a right was withdrawn. Leaves out all of them if an admin has paused everything, or closed the group. Capacity is
 * checked again under the lock of the resource group, so that two concurrent schedulers (or an import of running containers) cannot
 * allocate the same capacity twice.
 *
 * @param onCommitted called after each transaction: a later one may fail
 */
export async function commitPlacements(
  store: Store,
  resourceGroup: string,
  placements: readonly Placement[],
  { onCommitted, ...deps }: CommitDeps & { readonly onCommitted?: (touched: readonly Touched[]) => void },
): Promise<Touched[]> {
  const committed: Touched[] = []
  for (let start = 0; start < placements.length; start += BATCH) {
    const batch = placements.slice(start, start + BATCH)
    const placed = await store.transaction(trx => commitBatch(trx, resourceGroup, batch, deps))
    onCommitted?.(placed)
    committed.push(...placed)
  }
  return committed
}

async function commitBatch(
  trx: Db,
  resourceGroup: string,
  placements: readonly Placement[],
  { presence, rights }: CommitDeps,
): Promise<readonly Touched[]> {
  if (await holdPause(trx)) return []
  await lockResourceGroup(trx, resourceGroup)
  if ((await findResourceGroup(trx, resourceGroup))?.active === false) return []
  const wanted = new Set(placements.flatMap(placement => partsOf(placement).map(part => part.agentId)))
  const found = await findAgents(trx, [...wanted])
  const rows = found.filter(row => row !== undefined).filter(row => takesSessions(row, resourceGroup))
  const agents = await readOccupancy(trx, rows, presence)
  const names = new Map(rows.map(row => [row.id, row.name]))
  const pending = await lockPending(
    trx,
    placements.map(placement => placement.sessionId),
  )
  const waiting = placements.filter(placement => pending.has(placement.sessionId))
  const fitting = await dropOverLimit(trx, resourceGroup, dropOversubscribed(waiting, agents), agents)
  const rightful = await dropWithoutNetwork(trx, await dropWithdrawn(trx, fitting, rights))
  if (rightful.length === 0) return []
  return writePlacements(trx, rightful, names)
}

/** Whether the chosen agent still accepts sessions of the group. An admin may have moved, closed or revoked it since. */
const takesSessions = ({ resource_group, status, schedulable }: AgentRow, resourceGroup: string): boolean =>
  resource_group === resourceGroup && status !== 'REVOKED' && schedulable

/** Keeps the sessions over several hosts for which there are networks: another group may have taken the last ones since the plan. */
async function dropWithoutNetwork(trx: Db, placements: readonly Placement[]): Promise<readonly Placement[]> {
  if (placements.every(({ hosts }) => hosts === undefined)) return placements
  await lockClusterNetworks(trx)
  let left = await countFreeClusterNetworks(trx)
  return placements.filter(({ hosts }) => hosts === undefined || left-- > 0)
}

/** Keeps the placements whose owners still have the rights, and makes mounts read-only that may now only be read. */
async function dropWithdrawn(
  trx: Db,
  placements: readonly Placement[],
  readRights: ReadRights,
): Promise<readonly Placement[]> {
  if (placements.length === 0) return []
  const ids = placements.map(({ sessionId }) => sessionId)
  // Waiting sessions hold no folder: a folder that is being moved to the trash is either seen here as trashed, or its move sees the
  // placement.
  await holdFoldersOf(trx, ids)
  const { withdrawn, lowered } = await readRights(trx, { ids })
  const kept = placements.filter(({ sessionId }) => !withdrawn.has(sessionId))
  await lowerMounts(trx, lowered)
  await insertSessionEvents(
    trx,
    lowered.map(({ sessionId, name }) => ({
      sessionId,
      kernelId: null,
      from: 'PENDING',
      to: 'PENDING',
      reason: reasonOf('folder_lowered', because('folder_read_only_now', { name })),
      actor: null,
    })),
  )
  return kept
}

/** Keeps, in order, the placements that still fit beside those kept already. Pure. */
export function dropOversubscribed(
  placements: readonly Placement[],
  agents: ReadonlyMap<AgentId, Occupancy>,
): Placement[] {
  const free = new Map([...agents].map(([id, agent]) => [id, subtractSlots(agent.capacity, agent.occupied)]))
  const freeOnDevice = new Map<string, number>(
    [...agents].flatMap(([id, agent]) =>
      agent.devices.map(device => [`${id} ${device.slot} ${device.uuid}`, device.total - device.occupied] as const),
    ),
  )
  return placements.filter(placement => {
    const parts = partsOf(placement)
    // Two kernels of one session may share a device.
    const wanted = new Map<string, number>()
    for (const { agentId, requested, devices } of parts) {
      const room = free.get(agentId)
      if (!room || lackingSlots(requested, room).length > 0) return false
      for (const { slot, uuid, amount } of devices) {
        const key = `${agentId} ${slot} ${uuid}`
        wanted.set(key, (wanted.get(key) ?? 0) + amount)
      }
    }
    for (const [key, amount] of wanted) if (amount > (freeOnDevice.get(key) ?? 0)) return false
    for (const { agentId, requested } of parts) free.set(agentId, subtractSlots(free.get(agentId) ?? {}, requested))
    for (const [key, amount] of wanted) freeOnDevice.set(key, (freeOnDevice.get(key) ?? 0) - amount)
    return true
  })
}

/**
 * Keeps, in order, the placements that are within every limit beside those kept before them. Limits span all resource groups, each of which
 * may be scheduled by other managers, so if any limit applies, one lock serialises the commits.
 */
async function dropOverLimit(
  trx: Db,
  resourceGroup: string,
  placements: readonly Placement[],
  agents: ReadonlyMap<AgentId, Pick<Occupancy, 'devices'>>,
): Promise<Placement[]> {
  const sessions = await listScopedSessions(
    trx,
    placements.map(({ sessionId }) => sessionId),
  )
  const ids = scopeIdsOf(sessions)
  if ((await listScopes(trx, ids, { limitedOnly: true })).length > 0) await lockLimits(trx)
  const now = await readLimits(trx, resourceGroup, sessions)
  const limits = new Limits(now.scopes)
  const limitsOf = new Map(sessions.map(session => [session.id, now.of(session)]))
  return placements.filter(placement => {
    const session = { requested: placement.requested, ...limitsOf.get(placement.sessionId) }
    const given = partsOf(placement).flatMap(({ agentId, devices }) =>
      devices.map(({ uuid, slot, amount }) => ({
        slot,
        amount,
        kind: agents.get(agentId)?.devices.find(device => device.uuid === uuid)?.kind,
      })),
    )
    if (!limits.allows(session) || !limits.allowsDevices(session, given)) return false
    limits.take(session, given)
    return true
  })
}

async function writePlacements(
  trx: Db,
  placements: readonly Placement[],
  names: ReadonlyMap<AgentId, string>,
): Promise<readonly Touched[]> {
  const placed = placements.map(placement => {
    const hosts = partsOf(placement).map(({ agentId }) => names.get(agentId) ?? agentId)
    const where =
      hosts.length === 1
        ? because('placed_on', { host: hosts.join() })
        : because('placed_on_hosts', { hosts: hosts.join(', ') })
    return { ...placement, reason: reasonOf('placed', where) }
  })
  const { touched, kernelsOf } = await markScheduled(trx, placed)
  const kernelIdOf = (sessionId: SessionId, index = 0) => {
    const kernelId = kernelsOf.get(sessionId)?.[index]
    if (kernelId === undefined) throw new Error(`session ${sessionId} has no kernel ${index}`)
    return kernelId
  }
  await insertKernelDevices(
    trx,
    placed.flatMap(({ sessionId, agentId, hosts = [], devices, kernels = [devices] }) =>
      kernels.flatMap((own, index) =>
        own.map(device => ({
          kernel_id: kernelIdOf(sessionId, index),
          agent_id: hosts[index] ?? agentId,
          ...device,
        })),
      ),
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
