import {
  because,
  type Because,
  choiceText,
  countedMemory,
  formatSlots,
  type GpuKind,
  inTurn,
  type Reason,
  reasonOf,
  type ResourceSlots,
  SLOT_NAMES,
  type SlotName,
  SLOTS,
} from '#manager/contract'
import { bare, readableOf } from './amounts.ts'
import { type GpuNeed, meets } from './gpu-need.ts'
import { DEVICE_SLOTS } from './device-slot.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type AgentSnapshot, type DeviceSnapshot, type PendingSession, type PlanOptions, totalOf } from './snapshot.ts'

/** Input for the explanation of a waiting session. */
export interface Situation {
  readonly session: PendingSession
  /** All agents of the group. */
  readonly agents: readonly AgentSnapshot[]
  readonly options?: PlanOptions | undefined
  // Each list has one free capacity per equivalence class, which represents all equivalent ones.
  /** Free capacities of all agents of the group, as if nothing ran on them. */
  readonly empty: readonly FreeCapacity[]
  /** Capacities of the agents that take sessions, as if nothing ran there. */
  readonly open: readonly FreeCapacity[]
  /** Capacities, as if nothing ran there, of the agents that take sessions, have the storages, and hold the image or can pull it. */
  readonly holders: readonly FreeCapacity[]
  /** Current free capacities of the agents that may take this session. */
  readonly freeCapacities: readonly FreeCapacity[]
  /** Free amounts on these agents together. */
  readonly free: ResourceSlots
  /** Whether the session would have fitted before the sessions ahead of it were placed in this pass. */
  readonly fittedBefore: boolean
  /** Name of the agent where the session would fit if the free capacity there were not held for the reservation. */
  readonly kept?: string | undefined
}

export function isWaitingFor({ waitsFor }: PendingSession): boolean {
  return waitsFor !== undefined && waitsFor.length > 0
}

export function dependencyReason({ waitsFor = [] }: PendingSession): Reason | undefined {
  if (waitsFor.length === 0) return undefined
  const names = waitsFor.map(name => `"${name}"`).join(', ')
  return reasonOf('dependencies', because('starts_after', { sessions: names, count: waitsFor.length }))
}

/** The main reason why a session waits: the first that applies, in the order below. */
export function explain(situation: Situation): Reason {
  return (
    noAgent(situation) ??
    filesAway(situation) ??
    networkNowhere(situation) ??
    architectureNowhere(situation) ??
    storageNowhere(situation) ??
    imageNowhere(situation) ??
    gpuNowhere(situation) ??
    tooLarge(situation) ??
    noFreeCapacity(situation)
  )
}

function noAgent({ agents, open }: Situation): Reason | undefined {
  if (agents.length === 0) return reasonOf('no_agents', because('no_host_joined'))
  if (!agents.some(agent => agent.connected)) {
    return { code: 'agents_unreachable', message: 'No host of this resource group is connected.' }
  }
  if (!agents.some(agent => canTake(agent)) && agents.some(agent => canTake({ ...agent, unfit: false }))) {
    return reasonOf('no_agents', because('no_host_can_start'))
  }
  if (!agents.some(agent => canTake(agent))) {
    return reasonOf('no_agents', because('hosts_paused'))
  }
  if (open.length === 0) {
    return reasonOf('no_agents', because('no_host_isolates'))
  }
  return undefined
}

function filesAway({ session: { onlyOn }, agents, options }: Situation): Reason | undefined {
  const agent = agents.find(({ id }) => id === onlyOn)
  if (onlyOn === undefined || (agent && canTake(agent, options))) return undefined
  const why = agent
    ? because(canTake(agent) ? 'files_on_host_without_isolation' : 'files_on_host_away', { host: agent.name })
    : because('files_on_other_host')
  return reasonOf('agents_unreachable', why)
}

/** Whether the agent keeps the session from the network, or within its allow list, if it has to be. */
export function keepsIn({ restricts = false }: AgentSnapshot, { restricted = false }: PendingSession): boolean {
  return restricts || !restricted
}

