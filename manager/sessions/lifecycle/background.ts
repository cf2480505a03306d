import { isAppError } from '#manager/contract'
import { type Log } from '../../log.ts'

/**
 * Work that nobody awaits. A failure is logged, and the deadlines find the session again: as an error if it is our own bug, as a
 * warning if it has a code, for example because an agent refused.
 */
export interface Background extends AsyncDisposable {
  readonly closed: boolean
  /** @param what subject of the log line */
  run(what: string, id: string, work: () => Promise<void>): void
}

/** After closing, no further work starts; closing waits for running work. */
export function createBackground(log: Log): Background {
  const tasks = new Set<Promise<void>>()
  let closed = false
  return {
    get closed() {
      return closed
    },
    run(what, id, work) {
      if (closed) return
      const task = work()
        .catch((error: unknown) => {
          if (!closed) log[isAppError(error) ? 'warn' : 'error']({ err: error, id }, `${what} failed`)
        })
        .finally(() => tasks.delete(task))
      tasks.add(task)
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await Promise.all(tasks)
    },
  }
}
