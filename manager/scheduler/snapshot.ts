import { defined } from '#base/defined'
import { allDone } from '#base/all-done'
import { type KernelFolder, type KernelMounts } from '#agent/contract'
import {
  addSlots,
  type AgentId,
  type Device,
  type Engine,
  type FolderId,
  type KernelId,
  type Reason,
  type ResourceSlots,
  type SessionId,
} from '#manager/contract'
import { readGivable } from './givable.ts'
import { kindOf } from './gpu-kind.ts'
import { type Orphan } from './orphans.ts'
import { type AgentRow, listAgents, readUsage } from '../store/agents/agents.ts'
import { type LimitsNow, readLimits } from './read-limits.ts'
import { listDependencies } from '../store/sessions/dependencies.ts'
import { readArchitectures, readImageDigests } from '../store/images/images.ts'
import { type ScopedSession } from '../store/quotas/limits.ts'
import { readClock } from '../store/clock.ts'
import { countFreeClusterNetworks, readHoldings } from '../store/sessions/placements.ts'
import { listMortalKernels } from '../store/sessions/occupants.ts'
import { readPullable } from '../store/images/registry-images.ts'
import { findReservation, findResourceGroup } from '../store/quotas/resource-groups.ts'
import { readStorageOfPending } from '../store/sessions/session-folders.ts'
import { findInterruption, type HoldingRow, listHolding } from '../store/sessions/interruptions.ts'
import { type Db } from '../store/schema.ts'
import { listPending, type QueuedRow } from '../store/sessions/queue.ts'
import { judgeDependencies } from './dependencies.ts'
import { enqueuedAt, judgeStartTimes } from './start-times.ts'
import { latestEndOf, longestHold } from './latest-end.ts'
import {
  type AgentSnapshot,
  concentrated,
  type DeviceSnapshot,
  dispersed,
  drf,
  fifo,
  type GroupSnapshot,
  type HoldingSession,
  lifo,
  roundRobin,
  type Selector,
  type Sequencer,
} from './plan/index.ts'

/** State of an agent that only this process knows. */
export interface AgentPresence {
  /** Whether work may be sent to the agent: it is connected, its state is reconciled, and its engine answers. */
  isReady(id: AgentId): boolean
}

/** Reports of agents about the folders of running sessions. */
export interface MountsPresence {
  /** Undefined until the agent has reported it on this connection. */
  mounts(agentId: AgentId, kernelId: KernelId): KernelMounts | undefined
}

/** `MountsPresence` that also records replies of agents, which count like reports. */
export interface MountsMemory extends MountsPresence {
  /** Call when the agent has answered that it mounted the folder. */
  noteMounted(agentId: AgentId, kernelId: KernelId, folder: KernelFolder): void
  /** Call when the agent has answered that it removed the folder. */
  noteUnmounted(agentId: AgentId, kernelId: KernelId, folder: FolderId): void
}

/** Further state of agents that is needed to place sessions. */
export interface PlacingPresence extends AgentPresence {
  /** Containers on the agent that belong to no kernel in the database. */
  orphans(id: AgentId): readonly Orphan[]
  /** Whether the agent is connected, but its engine has not answered for so long that no session waits for it. */
  engineIsDown(id: AgentId): boolean
  /** Whether the agent is connected and itself reports that no session can start there now. */
  isUnfit(id: AgentId): boolean
  /** Markers of the storages that the agent has mounted. */
  storage(id: AgentId): ReadonlySet<string>
  /** Architectures of images that the agent runs; undefined if it does not report them. */
  architectures(id: AgentId): ReadonlySet<string> | undefined
  /** Address of the agent in the private network between hosts; undefined if it takes no part in sessions over several hosts. */
  clusterAddress(id: AgentId): string | undefined
  /** Whether the agent keeps sessions from the network, or within an allow list. */
  restricts(id: AgentId): boolean
}

const SHARES_PER_DEVICE = 100

const SEQUENCERS: Readonly<Record<string, Sequencer>> = { fifo, lifo, drf }
const SELECTORS: Readonly<Record<string, Selector>> = { concentrated, dispersed, 'round-robin': roundRobin }

export interface GroupState {
  /** The sequencer that an admin has set; the default for a group that only an imported container names. */
  readonly sequencer: Sequencer
  readonly selector: Selector
  /** The program that allocates resources for its sessions; only `berth` plans. */
  readonly engine: Engine
  readonly snapshot: GroupSnapshot
  /** Reasons that are stored with the pending sessions now. */
  readonly written: ReadonlyMap<SessionId, Reason>
  /** Pending sessions left out of the snapshot, because a session they depend on did not end well. */
  readonly doomed: ReadonlyMap<SessionId, Reason>
  /** Pending sessions left out of the snapshot, because their start time has not come. */
  readonly later: ReadonlyMap<SessionId, Reason>
  /** Limits of all waiting sessions, and of the forecast session. */
  readonly limits: LimitsNow
}

