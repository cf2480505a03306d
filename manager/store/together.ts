/** So many questions are answered by one query at most: a long answer keeps everybody else from the event loop. */
const MOST = 100

interface Asked<Q, A> {
  readonly question: Q
  readonly settle: PromiseWithResolvers<A>
}

/**
 * Answers questions that come at the same time by one query: while one is being answered, those that come meanwhile wait
 * and are asked together. A question that comes alone is asked at once; no answer is older than its question.
 *
 * @param ask returns the answers in the order of the questions
 */
export function together<Q, A>(ask: (questions: readonly Q[]) => Promise<readonly A[]>): (question: Q) => Promise<A> {
  let waiting: Asked<Q, A>[] = []
  let isAsking = false

  async function askAll(): Promise<void> {
    isAsking = true
    // Those of the same turn are asked together.
    await Promise.resolve()
    while (waiting.length > 0) {
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
    if (!isAsking) void askAll()
    return settle.promise
  }
}
