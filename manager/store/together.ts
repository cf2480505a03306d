import { setTimeout as wait } from 'node:timers/promises'
import { onBehalfOfAll } from './on-behalf.ts'

/** Most queries that are combined: a longer answer would block the event loop for all other requests. */
const MOST = 100
/** Least time between the beginnings of two queries: otherwise a thousand agents that report evenly would cause a query each. */
const APART_MS = 25

interface Asked<Q, A> {
  readonly question: Q
  readonly settle: PromiseWithResolvers<A>
}

/**
 * Combines concurrent questions into one query. While a query is in flight, new questions wait, and the next query answers them together. A
 * question that comes alone is asked at once; one that comes soon after others waits for more, at most some milliseconds. No answer is
 * older than its question.
 *
 * @param ask returns the answers in the order of the questions
 */
export function together<Q, A>(ask: (questions: readonly Q[]) => Promise<readonly A[]>): (question: Q) => Promise<A> {
  let waiting: Asked<Q, A>[] = []
  let isAsking = false
  let lastAt = -Infinity

  async function askAll(): Promise<void> {
    isAsking = true
    // Wait one microtask, so that questions of the same turn of the event loop share the first query.
    await Promise.resolve()
    while (waiting.length > 0) {
      const early = lastAt + APART_MS - performance.now()
      if (early > 0 && waiting.length < MOST) await wait(early)
      lastAt = performance.now()
      const batch = waiting.slice(0, MOST)
      waiting = waiting.slice(MOST)
      try {
        const answers = await ask(batch.map(({ question }) => question))
        batch.forEach(({ settle }, index) => settle.resolve(answers[index] as A))
      } catch (error) {
        for (const { settle } of batch) settle.reject(error)
      }
    }
    isAsking = false
  }

  return question => {
    const settle = Promise.withResolvers<A>()
    waiting.push({ question, settle })
    if (!isAsking) void onBehalfOfAll(askAll)
    return settle.promise
  }
}
