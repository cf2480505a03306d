import {
  type AgentId,
  type App,
  AppError,
  type KernelId,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { listKernels } from '../store/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { findSession, ownedOf } from '../store/sessions.ts'
import { appsOf } from './apps.ts'
import { type SessionChanges } from './changes.ts'

/** Where a session runs; what a tunnel needs to find its agent. */
export interface SessionLocation {
  readonly agentId: AgentId | null
  readonly kernelId: KernelId | null
  readonly status: SessionStatus
  readonly apps: readonly App[]
  readonly ownerId: UserId
  readonly domain: string
}

const KEPT_MS = 5_000

/**
 * Asked for every tunnel connection, so what was found is kept for some seconds, and dropped at once when this manager
 * changes the session.
 *
 * @returns a function that throws AppError `session_not_found`
 */
export function createLocator(store: Store, changes: SessionChanges): (id: SessionId) => Promise<SessionLocation> {
  const known = new Map<SessionId, { location: SessionLocation; until: number }>()
  changes.onApplied(({ sessionId }) => void known.delete(sessionId))
  return async id => {
    const kept = known.get(id)
    if (kept && kept.until > performance.now()) return kept.location
    const session = await findSession(store.db, id)
    if (!session) throw new AppError('session_not_found', { sessionId: id })
    const [kernel] = await listKernels(store.db, [id])
    const location: SessionLocation = {
      agentId: kernel?.agent_id ?? null,
      kernelId: kernel?.id ?? null,
      status: session.status,
      apps: appsOf(session),
      ...ownedOf(session),
    }
    // Only what is stable: a starting session changes under our hands.
    if (location.status === 'RUNNING') known.set(id, { location, until: performance.now() + KEPT_MS })
    return location
  }
}
