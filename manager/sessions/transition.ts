import {
  type AgentId,
  isFinished,
  type KernelId,
  type Reason,
  type SessionStatus,
  TRANSITIONS,
} from '#manager/contract'

/** The state that the rules of a transition depend on. */
export interface SessionState {
  readonly status: SessionStatus
  readonly attempt: number
  readonly failedAgents: readonly AgentId[]
  readonly agentId: AgentId | null
}

/** A requested transition, with the facts learned along with it. */
export interface Change {
  readonly to: SessionStatus
  readonly reason: Reason
  readonly actor?: string | undefined
  /** The kernel described by the remaining fields; the main one by default. */
  readonly kernelId?: KernelId | undefined
  /** With PENDING: the agent on which the start failed; that of the main kernel if left out. */
  readonly failedOn?: AgentId | undefined
  readonly containerId?: string | undefined
  /** ISO 8601, by the database's clock; now if left out. */
  readonly startedAt?: string | undefined
  readonly exitCode?: number | null | undefined
  readonly logTail?: string | undefined
  /** With TERMINATING: the session is stopped for another one, and then waits to continue. Any other end is final. */
  readonly continues?: boolean | undefined
  /** The agent has not confirmed the end: its containers may still run and hold their resources. */
  readonly unconfirmed?: boolean | undefined
  /** Set from PREPARING on: time after which the agent gives up on its own. */
  readonly startWithinMs?: number | undefined
}

/** The changes a transition makes to the rows of the session and its kernel. */
export interface Effects {
  readonly failedAgents: readonly AgentId[] | undefined
  readonly started: string | undefined
  readonly ended: boolean
  /** The kernel gives its agent and devices back so that it can be placed again. */
  readonly released: boolean
  /** The session's run was interrupted: it continues with its files in another run. */
  readonly interrupted: boolean
  /** Slots became free, so the scheduler should run. */
  readonly freed: boolean
}

/** Means a bug in Berth, not a user error: the caller decided on a state that it had not checked. */
export class IllegalTransition extends Error {
  override readonly name = 'IllegalTransition'
  constructor(from: SessionStatus, to: SessionStatus) {
    super(`a session cannot go from ${from} to ${to}`)
  }
}

/** Checks a transition against TRANSITIONS; the only place that does. @throws IllegalTransition */
export function transition(state: SessionState, change: Pick<Change, 'to' | 'startedAt' | 'failedOn'>): Effects {
  if (!TRANSITIONS[state.status].includes(change.to)) throw new IllegalTransition(state.status, change.to)
  const waits = change.to === 'PENDING'
  const interrupted = waits && state.status === 'TERMINATING'
  const retried = waits && !interrupted
  const ended = isFinished(change.to)
  const failed = change.failedOn ?? state.agentId
  return {
    failedAgents: retried && failed ? [...new Set([...state.failedAgents, failed])] : undefined,
    started: change.to === 'RUNNING' ? (change.startedAt ?? 'now') : undefined,
    ended,
    released: retried,
    interrupted,
    freed: (waits || ended) && state.status !== 'PENDING',
  }
}

/** False for a kernel of an earlier run: an interrupted session continues with kernels that have new ids, from attempt 1. */
export const hasKernel = ({ kernels }: { readonly kernels: readonly { readonly id: KernelId }[] }, id: KernelId) =>
  kernels.some(kernel => kernel.id === id)

/** Whether the session is being started on an agent, as far as the manager knows. */
export function isStarting(status: SessionStatus): boolean {
  return status === 'SCHEDULED' || status === 'PREPARING' || status === 'PULLING'
}
