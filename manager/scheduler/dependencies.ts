import { because, type Because, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { resultOf } from './result.ts'
import { type Dependency } from '../store/sessions/dependencies.ts'

export interface DependencyState {
  /** Names of unfinished dependencies, by waiting session. */
  readonly waitsFor: ReadonlyMap<SessionId, readonly string[]>
  /** Sessions that can never start, with the reason. */
  readonly failed: ReadonlyMap<SessionId, Reason>
}

/**
 * Sorts dependencies into pending and failed ones. A dependency that succeeded (ended by itself with exit code 0, like a successful batch
 * session) is neither. Pure.
 */
export function judgeDependencies(dependencies: readonly Dependency[]): DependencyState {
  const waitsFor = new Map<SessionId, string[]>()
  const failed = new Map<SessionId, Reason>()
  for (const dependency of dependencies) {
    const { sessionId, name } = dependency
    const result = resultOf(dependency)
    if (result === 'failure' && !failed.has(sessionId)) {
      failed.set(sessionId, reasonOf('dependency_failed', failureOf(dependency)))
    }
    if (result === null) waitsFor.set(sessionId, [...(waitsFor.get(sessionId) ?? []), name])
  }
  return { waitsFor, failed }
}

function failureOf({ name, status, reason, exitCode }: Dependency): Because {
  if (status !== 'TERMINATED') return because('depends_on_status', { session: name, status })
  return reason.code === 'exited'
    ? because('depends_on_exit', { session: name, exitCode: exitCode ?? 'unknown' })
    : because('depends_on_end', { session: name, reason: reason.code })
}
