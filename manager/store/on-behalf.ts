import { AsyncLocalStorage } from 'node:async_hooks'

/** A person, or a network of strangers, for whom work is done. Its statements take turns with those for others (`guarded-pool.ts`). */
export interface Work {
  /** Id of a user, or the network of strangers. */
  readonly who: string
  /** Connections to the database that this piece of work has now. */
  connections: number
}

const current = new AsyncLocalStorage<Work | undefined>()

/** Does work for somebody. All that it begins is for them too, also what it does not wait for. */
export const onBehalfOf = <T>(who: string, act: () => T): T => current.run({ who, connections: 0 }, act)

/** Does work that others wait for as well, such as an answer that is shared: it does not wait behind the calls of whoever began it. */
export const onBehalfOfAll = <T>(act: () => T): T => current.run(undefined, act)

/** Undefined for work of the manager itself. */
export const currentWork = (): Work | undefined => current.getStore()
