import {
  type AgentId,
  isFinished,
  type KernelId,
  type Reason,
  type SessionStatus,
  TRANSITIONS,
} from '#manager/contract'

/** What the rules of a transition look at. */
export interface SessionState {
  readonly status: SessionStatus
  readonly attempt: number
  readonly failedAgents: readonly AgentId[]
  readonly agentId: AgentId | null
}

/** A wanted move, with what was learned on the way. */
export interface Change {
  readonly to: SessionStatus
  readonly reason: Reason
  readonly actor?: string | undefined
  /** Of which kernel the rest tells; the main one if left out. */
  readonly kernelId?: KernelId | undefined
  readonly containerId?: string | undefined
  /** ISO 8601, by the database's clock; now if left out. */
  readonly startedAt?: string | undefined
  readonly exitCode?: number | null | undefined
  readonly logTail?: string | undefined
  /** From PREPARING on: how long the agent may take before it gives up by itself. */
  readonly startWithinMs?: number | undefined
}

/** What a move does to the rows of the session and its kernel. */
export interface Effects {
  readonly failedAgents: readonly AgentId[] | undefined
  readonly started: string | undefined
  readonly ended: boolean
  /** The kernel gives its agent and devices back so that it can be placed again. */
  readonly released: boolean
  /** Slots became free: the scheduler should look. */
  readonly freed: boolean
}

/** A bug of ours, not a user's: the caller decided on a state that it had not looked at. */
export class IllegalTransition extends Error {
  override readonly name = 'IllegalTransition'
  constructor(from: SessionStatus, to: SessionStatus) {
    super(`a session cannot go from ${from} to ${to}`)
  }
}

/** The one place that enforces TRANSITIONS. @throws IllegalTransition */
export function transition(state: SessionState, change: Pick<Change, 'to' | 'startedAt'>): Effects {
  if (!TRANSITIONS[state.status].includes(change.to)) throw new IllegalTransition(state.status, change.to)
  const retried = change.to === 'PENDING'
  const ended = isFinished(change.to)
  return {
    failedAgents: retried && state.agentId ? [...new Set([...state.failedAgents, state.agentId])] : undefined,
    started: change.to === 'RUNNING' ? (change.startedAt ?? 'now') : undefined,
    ended,
    released: retried,
    freed: (retried || ended) && state.status !== 'PENDING',
  }
}

/** Being started on an agent, as far as the manager knows. */
export function isStarting(status: SessionStatus): boolean {
  return status === 'SCHEDULED' || status === 'PREPARING' || status === 'PULLING'
}
