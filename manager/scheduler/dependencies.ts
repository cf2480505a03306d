import { type Reason, type SessionId } from '#manager/contract'
import { resultOf } from './result.ts'
import { type Dependency } from '../store/sessions/dependencies.ts'

export interface DependencyState {
  /** By waiting session: names of the sessions it depends on that have not ended yet. */
  readonly waitsFor: ReadonlyMap<SessionId, readonly string[]>
  /** Sessions that can never start, with the reason. */
  readonly failed: ReadonlyMap<SessionId, Reason>
}

/**
 * Sorts dependencies into pending and failed ones. A dependency that ended well (by itself with exit code 0, as batch
 * sessions that succeed) is no longer waited for. Pure.
 */
export function judgeDependencies(dependencies: readonly Dependency[]): DependencyState {
  const waitsFor = new Map<SessionId, string[]>()
  const failed = new Map<SessionId, Reason>()
  for (const dependency of dependencies) {
    const { sessionId, name } = dependency
    const result = resultOf(dependency)
    if (result === 'failure' && !failed.has(sessionId)) {
      const message = `Will not start: depends on session "${name}", which ${endOf(dependency)}.`
      failed.set(sessionId, { code: 'dependency_failed', message })
    }
    if (result === null) waitsFor.set(sessionId, [...(waitsFor.get(sessionId) ?? []), name])
  }
  return { waitsFor, failed }
}

function endOf({ status, reason, exitCode }: Dependency): string {
  if (status !== 'TERMINATED') return `is ${status}`
  return reason.code === 'exited' ? `ended with exit code ${exitCode ?? 'unknown'}` : `ended as ${reason.code}`
}
