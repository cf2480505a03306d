import { AppError, because, type Session, type SessionId } from '#manager/contract'
import { type Store } from '../store/open-store.ts'
import { updatePriority } from '../store/sessions/touches.ts'
import { administers, type Caller } from '../users/authorize.ts'
import { type SessionChanges } from './changes.ts'
import { requireManaged } from './require-session.ts'

/** The default priority of every session. Users may lower it, so that others (or their own other sessions) go first. */
const USUAL = 0

/** @throws AppError `forbidden` */
export function requirePriority(caller: Caller, domain: string, priority: number, usual = USUAL): void {
  if (priority <= usual || administers(caller, domain)) return
  throw new AppError('forbidden', { ...because('priority_at_most', { usual }), priority })
}

export interface PriorityDeps {
  readonly store: Store
  readonly changes: SessionChanges
  readonly onChanged: () => void
  readonly get: (caller: Caller, id: SessionId) => Promise<Session>
}

/**
 * Changes the priority of a waiting session.
 *
 * @returns a function that throws AppError `session_not_found`, `forbidden`, `session_not_waiting`
 */
export function createSetPriority({ store, changes, onChanged, get }: PriorityDeps) {
  return async (caller: Caller, id: SessionId, priority: number): Promise<Session> => {
    const session = await requireManaged(store.db, caller, id)
    requirePriority(caller, session.domain, priority, session.priority)
    const touched = await updatePriority(store.db, id, priority)
    changes.hint(touched)
    if (touched.length > 0) onChanged()
    const changed = await get(caller, id)
    // The session may have left the queue since it was read.
    if (touched.length === 0 && changed.status !== 'PENDING') throw new AppError('session_not_waiting')
    return changed
  }
}
