import { type AgentId, isFinished, type KernelId, type PullProgress, type SessionStatus } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type Effects } from '../sessions/transition.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { type Store } from '../store/open-store.ts'
import { findSessionOfKernel, type KernelOwner } from '../store/sessions/kernel-owner.ts'
import { touchSessions } from '../store/sessions/touches.ts'
import { type Notice } from '../agent-link/listener.ts'
import { withOwnGpus } from '../stats/gpu-figures.ts'
import { type LiveStats } from '../stats/live.ts'
import { sumStats } from '../stats/sum-stats.ts'

type Stats = Extract<Notice, { type: 'stats' }>

export interface KernelStatsDeps {
  readonly store: Store
  readonly events: EventPublisher
  readonly changes: SessionChanges
  readonly live: LiveStats
  readonly recorder: Pick<StatsRecorder, 'add'>
}

/** Handles the continuous reports of agents about their kernels: statistics and pull progress. */
export interface KernelStats {
  onPull(agentId: AgentId, kernelId: KernelId, progress: PullProgress): Promise<void>
  onStats(agentId: AgentId, kernels: Stats['kernels']): Promise<void>
  /** Drops the statistics that do not apply after the session's transition to this status. */
  forget(kernelId: KernelId, to: SessionStatus, effects: Effects): void
}

const PULL_HINT_EVERY_MS = 1_000

export function createKernelStats({ store, events, changes, live, recorder }: KernelStatsDeps): KernelStats {
  const owners = new Map<KernelId, KernelOwner>()
  const pullHints = new Map<KernelId, number>()
  /** Number of evictions so far; detects an eviction during a query. */
  let forgotten = 0

  /** The owner of the kernel if it is on this agent: reports of other agents about it are ignored. */
  async function ownerOf(agentId: AgentId, kernelId: KernelId) {
    const known = owners.get(kernelId)
    if (known?.agentId === agentId) return known
    const before = forgotten
    const found = await findSessionOfKernel(store.db, kernelId)
    if (found?.agentId !== agentId) return undefined
    // Statistics that arrive after the kernel's end count, but its owner is not cached then, nor if it ended during the query: nothing
    // would evict the entry.
    if (!isFinished(found.status) && before === forgotten) owners.set(kernelId, found)
    return found
  }

  /**
   * Sum over the session, published once per round with the main kernel's statistics; for other kernels the latest known values are used.
   */
  function sumOf({ role, siblings }: KernelOwner) {
    return role === 'main1' ? sumStats(siblings.flatMap(id => live.stats(id) ?? [])) : null
  }

  return {
    async onPull(agentId: AgentId, kernelId: KernelId, progress: PullProgress): Promise<void> {
      const session = await ownerOf(agentId, kernelId)
      if (!session || isFinished(session.status)) return
      live.setPull(kernelId, progress)
      const now = performance.now()
      if (now - (pullHints.get(kernelId) ?? -Infinity) < PULL_HINT_EVERY_MS) return
      pullHints.set(kernelId, now)
      changes.hint(await touchSessions(store.db, [session.sessionId]))
    },
    async onStats(agentId, kernels) {
      for (const { kernelId, stats: reported } of kernels) {
        const session = await ownerOf(agentId, kernelId)
        if (!session) continue
        const stats = withOwnGpus(reported, session.slots)
        live.addStats(kernelId, stats)
        recorder.add(session, kernelId, stats)
        const summed = session.siblings.length === 1 ? stats : sumOf(session)
        if (summed) events.publishStats(session.sessionId, session, summed)
      }
    },
    forget(kernelId, to, effects) {
      if (effects.freed) {
        forgotten += 1
        owners.delete(kernelId)
      }
      if (to === 'RUNNING' || effects.freed) {
        live.forgetPull(kernelId)
        pullHints.delete(kernelId)
      }
      if (effects.ended) live.forget(kernelId)
    },
  }
}
