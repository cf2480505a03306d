import { type AgentId, isFinished, type KernelId, type ManagerId, type SessionId } from '#manager/contract'
import { KernelLabel, type KernelReport, type KernelState } from '#agent/contract'
import { type KnownKernel } from '../store/sessions/kernels.ts'

type Exited = Extract<KernelState, { state: 'exited' }>

/** An action that makes the database match the engine. */
export type Action =
  | {
      do: 'phase'
      sessionId: SessionId
      kernelId: KernelId
      attempt: number
      phase: 'preparing' | 'pulling'
      /** Number of starts ahead of it in the agent's queue, while it is queued. */
      ahead?: number | undefined
      /** True if the database already has this state. */
      isWritten: boolean
    }
  | { do: 'running'; sessionId: SessionId; kernelId: KernelId; attempt: number; containerId: string; startedAt: string }
  | { do: 'ended'; sessionId: SessionId; kernelId: KernelId; attempt: number; exit: Exited }
  /** The container is gone, for an unknown reason. */
  | { do: 'gone'; sessionId: SessionId; kernelId: KernelId; attempt: number }
  /** A container whose kernel ended, or runs elsewhere. */
  | { do: 'destroy'; kernelId: KernelId; attempt: number }
  | { do: 'import'; label: KernelLabel; containerId: string; startedAt: string }

export interface ReconcileInput {
  readonly agentId: AgentId
  readonly managerId: ManagerId
  /**
   * Whether a manager of this Berth requested the kernel from this agent, or an admin has confirmed that it is ours.
   */
  readonly isOurs: (label: KernelLabel) => boolean
  readonly known: readonly KnownKernel[]
  readonly reported: readonly KernelReport[]
  /** True if `reported` covers the whole engine, so that missing kernels do not exist. */
  readonly complete: boolean
  /** Minimum age of the report. The absence of a kernel that has been RUNNING for a shorter time proves nothing. */
  readonly ageMs: number
  /** Kernels that were missing from the complete report before this one as well. */
  readonly missingBefore: ReadonlySet<KernelId>
}

export interface Reconciliation {
  readonly actions: readonly Action[]
  readonly missing: ReadonlySet<KernelId>
}

/**
 * Compares the database's view of an agent with what the agent reports. Pure.
 *
 * A running kernel counts as gone only if two complete reports in a row, both newer than its start, lack it: a single
 * report may have been compiled before its container existed, and sent after.
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
    // The container keeps its resources there, and admins can see it (`orphans.ts`).
    if (!isOurs(parsed.data)) return []
    return [{ do: 'import', label: parsed.data, containerId: state.containerId, startedAt: state.startedAt }]
  }
  return state.state === 'starting' ? [] : [{ do: 'destroy', kernelId, attempt }]
}

function actOnKnown(kernel: KnownKernel, { attempt, state }: KernelReport, agentId: AgentId): Action[] {
  const { kernelId, sessionId, status } = kernel
  if (isFinished(status) || kernel.agentId !== agentId) {
    // This includes a kernel that is gone: its agent reports it until told to forget it.
    return [{ do: 'destroy', kernelId, attempt }]
  }
  // An older attempt on the same agent needs no action: create_kernel of the current attempt replaces it.
  if (attempt !== kernel.attempt) return []
  // A terminating kernel ends with the reply to its destroy_kernel.
  if (status === 'TERMINATING') return []
  switch (state.state) {
    case 'starting':
      if (status === 'RUNNING') return []
      return [
        {
          do: 'phase',
          sessionId,
          kernelId,
          attempt,
          phase: state.phase,
          ahead: state.ahead,
          isWritten: status === 'PREPARING' && state.phase === 'preparing',
        },
      ]
    case 'running':
      if (status === 'RUNNING') return []
      return [
        { do: 'running', sessionId, kernelId, attempt, containerId: state.containerId, startedAt: state.startedAt },
      ]
    case 'exited':
      return [{ do: 'ended', sessionId, kernelId, attempt, exit: state }]
    case 'gone':
      // During a start, the reply to create_kernel contains the outcome.
      return status === 'RUNNING' ? [goneAction(kernel)] : []
  }
}

function goneAction({ sessionId, kernelId, attempt }: KnownKernel): Action {
  return { do: 'gone', sessionId, kernelId, attempt }
}