/**
 * Reads the present state of one resource group. Usage comes from kernels, so it cannot drift.
 *
 * @param forecast for a hypothetical session: its limits are read as well, and the rows of the group's agents are those with which the
 *   request was checked
 */
export async function readGroup(
  db: Db,
  resourceGroup: string,
  presence: PlacingPresence,
  forecast?: { readonly asker: ScopedSession; readonly agents: readonly AgentRow[] },
): Promise<GroupState> {
  const [group, agents, pending, now, reservation, interruption, dependencies] = await Promise.all([
    findResourceGroup(db, resourceGroup),
    Promise.resolve(forecast?.agents ?? listAgents(db, resourceGroup)).then(rows => readAgents(db, rows, presence)),
    listPending(db, resourceGroup),
    readClock(db),
    findReservation(db, resourceGroup),
    findInterruption(db, resourceGroup),
    listDependencies(db, resourceGroup).then(judgeDependencies),
  ])
  const scoped = pending.map(toScoped)
  const images = pending.map(({ image }) => image)
  // Read this after the sessions: a session that was added meanwhile must not be planned without its storages.
  const [storage, pullable, givable, architectures, limits, usage, holding] = await Promise.all([
    readStorageOfPending(db, resourceGroup),
    readPullable(db, images),
    readGivable(
      db,
      pending.map(({ image, image_digest: digest }) => ({ reference: image, digest })),
      presence,
    ),
    readArchitectures(
      db,
      pending.flatMap(({ image_digest }) => image_digest ?? []),
    ),
    readLimits(db, resourceGroup, forecast ? [...scoped, forecast.asker] : scoped),
    group?.sequencer === 'drf' ? readHoldings(db, resourceGroup) : undefined,
    group?.options.interruption ? listHolding(db, resourceGroup) : undefined,
  ])
  const later = judgeStartTimes(pending, now)
  const {
    reserveAfterSeconds,
    requireIsolation,
    weights,
    projectWeights,
    splitShares,
    spreadClusters,
    interruption: rules,
  } = group?.options ?? {}
  const mayCrossHosts = forecast !== undefined || pending.some(({ cluster_mode: mode }) => mode === 'multi-host')
  const freeHostNetworks = mayCrossHosts ? await countFreeClusterNetworks(db) : undefined
  const snapshot: GroupSnapshot = {
    agents,
    now,
    ...defined({ freeHostNetworks }),
    active: group?.active ?? true,
    notice: group?.notice ?? '',
    options: {
      ...(reserveAfterSeconds === undefined ? {} : { reserveAfterMs: reserveAfterSeconds * 1000 }),
      ...defined({ weights, projectWeights, requireIsolation, splitShares, spreadClusters }),
      ...(rules === undefined
        ? {}
        : { interruption: { minRunMs: rules.minRunSeconds * 1000, warnMs: rules.warnSeconds * 1000 } }),
    },
    ...(holding ? { holding: holding.map(toHolding) } : {}),
    interruption,
    ...(usage ? { usage } : {}),
    reservation,
    scopes: limits.scopes,
    pending: pending
      .filter(({ id }) => !dependencies.failed.has(id) && !later.has(id))
      .map(session => ({
        id: session.id,
        ownerId: session.owner_id,
        projectId: session.group_id,
        enqueuedAt: enqueuedAt(session),
        requested: session.requested,
        gpu: session.gpu ?? undefined,
        slurm: session.slurm ?? undefined,
        clusterSize: session.cluster_size,
        clusterMode: session.cluster_mode,
        restricted: session.allowed_names !== null,
        priority: session.priority,
        interruptible: session.interruptible,
        waitsFor: dependencies.waitsFor.get(session.id),
        image: session.image,
        imageDigest: session.image_digest,
        pullable:
          pullable.has(`${session.image} ${session.image_digest}`) ||
          givable.has({ reference: session.image, digest: session.image_digest ?? '' }),
        architecture: architectures.get(session.image_digest ?? ''),
        storage: storage.get(session.id),
        failedAgents: session.failed_agents,
        onlyOn: session.files_on ?? undefined,
        longestHold: longestHold(session.max_lifetime_seconds),
        ...limits.of(toScoped(session)),
      })),
  }
  return {
    snapshot,
    sequencer: SEQUENCERS[group?.sequencer ?? 'fifo'] ?? fifo,
    selector: SELECTORS[group?.selector ?? 'concentrated'] ?? concentrated,
    engine: group?.engine ?? 'berth',
    doomed: dependencies.failed,
    later,
    written: new Map(pending.map(session => [session.id, session.reason])),
    limits,
  }
}

