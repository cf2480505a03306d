import { type App, AppError, type SessionId, type SessionPermission, type UserId } from '#manager/contract'
import { listKernels } from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { findSession, ownedOf } from '../store/sessions/sessions.ts'
import { appsOf } from '../images/apps.ts'
import { type TunnelPlace } from '../tunnels/access.ts'
import { type SessionChanges } from './changes.ts'
import { type SessionMembers } from './members.ts'

/** Location of a running session; used by tunnels to find its agent. */
export interface SessionLocation extends TunnelPlace {
  readonly apps: readonly App[]
  readonly shares: Readonly<Record<UserId, SessionPermission>> | null
}

const KEPT_MS = 5_000

/**
 * Creates a cached lookup of session locations, called for every tunnel connection. An entry lives for some seconds and is dropped at once
 * when a manager changes the session or its shares. A read in flight at that moment may be older than the change, so its result is not
 * cached.
 *
 * @returns a function that throws AppError `session_not_found`
 */
export function createLocator(
  store: Pick<Store, 'db'>,
  changes: Pick<SessionChanges, 'onApplied'>,
  members: Pick<SessionMembers, 'onChanged'>,
  read: (db: Db, id: SessionId) => Promise<SessionLocation> = readLocation,
): (id: SessionId) => Promise<SessionLocation> {
  const known = new Map<SessionId, { location: SessionLocation; until: number }>()
  const readings = new Map<SessionId, Set<{ stale: boolean }>>()
  changes.onApplied(({ sessionId }) => {
    known.delete(sessionId)
    for (const reading of readings.get(sessionId) ?? []) reading.stale = true
  })
  members.onChanged(() => {
    known.clear()
    for (const all of readings.values()) for (const reading of all) reading.stale = true
  })
  return async id => {
    const kept = known.get(id)
    if (kept && kept.until > performance.now()) return kept.location
    const reading = { stale: false }
    const others = readings.get(id) ?? new Set()
    readings.set(id, others.add(reading))
    try {
      const location = await read(store.db, id)
      // Cache running sessions only: a starting session changes its location at any moment.
      if (location.status === 'RUNNING' && !reading.stale)
        known.set(id, { location, until: performance.now() + KEPT_MS })
      return location
    } finally {
      others.delete(reading)
      if (others.size === 0) readings.delete(id)
    }
  }
}

async function readLocation(db: Db, id: SessionId): Promise<SessionLocation> {
  const session = await findSession(db, id)
  if (!session) throw new AppError('session_not_found', { sessionId: id })
  const kernels = await listKernels(db, [id])
  const [kernel] = kernels
  return {
    agentId: kernel?.agent_id ?? null,
    kernelId: kernel?.id ?? null,
    kernels: new Map(
      kernels.flatMap(({ role, agent_id: agentId, id: kernelId, status }) =>
        agentId === null || status !== 'RUNNING' ? [] : [[role, { agentId, kernelId }]],
      ),
    ),
    status: session.status,
    apps: appsOf(session),
    ...ownedOf(session),
  }
}
