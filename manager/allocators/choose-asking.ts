import { type SessionId } from '#manager/contract'
import { type AllocatedSession } from '../store/sessions/allocations.ts'
import { type WaitingSessions } from './read-waiting.ts'

/** Knowledge of waiting sessions from earlier looks. */
export interface AskingOptions {
  /** Most requests of a group that wait at the engine. */
  readonly mostWaiting: number
  /** Sessions whose GPUs no node had when they asked last. */
  readonly nowhere: ReadonlySet<SessionId>
  /** Whether the engine refused the request of this name. */
  readonly isRefused: (name: string) => boolean
}

/**
 * Sessions of each group that may request an allocation: those that have requested one, then the oldest of the others. Those that can get
 * none at present come last: they may wait for ever. Pure.
 */
export function chooseAsking(
  waiting: readonly Pick<WaitingSessions, 'startable'>[],
  sessions: readonly AllocatedSession[],
  { mostWaiting, nowhere, isRefused }: AskingOptions,
): ReadonlySet<SessionId> {
  const requests = new Map(
    sessions.flatMap(({ id, request }) => (request && !request.granted ? [[id, request.name] as const] : [])),
  )
  function rank(id: SessionId): number {
    const name = requests.get(id)
    if (nowhere.has(id) || (name !== undefined && isRefused(name))) return 1
    return name === undefined ? 0 : -1
  }
  return new Set(
    waiting.flatMap(({ startable }) => [...startable].toSorted((a, b) => rank(a) - rank(b)).slice(0, mostWaiting)),
  )
}
