import { type AgentId, type Because, type KernelId } from '#manager/contract'
import { type FromAgent } from '#agent/contract'

/**
 * Receives the events of control connections. Calls for one agent are made one after the other, each awaited, except
 * `came` and `gone`.
 */
export interface AgentListener {
  /** Called at once when the agent gets a connection, dialled directly or through the named manager process. */
  came(agentId: AgentId, via: string | null): void
  connected(agentId: AgentId): Promise<void>
  /**
   * @param leftOut problems with the message, for an admin
   * @param arrivedAt on the clock of `performance.now()`; handling may come much later
   * @returns kernels for which something could not be written; the next report repeats it
   */
  message(
    agentId: AgentId,
    message: Notice,
    arrivedAt: number,
    leftOut: readonly Because[],
  ): Promise<readonly KernelId[]>
  /** The kernels in a report that are known to run although the engine did not answer. */
  started(agentId: AgentId, report: Extract<Notice, { type: 'report' }>): readonly KernelId[]
  /** Called at once when the agent's last connection is gone: at the time of `disconnected` there may be a new one. */
  gone(agentId: AgentId): void
  disconnected(agentId: AgentId): Promise<void>
  /** Called when the agent has been gone, or silent, for so long that it counts as lost. */
  lost(agentId: AgentId): Promise<void>
}
export type Notice = Exclude<FromAgent, { type: 'join' | 'prove' | 'reply' }>
