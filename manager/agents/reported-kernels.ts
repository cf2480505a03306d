import { type AgentId, type KernelId, type ManagerId } from '#manager/contract'
import { type KernelLabel, type KernelReport } from '#agent/contract'
import { type AgentReads } from '../agent-link/reads.ts'
import { type Orphan, orphansOf, type UnknownContainer, unknownOf } from '../scheduler/orphans.ts'
import { adoptWaiting } from '../sessions/adopt.ts'
import { type KernelSigner } from '../sessions/kernel-signature.ts'
import { type ActingDeps, type ActingMemory, createActing } from './act-on-report.ts'
import { inOurTime } from './agent-clock.ts'
import { type AgentMemories, type AgentMemory } from './agent-memory.ts'
import { unknownProblem } from './problems.ts'
import { type Action, reconcile } from './reconcile.ts'

export interface ReportedKernelsDeps extends ActingDeps {
  readonly managerId: ManagerId
  readonly signer: Pick<KernelSigner, 'isSigned'>
  readonly live: ActingMemory['live']
  readonly reads: Pick<AgentReads, 'kernels'>
  readonly memories: Pick<AgentMemories, 'of'>
  /** This process's memory of kernels, kept by the caller. */
  readonly kernels: Pick<ActingMemory, 'isKnownToRun' | 'pulling'>
}

/** Compares reported containers with the database (`reconcile.ts`), and acts on the differences (`act-on-report.ts`). */
export interface ReportedKernels {
  /**
   * @param how `complete`: the report lists all containers of the agent; `arrivedAt`: on the clock of `performance.now()`
   * @returns kernels with failed writes, which the next report repeats
   */
  apply(
    agentId: AgentId,
    reported: readonly KernelReport[],
    how: { readonly complete: boolean; readonly arrivedAt: number },
  ): Promise<readonly KernelId[]>
  /**
   * Reconciles an agent's answer to a query, as the whole truth about kernels that ran before the query. @returns the actions that were
   * necessary
   */
  takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]>
  /**
   * Whether a manager of this Berth requested the kernel from this agent, or an admin has confirmed that it is ours.
   */
  isOurs(agentId: AgentId, label: KernelLabel): boolean
  /** The reported containers that need an admin's decision: they run there, name this Berth, but are unknown to it. */
  unknown(agentId: AgentId, reported: readonly KernelReport[]): Promise<readonly UnknownContainer[]>
  /** Imports a container that an admin has confirmed as ours, like a signed one. */
  confirm(agentId: AgentId, reported: KernelReport): Promise<void>
}

export function createReportedKernels(deps: ReportedKernelsDeps): ReportedKernels {
  const { store, managerId, changes, memories, reads } = deps
  /** Containers that an admin has confirmed as ours. */
  const confirmed = new Map<AgentId, Set<KernelId>>()
  const actOnAll = createActing({
    ...deps,
    ...deps.kernels,
    endedSince: agentId => memories.of(agentId).endedSince,
    memoryKills: agentId => memories.of(agentId).memoryKills,
  })
  const knownOf = (agentId: AgentId, reported: readonly KernelReport[]) =>
    reads.kernels({ agentId, kernelIds: reported.map(({ kernelId }) => kernelId) })

  function isOurs(agentId: AgentId, label: KernelLabel): boolean {
    return deps.signer.isSigned(label, agentId) || (confirmed.get(agentId)?.has(label.kernelId) ?? false)
  }

  /** After a restore, adopts running containers of sessions that are waiting according to the database. */
  async function adopt(agentId: AgentId, kernels: readonly KernelReport[]): Promise<void> {
    const how = { agentId, isOurs: (label: KernelLabel) => isOurs(agentId, label) }
    changes.hint(await adoptWaiting(store, how, kernels))
  }

  async function takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]> {
    const { actions } = reconcile({
      agentId,
      managerId,
      isOurs: label => isOurs(agentId, label),
      known: await knownOf(agentId, reported),
      reported: inOurTime(reported, memories.of(agentId)),
      complete: true,
      ageMs: 0,
      missingBefore: ranBefore,
    })
    await actOnAll(agentId, actions, false)
    return actions
  }

  return {
    async apply(agentId, reported, { complete, arrivedAt }) {
      const memory = memories.of(agentId)
      const kernels = inOurTime(reported, memory)
      if (complete && (await deps.isRestored())) await adopt(agentId, kernels)
      const known = await knownOf(agentId, kernels)
      const { actions, missing } = reconcile({
        agentId,
        managerId,
        isOurs: label => isOurs(agentId, label),
        known,
        reported: kernels,
        complete,
        ageMs: performance.now() - arrivedAt,
        missingBefore: memory.missing,
      })
      memory.missing = missing
      const { problem, kernelIds } = await actOnAll(agentId, actions, !memory.ready)
      const imported = actions.some(action => action.do === 'import')
      const input = { agentId, managerId, known: imported ? await knownOf(agentId, kernels) : known }
      if (noteOrphans(memory, kernels, { complete, orphans: orphansOf(kernels, input) })) deps.onAgentChanged()
      if (complete) memory.problems.note('unknown', unknownProblem(unknownOf(kernels, input).length))
      if (complete || problem) memory.problems.note('kernels', problem)
      return kernelIds
    },
    takeUp,
    isOurs,
    async unknown(agentId, reported) {
      const known = await knownOf(agentId, reported)
      return unknownOf(inOurTime(reported, memories.of(agentId)), { agentId, managerId, known })
    },
    async confirm(agentId, reported) {
      confirmed.set(agentId, (confirmed.get(agentId) ?? new Set()).add(reported.kernelId))
      if (await deps.isRestored()) await adopt(agentId, inOurTime([reported], memories.of(agentId)))
      await takeUp(agentId, [reported], new Set())
    },
  }
}

/** @returns whether there are fewer orphans than before: placements may be possible now */
function noteOrphans(
  memory: Pick<AgentMemory, 'orphans'>,
  reported: readonly KernelReport[],
  { complete, orphans }: { complete: boolean; orphans: readonly Orphan[] },
): boolean {
  const told = new Set(reported.map(report => report.kernelId))
  const others = complete ? [] : memory.orphans.filter(orphan => !told.has(orphan.kernelId))
  const before = memory.orphans.length
  memory.orphans = [...others, ...orphans]
  return memory.orphans.length < before
}