/** Hosts that keep sessions in are missing, or too small. */
function networkNowhere({ session, agents, options }: Situation): Reason | undefined {
  const takers = agents.filter(agent => canTake(agent, options))
  const { onlyOn } = session
  const able = takers.filter(agent => keepsIn(agent, session) && (onlyOn === undefined || agent.id === onlyOn))
  return able.length > 0 ? undefined : reasonOf('network_nowhere', because('no_host_restricts'))
}

/** Whether the agent runs images of the session's architecture, as far as both are known. */
export function runsImage({ architectures }: AgentSnapshot, { architecture }: PendingSession): boolean {
  return architecture === undefined || architectures === undefined || architectures.has(architecture)
}

function architectureNowhere({ session, agents, options, open, holders }: Situation): Reason | undefined {
  const {
    architecture,
    image,
    imageDigest: digest,
    pullable = false,
    storage = [],
    requested,
    clusterSize,
    gpu,
  } = session
  const takers = agents.filter(agent => canTake(agent, options))
  if (architecture === undefined || takers.every(agent => runsImage(agent, session))) return undefined
  const values = { image, architecture }
  const runners = takers.filter(agent => runsImage(agent, session))
  if (runners.length === 0) return reasonOf('architecture_nowhere', because('architecture_on_no_host', values))
  const has = (agent: AgentSnapshot) => digest !== null && agent.images.has(digest)
  if (!pullable && takers.some(has) && !runners.some(has)) {
    return reasonOf('architecture_nowhere', because('architecture_not_at_image', values))
  }
  const fits = (freeCapacity: FreeCapacity) => freeCapacity.fits(requested, false, clusterSize, gpu)
  // Other causes also exclude hosts, and have their own reason.
  if (!pullable || storage.length > 0 || holders.some(fits) || !open.some(fits)) return undefined
  return reasonOf('architecture_nowhere', because('architecture_hosts_too_small', values))
}

/** Whether the agent has all storages that the session needs. */
export function hasStorage({ storage: mounted }: AgentSnapshot, { storage = [] }: PendingSession): boolean {
  return storage.every(({ marker }) => mounted?.has(marker) ?? false)
}

function storageNowhere({ session, agents, options, open, holders }: Situation): Reason | undefined {
  const { storage = [], image, requested, clusterSize, gpu, onlyOn } = session
  if (storage.length === 0) return undefined
  const names = storage.map(({ name }) => `"${name}"`).join(', ')
  if (!agents.some(agent => canTake(agent, options) && hasStorage(agent, session))) {
    return reasonOf('storage_nowhere', because('storage_on_no_host', { storage: names }))
  }
  if (onlyOn !== undefined) {
    const agent = agents.find(({ id }) => id === onlyOn)
    if (!agent || hasStorage(agent, session)) return undefined
    return reasonOf('storage_nowhere', because('storage_not_on_host', { host: agent.name, storage: names }))
  }
  if (holders.length === 0) {
    return reasonOf('storage_nowhere', because('storage_and_image_nowhere', { storage: names, image }))
  }
  const fits = (freeCapacity: FreeCapacity) => freeCapacity.fits(requested, false, clusterSize, gpu)
  if (holders.some(fits) || !open.some(fits)) return undefined
  return reasonOf('storage_nowhere', because('storage_hosts_too_small', { storage: names }))
}

function imageNowhere({ session, agents, open, holders }: Situation): Reason | undefined {
  const { imageDigest: digest, image, requested, clusterSize, gpu, pullable = false } = session
  if (pullable && digest !== null) return undefined
  if (holders.length === 0) {
    const isHeld = agents.some(agent => agent.connected && digest !== null && agent.images.has(digest))
    return reasonOf('image_nowhere', because(isHeld ? 'image_hosts_closed' : 'image_on_no_host', { image }))
  }
  const fits = (freeCapacity: FreeCapacity) => freeCapacity.fits(requested, false, clusterSize, gpu)
  if (holders.some(fits) || !open.some(fits)) return undefined
  return reasonOf('image_nowhere', because('image_hosts_too_small', { image }))
}

