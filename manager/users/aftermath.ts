import { type News } from './account-notifier.ts'

/** Consequences of a change of an account, which are announced once it is committed (`Logins.settle`). */
export interface Aftermath {
  /** Sign-ins that the change ended. */
  readonly ended: readonly string[]
  /** Whether the account may have lost projects, so that sessions are looked at again that it saw by them. */
  readonly hasLeftProjects: boolean
  /** Messages to the person that the transaction has written. */
  readonly news: readonly News[]
}

/** The aftermath of several changes in one transaction. */
export function aftermathOf(...all: readonly (Partial<Aftermath> | undefined)[]): Aftermath {
  return {
    ended: all.flatMap(one => one?.ended ?? []),
    hasLeftProjects: all.some(one => one?.hasLeftProjects),
    news: all.flatMap(one => one?.news ?? []),
  }
}
