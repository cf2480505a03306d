import { AppError, because } from '#manager/contract'
import { createTurnstile } from './turnstile.ts'

/** Questions that strangers cause us to ask the manager, a few at a time. */
export interface Questions {
  /** @throws AppError `unavailable` if the question was dropped in favour of others before it was asked; as `question` */
  ask<T>(address: string, question: () => Promise<T>): Promise<T>
}

/**
 * Threat model: strangers cause questions as fast as they can. So few are asked at a time, whatever the number of connections. If too many
 * wait, a waiting question of the network that has most is dropped for a new one. A question in flight is not aborted: that would cost its
 * connection.
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

  /** Starts the next question after one was answered. */
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