/** The session chooses GPUs, and no host that takes sessions has one of them, whatever is free. */
function gpuNowhere({ session, agents, options }: Situation): Reason | undefined {
  const { gpu, requested } = session
  if (gpu === undefined) return undefined
  const takers = agents.filter(agent => canTake(agent, options))
  if (takers.some(agent => hasGpu(agent, requested, gpu))) return undefined
  if (agents.some(agent => hasGpu(agent, requested, gpu))) {
    return reasonOf('gpu_nowhere', because('gpu_hosts_away', { gpu: choiceText(gpu) }))
  }
  return reasonOf('gpu_nowhere', noSuchGpu(gpu, takers))
}

/** Whether the agent has a chosen device of each kind of amount that the request names. */
export function hasGpu({ devices }: AgentSnapshot, requested: ResourceSlots, gpu: GpuNeed): boolean {
  const asked = DEVICE_SLOTS.filter(slot => (requested[slot] ?? 0) > 0)
  return asked.every(slot => devices.some(({ kind, ...device }) => device.slot === slot && kind && meets(gpu, kind)))
}

/** Says that no host has such a GPU, and which GPUs there are. */
export function noSuchGpu(gpu: GpuNeed, agents: readonly AgentSnapshot[]): Because {
  const values = { gpu: choiceText(gpu) }
  const there = new Set(
    agents.flatMap(({ devices }) => devices.flatMap(device => (device.kind ? [kindText(device, device.kind)] : []))),
  )
  const models = [...there].toSorted()
  if (models.length === 0) return because('gpu_without_any', values)
  const more = models.length > MOST_MODELS ? ', …' : ''
  return because('gpu_on_no_host', { ...values, models: models.slice(0, MOST_MODELS).join(', ') + more })
}

/** Models that a reason names. */
const MOST_MODELS = 12

/** `NVIDIA H100 80GB HBM3 (80 GiB)`, with `fGPU` where it is given out in shares. */
function kindText({ slot }: DeviceSnapshot, { model, memBytes }: GpuKind): string {
  const memory = memBytes > 0 ? `${countedMemory(memBytes) / 2 ** 30} GiB` : ''
  const facts = [memory, slot === 'cuda.shares' ? SLOTS[slot].label : ''].filter(Boolean)
  return facts.length === 0 ? model : `${model} (${facts.join(', ')})`
}

function tooLarge({ session, empty, open }: Situation): Reason | undefined {
  const { clusterSize, gpu } = session
  const fits = (freeCapacity: FreeCapacity) => freeCapacity.fits(session.requested, false, clusterSize, gpu)
  if (open.some(fits)) return undefined
  const requested = totalOf(session)
  const needed = formatSlots(requested)
  if (empty.some(fits)) {
    return reasonOf('agents_unreachable', because('large_hosts_away'), { needed })
  }
  const { slots, available } = closest(session, empty)
  const amounts = { needed: only(requested, slots), available: only(available, slots) }
  const lacks = lacksOf(slots, { requested, available, gpu }, ['needs_largest_host', 'needs_of_no_host'])
  return reasonOf('too_large', inTurn(lacks, because('ask_for_less')), amounts)
}

function noFreeCapacity({ session, freeCapacities, free, fittedBefore, kept }: Situation): Reason {
  const requested = totalOf(session)
  const { gpu } = session
  const { slots, available } = closest(session, freeCapacities)
  const amounts = { needed: only(requested, slots), available: only(available, slots) }
  if (kept !== undefined) {
    return reasonOf('queued_behind', because('kept_on_host', { host: kept }), amounts)
  }
  if (fittedBefore) {
    return { code: 'queued_behind', message: 'Sessions ahead in the queue took what was free.', ...amounts }
  }
  const inSum = SLOT_NAMES.every(slot => (requested[slot] ?? 0) <= (free[slot] ?? 0))
  if (inSum) {
    const lacks = lacksOf(slots, { requested, available, gpu }, ['needs_free_on_one', 'needs_none_free'])
    return reasonOf('fragmentation', inTurn(lacks, because('free_in_total')), amounts)
  }
  const lacks = lacksOf(slots, { requested, available, gpu }, ['needs_free', 'needs_none_free'])
  return reasonOf('capacity', inTurn(lacks, because('starts_when_others_end')), amounts)
}

