import { type Reason, type SessionId } from '#manager/contract'
import { resultOf } from './result.ts'
import { type Dependency } from '../store/sessions/dependencies.ts'

export interface DependencyState {
  /** Names of what has not ended yet, by waiting session. */
  readonly waitsFor: ReadonlyMap<SessionId, readonly string[]>
  /** Sessions that can never start, with why. */
  readonly failed: ReadonlyMap<SessionId, Reason>
}

/** What has ended well is nothing to wait for: ended by itself with exit code 0, as batch sessions that succeed. Pure. */
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
