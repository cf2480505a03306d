import { AppError, because } from '#manager/contract'
import { createTurnstile } from './turnstile.ts'

/** Questions of strangers to the manager, a few at a time. */
export interface Questions {
  /** @throws AppError `unavailable` if the question has given up its place to others before it was asked; as `question` */
  ask<T>(address: string, question: () => Promise<T>): Promise<T>
}

/**
 * Threat model: strangers make up questions as fast as they can. So few are asked at once, whatever the number of their connections, and
 * those that wait make room for newcomers, first of all those of the network that has most of them. A question that was asked is not given
 * up: that would cost its connection.
 *
 * @param waiting how many may wait
 */
export function createQuestions({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Questions {
  const places = createTurnstile({ most: waiting })
  /** Starts of the questions that wait, first come first. */
  const queue = new Set<() => void>()
  let asking = 0

  function turnOf(address: string): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const begin = () => resolve(undefined)
    queue.add(begin)
    places.enter(address, {
      once: (_, left) => void promise.then(left, left),
      destroy() {
        queue.delete(begin)
        reject(new AppError('unavailable', because('too_many_waiting')))
      },
    })
    return promise
  }

  /** Hands the place of a question that was answered to the next one. */
  function handOn(): void {
    const [next] = queue
    if (!next) {
      asking--
      return
    }
    queue.delete(next)
    next()
  }

  return {
    async ask(address, question) {
      if (asking < atOnce) asking++
      else await turnOf(address)
      try {
        return await question()
      } finally {
        handOn()
      }
    },
  }
}
