import { AppError, because, type QueueSort, readSort, type Reservation, type Session } from '#manager/contract'
import { type PlacingPresence } from '../scheduler/snapshot.ts'
import { type Db } from '../store/schema.ts'
import { listWaiting } from '../store/sessions/session-list.ts'
import { findSessions } from '../store/sessions/sessions.ts'
import { type Caller, visibleTo } from '../users/authorize.ts'
import { parseQueueCursor, queuePage } from './queue-page.ts'
import { readReservations } from './reservations.ts'
import { toSessions, type ViewDeps } from './views.ts'

export interface QueueQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly resourceGroup?: string | undefined
  readonly search?: string | undefined
  readonly sort: QueueSort
}

/** The queue as administrators see it: an admin of a domain sees the sessions of the domain. */
export interface SessionQueue {
  /** Positions are those of the last plan of this manager. @throws AppError `bad_request` if the cursor is invalid */
  list(caller: Caller, query: QueueQuery): Promise<{ items: Session[]; nextCursor: string | null; total: number }>
  reservations(caller: Caller, resourceGroup?: string): Promise<Reservation[]>
}

export interface SessionQueueDeps extends Omit<ViewDeps, 'presence' | 'caller'> {
  readonly db: Db
  readonly presence: ViewDeps['presence'] & Pick<PlacingPresence, 'orphans'>
}

export function createSessionQueue(deps: SessionQueueDeps): SessionQueue {
  const { db, presence, positionOf } = deps
  return {
    async list(caller, { limit, cursor, resourceGroup, search, sort }) {
      const after = cursor === undefined ? undefined : parseQueueCursor(cursor)
      if (cursor !== undefined && !after) throw new AppError('bad_request', because('cursor_wrong'))
      const rows = await listWaiting(db, { visible: visibleTo(caller), resourceGroup, search })
      const waiting = rows.map(row => ({ ...row, position: positionOf(row.id) }))
      const page = queuePage(waiting, { ...readSort(sort), limit, after })
      const byId = new Map((await findSessions(db, page.ids)).map(row => [row.id, row]))
      // A session that has started meanwhile is not in the queue any more.
      const shown = page.ids.flatMap(id => {
        const row = byId.get(id)
        return row?.status === 'PENDING' ? [row] : []
      })
      const items = await toSessions(db, shown, { ...deps, caller })
      return { items, nextCursor: page.nextCursor, total: rows.length }
    },
    reservations: (caller, resourceGroup) => readReservations({ db, presence, caller }, resourceGroup),
  }
}
