import { createTurns, type Turns } from '#base/turns'
import { type RequestInput, type RequestName, type RequestReply } from '#agent/contract'
import { type AgentId, type UserId } from '#manager/contract'
import { type AgentRequests, BYTES_PER_SECOND, type RequestOptions } from './connection.ts'

/**
 * Requests to agents with long answers: logs, and output of commands.
 *
 * Threat model: all answers of an agent, to everybody, share one connection, on which it may send a megabyte a second. One person may have
 * hundreds of requests in progress. So an agent is asked for one long answer at a time, people take turns, and beyond a burst the turns
 * take half of what the agent may send: the other half stays for starts, ends and reports.
 */
export interface LongAnswers {
  /** @throws as `AgentRequests.request`; the reason of the signal, also while it waits for its turn */
  ask<N extends RequestName>(
    from: { readonly agentId: AgentId; readonly userId: UserId },
    name: N,
    input: RequestInput<N>,
    options: RequestOptions,
  ): Promise<RequestReply<N>>
}

const BYTES_PER_MS = BYTES_PER_SECOND / 2 / 1_000
const BURST_BYTES = 8 * 1024 * 1024

export function createLongAnswers(agents: AgentRequests, now: () => number = () => performance.now()): LongAnswers {
  const places = new Map<AgentId, { readonly turns: Turns; spend(bytes: number): void }>()

  function placeOf(agentId: AgentId) {
    const known = places.get(agentId)
    if (known) return known
    let [credit, paidAt] = [BURST_BYTES, now()]
    const earn = () => {
      credit = Math.min(BURST_BYTES, credit + (now() - paidAt) * BYTES_PER_MS)
      paidAt = now()
    }
    const turns = createTurns(next => {
      earn()
      if (credit >= 0) next()
      else setTimeout(next, -credit / BYTES_PER_MS)
    })
    const place = { turns, spend: (bytes: number) => void (credit -= bytes) }
    places.set(agentId, place)
    return place
  }

  return {
    async ask({ agentId, userId }, name, input, options) {
      const place = placeOf(agentId)
      return await place.turns.run(userId, async () => {
        options.signal?.throwIfAborted()
        const reply = await agents.request(agentId, name, input, options)
        place.spend(JSON.stringify(reply).length)
        return reply
      })
    },
  }
}
