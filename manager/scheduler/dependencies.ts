import { isFinished, type Reason, type SessionId } from '#manager/contract'
import { type Dependency } from '../store/dependencies.ts'

export interface DependencyState {
  /** Names of what has not ended yet, by waiting session. */
  readonly waitsFor: ReadonlyMap<SessionId, readonly string[]>
  /** Sessions that can never start, with why. */
  readonly failed: ReadonlyMap<SessionId, Reason>
}

/** Well is: TERMINATED with exit code 0, as batch sessions end that succeed. Pure. */
export function judgeDependencies(dependencies: readonly Dependency[]): DependencyState {
  const waitsFor = new Map<SessionId, string[]>()
  const failed = new Map<SessionId, Reason>()
  for (const { sessionId, name, status, exitCode } of dependencies) {
    if (status === 'TERMINATED' && exitCode === 0) continue
    if (isFinished(status)) {
      if (failed.has(sessionId)) continue
      const how = status === 'TERMINATED' ? `ended with exit code ${exitCode ?? 'unknown'}` : `is ${status}`
      const message = `It depends on session "${name}", which ${how}: it does not start.`
      failed.set(sessionId, { code: 'dependency_failed', message })
    } else waitsFor.set(sessionId, [...(waitsFor.get(sessionId) ?? []), name])
  }
  return { waitsFor, failed }
}