/** Where the kernels of a session could be. */
interface GangSituation {
  /** Number of agents that may take it and have an address in the private network. */
  readonly networked: number
  /** Number of its kernels that these agents have room for, now and when empty. */
  readonly room: { readonly now: number; readonly empty: number }
  /** Whether an agent could hold all of them when empty. */
  readonly fitsOne: boolean
  /** Whether a network between hosts is left. */
  readonly hasNetwork: boolean
}

/**
 * Why the kernels of a session that may be on several agents cannot start together.
 * @returns undefined if only a single agent could hold them
 */
export function gangReason(
  { clusterSize: needed = 1 }: PendingSession,
  { networked, room, fitsOne, hasNetwork }: GangSituation,
): Reason | undefined {
  if (!hasNetwork && networked >= 2 && room.now >= needed)
    return reasonOf('no_host_network', because('host_networks_used'))
  if (networked >= 2 && room.empty >= needed)
    return reasonOf('capacity', because('gang_needs_room', { needed, available: room.now }))
  if (fitsOne) return undefined
  if (networked < 2) return reasonOf('no_host_network', because('hosts_not_connected', { count: networked }))
  return reasonOf('too_large', because('gang_too_large', { needed, available: room.empty }))
}

export function canTake(
  agent: AgentSnapshot,
  { requireIsolation = false }: { readonly requireIsolation?: boolean | undefined } = {},
): boolean {
  return agent.connected && agent.schedulable && agent.unfit !== true && (!requireIsolation || agent.isolated === true)
}

/** Whether the agent is disconnected but expected back in a moment, and will then take sessions. */
export function isAwaited(agent: AgentSnapshot, options?: PlanOptions): boolean {
  return !agent.connected && agent.lost !== true && canTake({ ...agent, connected: true }, options)
}

/**
 * The free capacity that lacks the fewest slots. Of equal ones, the one with most of the lacking slots, relative to the request: first of
 * the scarcest slot, then in sum.
 */
export function closest(
  session: Pick<PendingSession, 'requested' | 'clusterSize' | 'gpu'>,
  freeCapacities: readonly FreeCapacity[],
): { slots: readonly SlotName[]; available: ResourceSlots } {
  const requested = totalOf(session)
  const asked = SLOT_NAMES.filter(slot => (requested[slot] ?? 0) > 0)
  let best: FreeCapacity | undefined
  let [bestRank, bestSum] = [-Infinity, 0]
  for (const freeCapacity of freeCapacities) {
    let [rank, scarcest, sum] = [0, Infinity, 0]
    for (const slot of asked) {
      if (!freeCapacity.lacks(slot, session.requested[slot], session.clusterSize, session.gpu)) continue
      const share = freeCapacity.largest(slot, session.gpu) / (requested[slot] ?? 1)
      rank--
      scarcest = Math.min(scarcest, share)
      sum += share
    }
    rank += scarcest
    if (best && (rank < bestRank || (rank === bestRank && sum <= bestSum))) continue
    ;[best, bestRank, bestSum] = [freeCapacity, rank, sum]
  }
  if (!best) return { slots: asked, available: {} }
  const slots = best.lacking(session.requested, session.clusterSize, session.gpu)
  return { slots, available: Object.fromEntries(slots.map(slot => [slot, best.largest(slot, session.gpu)])) }
}

/** A sentence for each slot. @param keys texts for a slot of which some is free, and for one of which nothing is */
function lacksOf(
  slots: readonly SlotName[],
  { requested, available, gpu }: { requested: ResourceSlots; available: ResourceSlots } & Pick<PendingSession, 'gpu'>,
  [some, none]: readonly [
    'needs_largest_host' | 'needs_free' | 'needs_free_on_one',
    'needs_of_no_host' | 'needs_none_free',
  ],
): Because[] {
  return slots.map(slot => {
    const [needed, amount] = [readableOf(slot, requested[slot] ?? 0, gpu), available[slot] ?? 0]
    return amount > 0 ? because(some, { needed, available: bare(slot, amount) }) : because(none, { needed })
  })
}

function only(slots: ResourceSlots, names: readonly SlotName[]) {
  return formatSlots(Object.fromEntries(names.map(name => [name, slots[name] ?? 0])))
}
