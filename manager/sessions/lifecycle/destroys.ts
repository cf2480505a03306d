import { allDone } from '#base/all-done'
import { defined } from '#base/defined'
import { type AgentId, because, isAppError, isFinished, type KernelId } from '#manager/contract'
import { type RequestReply } from '#agent/contract'
import { type AgentRequests } from '../../agent-link/connection.ts'
import { type KernelRow } from '../../store/sessions/kernels.ts'
import { type StartsInFlight } from './starts-in-flight.ts'

type LastWords = RequestReply<'destroy_kernel'>

export interface DestroysDeps {
  readonly agents: AgentRequests
  readonly starts: Pick<StartsInFlight, 'abort'>
  readonly timeoutMs: number
}

interface How {
  readonly graceMs: number
  /** Minimum time for which the home is kept; left out: the usual time. */
  readonly keepFilesMs?: number | undefined
}

/** Sends destroy_kernel to agents, at most once per kernel and agent at a time. */
export interface Destroys {
  /** @returns the end of the container's log; empty if there is none */
  one(agentId: AgentId, kernelId: KernelId, how: How & { readonly attempt: number }): Promise<LastWords>
  /**
   * Destroys the kernels that have not finished, each on its agent, and cancels their start if one is in flight. Waits until every agent
   * has answered or could not be reached. Rejects if any kernel was not destroyed.
   */
  all(kernels: readonly KernelRow[], how: How): Promise<readonly (LastWords & { readonly id: KernelId })[]>
  inFlight(agentId: AgentId, kernelId: KernelId): Promise<LastWords> | undefined
}

export function createDestroys({ agents, starts, timeoutMs }: DestroysDeps): Destroys {
  /** Keyed by agent and kernel: remains of an earlier attempt on another agent do not affect the current attempt. */
  const destroys = new Map<string, { readonly attempt: number; readonly task: Promise<LastWords> }>()
  const placeOf = (agentId: AgentId, kernelId: KernelId) => `${agentId}/${kernelId}`

  const one: Destroys['one'] = (agentId, kernelId, { attempt, graceMs, keepFilesMs }) => {
    const place = placeOf(agentId, kernelId)
    const running = destroys.get(place)
    if (running && running.attempt >= attempt) return running.task
    const input = { kernelId, attempt, graceMs, ...defined({ keepFilesMs }) }
    // The agent does not touch newer attempts, so a request in flight for an older attempt does not cover this one.
    const task = Promise.allSettled([running?.task])
      .then(() => agents.request(agentId, 'destroy_kernel', input, { timeoutMs }))
      .catch((error: unknown) => {
        if (isAppError(error) && error.code === 'kernel_not_found') return { exitCode: null, logTail: '' }
        throw error
      })
      .finally(() => {
        if (destroys.get(place)?.task === task) destroys.delete(place)
      })
    destroys.set(place, { attempt, task })
    return task
  }

  return {
    one,
    all(kernels, how) {
      const live = kernels.flatMap(({ id, agent_id: agentId, attempt, status }) =>
        agentId === null || isFinished(status) ? [] : [{ id, agentId, attempt }],
      )
      // Abort a start in flight first: destroy_kernel must never overtake create_kernel on the agent.
      for (const { id, agentId } of live) starts.abort(id, agentId, because('start_cancelled'))
      return allDone(
        live.map(async ({ id, agentId, attempt }) => ({ id, ...(await one(agentId, id, { attempt, ...how })) })),
      )
    },
    inFlight: (agentId, kernelId) => destroys.get(placeOf(agentId, kernelId))?.task,
  }
}