function toScoped({ id, owner_id, keypair, group_id, domain }: QueuedRow): ScopedSession {
  return { id, ownerId: owner_id, keypair, groupId: group_id, domain }
}

/** An agent as if nothing ran on it, for judging a request before it is in a queue. */
export function emptyAgent(row: AgentRow, presence: PlacingPresence): AgentSnapshot {
  return {
    id: row.id,
    name: row.name,
    capacity: row.capacity,
    occupied: {},
    occupants: [],
    devices: usableDevices(row).map(device => ({ ...toFree(device), occupied: 0 })),
    images: new Set(),
    schedulable: row.schedulable,
    unfit: presence.isUnfit(row.id),
    storage: presence.storage(row.id),
    architectures: presence.architectures(row.id),
    clusterAddress: presence.clusterAddress(row.id),
    restricts: presence.restricts(row.id),
    isolated: row.network_isolation === 'full',
    connected: presence.isReady(row.id),
    lost: row.status === 'LOST' || presence.engineIsDown(row.id),
  }
}

function toHolding({ slots, isLeaving, isAnnounced, ...holding }: HoldingRow): HoldingSession {
  const state = isLeaving ? 'leaving' : isAnnounced ? 'announced' : 'may'
  return { ...holding, state, slots: slots.reduce<ResourceSlots>(addSlots, {}) }
}

/** Devices without a problem, which alone are allocated. Slots held on the others still count in the agent's `occupied`. */
const usableDevices = ({ devices }: AgentRow) => devices.filter(({ problem }) => problem === null)

const toFree = (device: Device): Omit<DeviceSnapshot, 'occupied'> => ({
  uuid: device.uuid,
  slot: device.slot,
  total: totalOf(device.slot),
  kind: kindOf(device),
})

const totalOf = (slot: DeviceSnapshot['slot']) => (slot === 'cuda.device' ? 1 : SHARES_PER_DEVICE)

/** Agents with their free capacity only: a plan also needs their images and the ends of kernels. */
export async function readFreeCapacity(
  db: Db,
  rows: readonly AgentRow[],
  presence: PlacingPresence,
): Promise<readonly AgentSnapshot[]> {
  const occupancy = await readOccupancy(db, rows, presence)
  return rows.map(row => ({ ...emptyAgent(row, presence), ...occupancy.get(row.id) }))
}

async function readAgents(
  db: Db,
  rows: readonly AgentRow[],
  presence: PlacingPresence,
): Promise<readonly AgentSnapshot[]> {
  const ids = rows.map(row => row.id)
  const [agents, images, mortalKernels] = await allDone([
    readFreeCapacity(db, rows, presence),
    readImageDigests(db, ids),
    listMortalKernels(db, ids),
  ])
  const mortal = Map.groupBy(mortalKernels, kernel => kernel.agentId)
  return agents.map(agent => ({
    ...agent,
    occupants: (mortal.get(agent.id) ?? []).map(kernel => ({
      slots: kernel.slots,
      devices: kernel.devices,
      latestEnd: latestEndOf(kernel, images.get(agent.id)),
    })),
    images: images.get(agent.id) ?? new Set<string>(),
  }))
}

/** Capacity of an agent, and how much of it is taken. */
export type Occupancy = Pick<AgentSnapshot, 'capacity' | 'occupied' | 'devices'>

export async function readOccupancy(
  db: Db,
  rows: readonly AgentRow[],
  presence: Pick<PlacingPresence, 'orphans'>,
): Promise<ReadonlyMap<AgentId, Occupancy>> {
  const usage = await readUsage(
    db,
    rows.map(row => row.id),
  )
  return new Map(
    rows.map(row => {
      const orphans = presence.orphans(row.id)
      const occupancy: Occupancy = {
        capacity: row.capacity,
        occupied: orphans.reduce((sum, { slots }) => addSlots(sum, slots), usage.slots(row.id)),
        devices: usableDevices(row).map((device): DeviceSnapshot => {
          const { uuid, slot } = device
          const total = totalOf(slot)
          const held = orphans.flatMap(orphan => orphan.devices.filter(device => device.uuid === uuid))
          const taken = usage.device(row.id, uuid)
          // A device held in the other mode (by an imported container) counts as full.
          const amounts = (taken ? [taken, ...held] : held).map(one => (one.slot === slot ? one.amount : total))
          return { ...toFree(device), occupied: amounts.reduce((sum, amount) => sum + amount, 0) }
        }),
      }
      return [row.id, occupancy]
    }),
  )
}
