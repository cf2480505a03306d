import { type News } from './account-notifier.ts'

/** Consequences of a change of an account that are announced after the commit (`Logins.settle`). */
export interface AfterCommit {
  /** Sign-ins that the change ended. */
  readonly ended: readonly string[]
  /** Whether the account may have lost projects, so that its access to shared sessions must be checked again. */
  readonly hasLeftProjects: boolean
  /** Messages to the person that the transaction has written. */
  readonly news: readonly News[]
}

/** Combines the consequences of several changes in one transaction. */
export function afterCommitOf(...all: readonly (Partial<AfterCommit> | undefined)[]): AfterCommit {
  return {
    ended: all.flatMap(one => one?.ended ?? []),
    hasLeftProjects: all.some(one => one?.hasLeftProjects),
    news: all.flatMap(one => one?.news ?? []),
  }
}
