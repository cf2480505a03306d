import { networkKeyOf, type SessionNetworks } from '../network/session-networks.ts'
import { type KernelRecord } from './kernel-record.ts'

/** Which kernels a session's network still has: the last one that leaves takes it along. */
export interface NetworkUse {
  /** Call when a kernel's container is gone or was never made. Removes the network unless another kernel of the session needs it. */
  leave(label: KernelRecord['label']): Promise<void>
  /** The kernel is no longer a member; it may come back with a new attempt. */
  forget(kernelId: string): void
  /** Networks of sessions that are not here (any more): of a crashed agent, or removed behind our back. */
  sweep(managerId: string, complain: (error: unknown) => void): Promise<void>
}

/** @param members every kernel that is here or being made, as of now */
export function createNetworkUse(networks: SessionNetworks, members: () => Iterable<KernelRecord>): NetworkUse {
  // Their records are still there while the rest of them is cleared away.
  const left = new Set<string>()
  const isUsed = (key: string) => {
    for (const { label, state } of members()) {
      if (networkKeyOf(label) === key && state.state !== 'gone' && !left.has(label.kernelId)) return true
    }
    return false
  }
  return {
    async leave(label) {
      const { kernelId, managerId } = label
      left.add(kernelId)
      const key = networkKeyOf(label)
      try {
        // Checked in turn, because kernels of one session come and go side by side.
        await networks.remove(key, managerId, () => isUsed(key))
      } catch (error) {
        left.delete(kernelId)
        throw error
      }
    },
    forget: kernelId => void left.delete(kernelId),
    async sweep(managerId, complain) {
      for (const { key } of await networks.list(managerId)) {
        if (!isUsed(key)) await networks.remove(key, managerId, () => isUsed(key)).catch(complain)
      }
    },
  }
}
