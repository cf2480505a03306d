import { fullest } from '#base/fullest'
import { AppError, because } from '#manager/contract'

/** Number of hashes at a time: the thread pool also serves DNS and files, and each hash takes 19 MiB. */
const AT_ONCE = 2
const LONGEST_QUEUE = 64

/** Names of the requester, the widest group first: when the queue is full, the group with the most requests loses its last one. */
export type Asker = readonly string[]

/** A position in the queue: one hash, and any number of attempts that only wait for the same time. */
interface Place {
  by: Asker
  /** Undefined while no attempt at this position needs a hash. */
  work: (() => Promise<unknown>) | undefined
  readonly over: PromiseWithResolvers<undefined>
}

export interface PasswordQueue {
  /** Waits in the queue, then runs the work. @throws AppError `rate_limited` */
  run<T>(by: Asker, work: () => Promise<T>): Promise<T>
  /** Takes as long as `run` would, without work. @throws AppError `rate_limited` */
  pretend(by: Asker): Promise<void>
}

/** @param pretended takes as long as the work */
export function createPasswordQueue(pretended: () => Promise<unknown>): PasswordQueue {
  let running = 0
  const waiting: Place[] = []

  /** Waits at the last position of the queue if that has no work yet, otherwise at a new one, with or without work. */
  async function wait(by: Asker, work?: () => Promise<unknown>): Promise<void> {
    const last = waiting.at(-1)
    if (last && last.work === undefined) {
      if (work) Object.assign(last, { by, work })
      return last.over.promise
    }
    const place: Place = { by, work, over: Promise.withResolvers<undefined>() }
    waiting.push(place)
    startNext()
    if (waiting.length > LONGEST_QUEUE) makeRoom()
    return place.over.promise
  }

  function makeRoom(): void {
    const leaving = fullest(waiting.toReversed(), ({ by }) => by)[0]
    if (!leaving) return
    waiting.splice(waiting.indexOf(leaving), 1)
    leaving.over.reject(new AppError('rate_limited', because('many_sign_ins')))
  }

  function startNext(): void {
    while (running < AT_ONCE) {
      const place = waiting.shift()
      if (!place) return
      running++
      const { work = pretended } = place
      const end = () => {
        running--
        place.over.resolve(undefined)
        startNext()
      }
      work().then(end, end)
    }
  }

  return {
    async run<T>(by: Asker, work: () => Promise<T>): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<T>()
      await wait(by, () => {
        const done = work()
        resolve(done)
        return done
      })
      return promise
    },
    pretend: (by: Asker) => wait(by),
  }
}
