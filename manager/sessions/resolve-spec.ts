import {
  type AgentId,
  AppError,
  because,
  type Because,
  type ClusterMode,
  formatSlots,
  type GpuChoice,
  meaningsOf,
  messageOf,
  type Notice,
  parseAmount,
  parseSlots,
  type ResourceSlots,
  type SessionSpec,
  SLOT_NAMES,
  type SlotName,
} from '#manager/contract'
import { type AgentImage } from '#agent/contract'
import {
  type AgentSnapshot,
  closest,
  DEVICE_SLOTS,
  FreeCapacity,
  hasGpu,
  mayCross,
  noSuchGpu,
  readable,
  readableOf,
  roomFor,
  totalOf,
} from '../scheduler/plan/index.ts'
import { requireGpu } from '../scheduler/require-gpu.ts'
import { describedBy, type KnownImages, minimumOf } from '../images/known-images.ts'
import { type HeldImage } from '../store/images/images.ts'

/** The request for images that declare no minimum. */
const DEFAULT_REQUEST: ResourceSlots = { cpu: 1000, mem: 2 ** 30 }
const DEFAULT_SHMEM_BYTES = 64 * 2 ** 20
/** Minimum for every session, whatever the image declares. Below 64 MiB no shell starts; with 0.05 CPU it starts slowly. */
export const FLOOR: ResourceSlots = { cpu: 50, mem: 64 * 2 ** 20 }

export interface ResolvedSpec {
  readonly image: AgentImage
  /** The reference that an agent without the image pulls. */
  readonly reference: string
  readonly requested: ResourceSlots
  readonly shmemBytes: number
  /** The user requested no amount: the copy of the image on the session's agent decides in the end. */
  readonly shmemFromImage: boolean
  readonly notices: readonly Notice[]
}

/**
 * Resolves a request to one image and an amount of every resource. Pure.
 *
 * @param images that the caller may launch
 * @param agents of the resource group, in their state without sessions
 * @param ifNowhere what to say if no host can keep the session from the network, or within an allow list; undefined if it needs none that can
 * @throws AppError `image_not_found`, `network_not_enforceable`, `request_too_large`
 */
export function resolveSpec(
  spec: SessionSpec,
  images: KnownImages,
  { agents, ifNowhere }: { readonly agents: readonly AgentSnapshot[]; readonly ifNowhere?: Because | undefined },
): ResolvedSpec {
  const found = findImage(spec.image, images, agents)
  const { reference } = found
  const image = { ...found.image, minimum: minimumOf(found.image, reference, images.minimums) }
  const notices: Notice[] = []
  const requested = fillIn(parseSlots(spec.resources), image, notices)
  const { gpu, clusterSize = 1, clusterMode } = spec
  if (gpu !== undefined) requireGpu(requested, gpu)
  if (ifNowhere) requireRestricting(agents, ifNowhere)
  refuseTooLarge({ requested, clusterSize, clusterMode, gpu }, agents)
  const shmemBytes = sharedMemory(spec, requested, image, notices)
  return { image, reference, requested, shmemBytes, shmemFromImage: spec.shmem === undefined, notices }
}

/** A host that is away may keep sessions in when it is back. @throws AppError `network_not_enforceable` */
function requireRestricting(agents: readonly AgentSnapshot[], why: Because): void {
  if (agents.length === 0 || agents.some(agent => !agent.connected || agent.restricts === true)) return
  throw new AppError('network_not_enforceable', { ...why })
}

/**
 * Finds the copy that most agents hold, connected agents first: one reference may mean different images on different
 * engines. Of images with as many copies, the registry's comes first. An image that no agent holds is pulled from its registry.
 */
function findImage(wanted: string, { held, offered, aliases }: KnownImages, agents: readonly AgentSnapshot[]) {
  const connected = new Set<AgentId>(agents.filter(agent => agent.connected).map(agent => agent.id))
  const inGroup = new Set<AgentId>(agents.map(agent => agent.id))
  for (const reference of meaningsOf(aliases.get(wanted) ?? wanted)) {
    // A group without agents accepts copies on agents of other groups: the session waits for its first agent, and its reason says so.
    const counts = (copy: HeldImage) => agents.length === 0 || inGroup.has(copy.agentId)
    const copies = held.filter(copy => counts(copy) && copy.image.references.includes(reference))
    const known = offered.get(reference)
    const isTheRegistrys = (all: readonly HeldImage[]) =>
      all.some(({ image: { id } }) => id === known?.image.id || id === known?.manifestDigest)
    const weight = (all: readonly HeldImage[]) =>
      all.length + 1000 * all.filter(copy => connected.has(copy.agentId)).length + (isTheRegistrys(all) ? 0.5 : 0)
    const [best = []] = [...Map.groupBy(copies, copy => copy.image.id).values()].toSorted(
      (a, b) => weight(b) - weight(a),
    )
    const [first, ...others] = best.map(copy => copy.image)
    if (first) return { image: describedBy([first, ...others], known), reference }
    if (known) return { image: known.image, reference }
  }
  throw new AppError('image_not_found', {
    image: wanted,
    ...because('image_unknown', { image: wanted }),
  })
}

