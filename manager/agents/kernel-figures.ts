import { type AgentId, isFinished, type KernelId, type PullProgress, type SessionStatus } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type SessionChanges } from '../sessions/changes.ts'
import { type Effects } from '../sessions/transition.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { type Store } from '../store/open-store.ts'
import { findSessionOfKernel, type KernelOwner, touchSessions } from '../store/sessions/sessions.ts'
import { type Notice } from '../agent-link/gateway.ts'
import { type LiveFigures } from '../stats/live.ts'
import { sumStats } from '../stats/sum-stats.ts'

type Stats = Extract<Notice, { type: 'stats' }>

export interface KernelFiguresDeps {
  readonly store: Store
  readonly events: EventPublisher
  readonly changes: SessionChanges
  readonly live: LiveFigures
  readonly recorder: Pick<StatsRecorder, 'add'>
}

/** What agents tell of their kernels all the time: figures, and how far pulls are. */
export interface KernelFigures {
  onPull(agentId: AgentId, kernelId: KernelId, progress: PullProgress): Promise<void>
  onStats(agentId: AgentId, kernels: Stats['kernels']): Promise<void>
  /** What is void once its session has gone there. */
  forget(kernelId: KernelId, to: SessionStatus, effects: Effects): void
}

const PULL_HINT_EVERY_MS = 1_000

export function createKernelFigures({ store, events, changes, live, recorder }: KernelFiguresDeps): KernelFigures {
  const owners = new Map<KernelId, KernelOwner>()
  const pullHints = new Map<KernelId, number>()
  /** How often something was forgotten. */
  let forgotten = 0

  /** Whose kernel it is, if it is one of this agent: what another says of it does not count. */
  async function ownerOf(agentId: AgentId, kernelId: KernelId) {
    const known = owners.get(kernelId)
    if (known?.agentId === agentId) return known
    const before = forgotten
    const found = await findSessionOfKernel(store.db, kernelId)
    if (found?.agentId !== agentId) return undefined
    // What came after its end counts, but nothing would forget the owner again; nor if it ended during the question.
    if (!isFinished(found.status) && before === forgotten) owners.set(kernelId, found)
    return found
  }

  /** Told once per round, with the main kernel's; of the others what they have said last. */
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
      for (const { kernelId, stats } of kernels) {
        const session = await ownerOf(agentId, kernelId)
        if (!session) continue
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
