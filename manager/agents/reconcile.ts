import { type AgentId, isFinished, type KernelId, type ManagerId, type SessionId } from '#manager/contract'
import { KernelLabel, type KernelReport, type KernelState } from '#agent/contract'
import { type KnownKernel } from '../store/sessions/kernels.ts'

type Exited = Extract<KernelState, { state: 'exited' }>

/** What to do so that the database says what is true on the engine. */
export type Action =
  | {
      do: 'phase'
      sessionId: SessionId
      kernelId: KernelId
      attempt: number
      phase: 'preparing' | 'pulling'
      /** It waits for its turn on the agent, behind so many others. */
      ahead?: number | undefined
    }
  | { do: 'running'; sessionId: SessionId; kernelId: KernelId; attempt: number; containerId: string; startedAt: string }
  | { do: 'ended'; sessionId: SessionId; kernelId: KernelId; attempt: number; exit: Exited }
  /** Its container is gone, and nobody told us why. */
  | { do: 'gone'; sessionId: SessionId; kernelId: KernelId; attempt: number }
  /** A container whose kernel ended, or lives elsewhere. */
  | { do: 'destroy'; kernelId: KernelId; attempt: number }
  | { do: 'import'; label: KernelLabel; containerId: string; startedAt: string }

export interface ReconcileInput {
  readonly agentId: AgentId
  readonly managerId: ManagerId
  /** A manager of this Berth asked this agent for the kernel, or an admin has said that it is ours. */
  readonly isOurs: (label: KernelLabel) => boolean
  readonly known: readonly KnownKernel[]
  readonly reported: readonly KernelReport[]
  /** True if `reported` is everything on the engine, so that what is missing is not there. */
  readonly complete: boolean
  /** How old the report is, at least: of a kernel that has been RUNNING for a shorter time its absence proves nothing. */
  readonly ageMs: number
  /** Kernels that were missing from the complete report before this one as well. */
  readonly missingBefore: ReadonlySet<KernelId>
}

export interface Reconciliation {
  readonly actions: readonly Action[]
  readonly missing: ReadonlySet<KernelId>
}

/**
 * Compares what the database believes about an agent with what the agent reports. Pure.
 *
 * A running kernel counts as gone only if two complete reports in a row, both newer than its start, lack it: one may have
 * been put together before its container was there, and sent after.
 */
export function reconcile(input: ReconcileInput): Reconciliation {
  const { agentId, reported, complete, ageMs, missingBefore } = input
  const known = new Map(input.known.map(kernel => [kernel.kernelId, kernel]))
  const actions = reported.flatMap(report => {
    const kernel = known.get(report.kernelId)
    return kernel ? actOnKnown(kernel, report, agentId) : actOnUnknown(report, input)
  })
  if (!complete) return { actions, missing: missingBefore }
  const present = new Set(reported.map(report => report.kernelId))
  const absent = input.known.filter(
    ({ kernelId, agentId: on, status, forMs }) =>
      on === agentId && status === 'RUNNING' && !present.has(kernelId) && forMs > ageMs,
  )
  const gone = absent.filter(kernel => missingBefore.has(kernel.kernelId)).map(goneAction)
  return { actions: [...actions, ...gone], missing: new Set(absent.map(kernel => kernel.kernelId)) }
}

function actOnUnknown(
  { kernelId, attempt, state, label }: KernelReport,
  { managerId, isOurs }: Pick<ReconcileInput, 'managerId' | 'isOurs'>,
): Action[] {
  const parsed = KernelLabel.safeParse(label)
  if (!parsed.success || parsed.data.managerId !== managerId || parsed.data.kernelId !== kernelId) return []
  if (state.state === 'running') {
    // It holds what it holds there, and is told to the admins (`strays.ts`).
    if (!isOurs(parsed.data)) return []
    return [{ do: 'import', label: parsed.data, containerId: state.containerId, startedAt: state.startedAt }]
  }
  return state.state === 'starting' ? [] : [{ do: 'destroy', kernelId, attempt }]
}

function actOnKnown(kernel: KnownKernel, { attempt, state }: KernelReport, agentId: AgentId): Action[] {
  const { kernelId, sessionId, status } = kernel
  if (isFinished(status) || kernel.agentId !== agentId) {
    // One that is gone, too: its agent keeps telling until it is asked to forget it.
    return [{ do: 'destroy', kernelId, attempt }]
  }
  // An older attempt on the same agent: create_kernel of the current one replaces it.
  if (attempt !== kernel.attempt) return []
  // The end of a terminating kernel is the reply to its destroy_kernel.
  if (status === 'TERMINATING') return []
  switch (state.state) {
    case 'starting':
      if (status === 'RUNNING') return []
      return [{ do: 'phase', sessionId, kernelId, attempt, phase: state.phase, ahead: state.ahead }]
    case 'running':
      if (status === 'RUNNING') return []
      return [
        { do: 'running', sessionId, kernelId, attempt, containerId: state.containerId, startedAt: state.startedAt },
      ]
    case 'exited':
      return [{ do: 'ended', sessionId, kernelId, attempt, exit: state }]
    case 'gone':
      // While it is being started create_kernel itself answers what became of it.
      return status === 'RUNNING' ? [goneAction(kernel)] : []
  }
}

function goneAction({ sessionId, kernelId, attempt }: KnownKernel): Action {
  return { do: 'gone', sessionId, kernelId, attempt }
}