function fillIn(asked: ResourceSlots, image: AgentImage, notices: Notice[]): ResourceSlots {
  const minimum = image.minimum as ResourceSlots
  const slots: Partial<Record<SlotName, number>> = {}
  const raised: string[] = []
  for (const slot of SLOT_NAMES) {
    const least = Math.max(minimum[slot] ?? 0, FLOOR[slot] ?? 0)
    const amount = Math.max(asked[slot] ?? DEFAULT_REQUEST[slot] ?? 0, least)
    if (amount > 0) slots[slot] = amount
    if (amount > (asked[slot] ?? amount)) raised.push(readable(slot, amount))
  }
  if (raised.length > 0) {
    notices.push(messageOf('raised_to_minimum', because('raised_to_minimum', { amounts: raised.join(', ') })))
  }
  return slots
}

function sharedMemory(spec: SessionSpec, { mem = 0 }: ResourceSlots, image: AgentImage, notices: Notice[]): number {
  const asked = spec.shmem === undefined ? undefined : parseAmount('mem', spec.shmem)
  if (asked !== undefined && asked > mem) {
    notices.push(messageOf('shmem_lowered', because('shmem_lowered', { amount: readable('mem', mem) })))
  }
  return asked === undefined ? sharedMemoryOf(image, mem) : Math.min(asked, mem)
}

/** @param mem of the session: shared memory is part of it */
export function sharedMemoryOf({ shmemBytes }: Pick<AgentImage, 'shmemBytes'>, mem: number): number {
  return Math.min(shmemBytes > 0 ? shmemBytes : DEFAULT_SHMEM_BYTES, mem)
}

/**
 * Refuses a request for kernels on several hosts that no set of hosts could ever hold.
 *
 * @returns `other`: not even one kernel fits on a host
 * @throws AppError `no_host_network`, `request_too_large`
 */
function refuseGang(session: ClusterRequest, empty: readonly FreeCapacity[]): 'fits' | 'other' {
  const { requested, gpu, clusterSize } = session
  if (!empty.some(freeCapacity => freeCapacity.fits(requested, false, 1, gpu))) return 'other'
  // An agent that is away may have an address when it is back.
  const able = empty.filter(({ agent }) => agent.clusterAddress !== undefined || !agent.connected)
  const room = roomFor(session, able)
  if (able.length >= 2 && room >= clusterSize) return 'fits'
  if (able.length < 2) throw new AppError('no_host_network', because('hosts_not_connected', { count: able.length }))
  throw new AppError('request_too_large', because('gang_too_large', { needed: clusterSize, available: room }))
}

interface ClusterRequest {
  /** Resources of each kernel. */
  readonly requested: ResourceSlots
  readonly clusterSize: number
  readonly clusterMode: ClusterMode | undefined
  readonly gpu: GpuChoice | undefined
}

/**
 * Refuses a request that no agent could ever hold, naming the slot. A request that only a disconnected agent could hold
 * is accepted and waits, and so is every request while no agent is connected.
 */
function refuseTooLarge(asked: ClusterRequest, agents: readonly AgentSnapshot[]): void {
  if (!agents.some(agent => agent.connected)) return
  const freeCapacities = agents.map(agent => new FreeCapacity(agent, 'empty'))
  if (freeCapacities.some(freeCapacity => freeCapacity.fits(asked.requested, false, asked.clusterSize, asked.gpu)))
    return
  if (mayCross(asked) && refuseGang(asked, freeCapacities) === 'fits') return
  // The fault of a single kernel is named first.
  const session = mayCross(asked) ? { ...asked, clusterSize: 1 } : asked
  const { clusterSize, gpu } = session
  const requested = totalOf(session)
  refuseMissingGpu(session, agents)
  const lacks = (freeCapacity: FreeCapacity, slot: SlotName) =>
    freeCapacity.lacking({ [slot]: session.requested[slot] ?? 0 }, clusterSize, gpu).length > 0
  const alone = SLOT_NAMES.find(slot => freeCapacities.every(freeCapacity => lacks(freeCapacity, slot)))
  const slot = alone ?? closest(session, freeCapacities).slots[0] ?? 'cpu'
  const needed = requested[slot] ?? 0
  const largest = alone
    ? Math.max(0, ...freeCapacities.map(freeCapacity => freeCapacity.largest(slot, gpu)))
    : (closest(session, freeCapacities).available[slot] ?? 0)
  throw new AppError('request_too_large', {
    slot,
    needed: formatSlots({ [slot]: needed })[slot],
    largest: formatSlots({ [slot]: largest })[slot],
    ...tooLarge(readableOf(slot, needed, gpu), largest === 0 ? null : readable(slot, largest), alone !== undefined),
  })
}

/** Refuses a request for GPUs that no host has, and names those that there are. @throws AppError `request_too_large` */
function refuseMissingGpu({ requested, gpu }: ClusterRequest, agents: readonly AgentSnapshot[]): void {
  const slot = DEVICE_SLOTS.find(name => (requested[name] ?? 0) > 0)
  if (gpu === undefined || slot === undefined || agents.some(agent => hasGpu(agent, requested, gpu))) return
  const needed = formatSlots({ [slot]: requested[slot] ?? 0 })[slot]
  throw new AppError('request_too_large', { slot, needed, largest: '0', ...noSuchGpu(gpu, agents) })
}

/** @param largest amount that one host offers, together with the rest of the request unless it is too large `alone`; null for none */
function tooLarge(needed: string, largest: string | null, alone: boolean): Because {
  if (largest === null) return because('no_host_has_any', { needed })
  return because(alone ? 'host_offers_at_most' : 'host_offers_beside_the_rest', { needed, largest })
}
