import { type FreeCapacity } from './free-capacity.ts'
import { type AgentSnapshot, type PendingSession } from './snapshot.ts'

/** The kernels of a gang on one agent. */
export interface GangPart {
  readonly freeCapacity: FreeCapacity
  readonly kernels: number
}

/** Request for the kernels of one session that may be on several agents. */
export interface GangRequest {
  readonly session: PendingSession
  /** Rank of an agent for one kernel: the lower, the better. */
  readonly rank: (freeCapacity: FreeCapacity) => number
  /** Whether each agent gets one kernel in turn; false: as few agents as possible. */
  readonly spread?: boolean | undefined
}

interface Networked {
  readonly agent: Pick<AgentSnapshot, 'clusterAddress'>
}

type KernelsAsked = Pick<PendingSession, 'requested' | 'clusterSize' | 'gpu'>

/** Whether the kernels of the session may be on several agents. */
export const mayCross = ({ clusterMode, clusterSize = 1 }: Pick<PendingSession, 'clusterMode' | 'clusterSize'>) =>
  clusterMode === 'multi-host' && clusterSize > 1

/** Agents between which a network of a session can exist. An address that two of them name leads to neither. */
export function networked<T extends Networked>(all: readonly T[]): readonly T[] {
  const naming = Map.groupBy(all, ({ agent }) => agent.clusterAddress)
  return all.filter(
    ({ agent: { clusterAddress: address } }) => address !== undefined && naming.get(address)?.length === 1,
  )
}

/** Largest number of kernels of the session, at most all of them, that fit into the free capacity together. */
export function mostKernels(freeCapacity: FreeCapacity, { requested, clusterSize = 1, gpu }: KernelsAsked): number {
  let most = 0
  while (most < clusterSize && freeCapacity.fits(requested, false, most + 1, gpu)) most++
  return most
}

/** Number of kernels of the session, at most all of them, for which these agents have room together. */
export function roomFor(session: KernelsAsked, all: readonly FreeCapacity[]): number {
  const { clusterSize = 1 } = session
  let room = 0
  for (const freeCapacity of all) {
    room += mostKernels(freeCapacity, session)
    if (room >= clusterSize) return clusterSize
  }
  return room
}

/**
 * Distributes the kernels of a session over agents, all or none; the first part has the main kernel. Held capacity is left alone. Pure and
 * deterministic: packed, it takes the agents with most room first, which needs the fewest, and the last one where the rest leaves the least.
 *
 * @returns undefined if there is no room for all of them
 */
export function chooseGang({ session, rank, spread = false }: GangRequest, all: readonly FreeCapacity[]) {
  const { clusterSize = 1 } = session
  const able = all.flatMap(freeCapacity => {
    const most = mostKernels(freeCapacity, session)
    return most === 0 ? [] : [{ freeCapacity, most, rank: rank(freeCapacity) }]
  })
  if (able.reduce((room, { most }) => room + most, 0) < clusterSize) return undefined
  const sorted = able.toSorted((a, b) => b.most - a.most || a.rank - b.rank || byId(a.freeCapacity, b.freeCapacity))
  return spread ? spreadOver(sorted, clusterSize) : packInto(sorted, clusterSize)
}

interface Able extends Pick<GangPart, 'freeCapacity'> {
  readonly most: number
}

/** @param sorted those with most room first */
function packInto(sorted: readonly Able[], size: number): GangPart[] {
  const parts: GangPart[] = []
  let rest = size
  for (const [index, { freeCapacity, most }] of sorted.entries()) {
    if (most < rest) {
      parts.push({ freeCapacity, kernels: most })
      rest -= most
      continue
    }
    const smallest = sorted.slice(index).findLast(one => one.most >= rest)
    parts.push({ freeCapacity: smallest?.freeCapacity ?? freeCapacity, kernels: rest })
    return parts
  }
  return parts
}

function spreadOver(sorted: readonly Able[], size: number): GangPart[] {
  const counts = sorted.map(() => 0)
  for (let placed = 0; placed < size;) {
    for (const [index, { most }] of sorted.entries()) {
      if (placed === size || (counts[index] ?? 0) === most) continue
      counts[index] = (counts[index] ?? 0) + 1
      placed++
    }
  }
  return sorted
    .map(({ freeCapacity }, index) => ({ freeCapacity, kernels: counts[index] ?? 0 }))
    .filter(({ kernels }) => kernels > 0)
}

const byId = ({ agent: a }: FreeCapacity, { agent: b }: FreeCapacity) => (a.id < b.id ? -1 : 1)
