import { type ClusterNetworks } from '../network/cluster-networks.ts'
import { networkKeyOf, type SessionNetworks } from '../network/session-networks.ts'
import { type SessionReach } from '../network/session-reach.ts'
import { type KernelRecord } from './kernel-record.ts'

/** Tracks which kernels use a session's network: the last one that leaves removes it. */
export interface NetworkUse {
  /** Call when a kernel's container is gone or was never made. Removes the network unless another kernel of the session needs it. */
  leave(label: KernelRecord['label']): Promise<void>
  /** Records that the kernel is no longer a member; a new attempt may use the network again. */
  forget(kernelId: string): void
  /**
   * Removes networks of sessions that are not here (any more): left by a crashed agent, or by containers removed by someone
   * else.
   */
  sweep(managerId: string, complain: (error: unknown) => void): Promise<void>
}

export interface NetworkUseDeps {
  readonly networks: SessionNetworks
  /** Networks of sessions over several hosts. */
  readonly clusters: Pick<ClusterNetworks, 'leave' | 'sweep'>
  readonly reach: Pick<SessionReach, 'leave'>
  /** All current kernels, including those in creation. */
  readonly members: () => Iterable<KernelRecord>
  /** Whether a network is kept for a future session. */
  readonly isAhead: (key: string) => boolean
  /** Ends connections of other processes to a kernel's address, which another container may get afterwards. */
  readonly releaseAddress: (kernelId: string) => Promise<void>
}

export function createNetworkUse(deps: NetworkUseDeps): NetworkUse {
  const { networks, clusters, reach, members, isAhead, releaseAddress } = deps
  // Kernels that have left: their records remain until the rest is cleaned up.
  const left = new Set<string>()
  const isUsed = (key: string) => {
    if (isAhead(key)) return true
    for (const { label, state } of members()) {
      if (networkKeyOf(label) === key && state.state !== 'gone' && !left.has(label.kernelId)) return true
    }
    return false
  }
  const isClusterUsed = (id: number) => {
    for (const { label, state } of members()) {
      if (label.cluster?.id === id && state.state !== 'gone' && !left.has(label.kernelId)) return true
    }
    return false
  }
  return {
    async leave(label) {
      const { kernelId, managerId } = label
      left.add(kernelId)
      const key = networkKeyOf(label)
      try {
        await releaseAddress(kernelId)
        await reach.leave(label)
        // Checked inside the turn, because kernels of one session come and go concurrently.
        await networks.remove(key, managerId, () => isUsed(key))
        const { cluster } = label
        if (cluster) await clusters.leave(label, () => isClusterUsed(cluster.id))
      } catch (error) {
        left.delete(kernelId)
        throw error
      }
    },
    forget: kernelId => void left.delete(kernelId),
    async sweep(managerId, complain) {
      await clusters.sweep(managerId, isClusterUsed).catch(complain)
      for (const { key } of await networks.list(managerId)) {
        if (!isUsed(key)) await networks.remove(key, managerId, () => isUsed(key)).catch(complain)
      }
    },
  }
}
