import { type News } from './account-notifier.ts'

/** Consequences of a change of an account, which are announced once it is committed (`Logins.settle`). */
export interface AfterCommit {
  /** Sign-ins that the change ended. */
  readonly ended: readonly string[]
  /** Whether the account may have lost projects, so that sessions are looked at again that it saw by them. */
  readonly hasLeftProjects: boolean
  /** Messages to the person that the transaction has written. */
  readonly news: readonly News[]
}

/** Joins what follows several changes in one transaction. */
export function afterCommitOf(...all: readonly (Partial<AfterCommit> | undefined)[]): AfterCommit {
  return {
    ended: all.flatMap(one => one?.ended ?? []),
    hasLeftProjects: all.some(one => one?.hasLeftProjects),
    news: all.flatMap(one => one?.news ?? []),
  }
}
