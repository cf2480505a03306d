import { type QueueOrder, type SessionId } from '#manager/contract'
import { type WaitingRow } from '../store/sessions/session-list.ts'

/** A waiting session with its position; null if no plan contains it yet, or if it is not in the queue. */
export interface Waiting extends WaitingRow {
  readonly position: number | null
}

export interface QueuePageQuery {
  readonly order: QueueOrder
  readonly descending: boolean
  readonly limit: number
  /** The `nextCursor` of the previous page. */
  readonly after?: QueueCursor | undefined
}

/** End of a page: its last session, and the number of sessions up to it. */
export interface QueueCursor {
  readonly id: string
  readonly count: number
}

/** @returns undefined for a text that is no cursor */
export function parseQueueCursor(text: string): QueueCursor | undefined {
  const [, count, id] = /^(\d{1,9})\.([0-9a-f-]{36})$/.exec(text) ?? []
  return count === undefined || id === undefined ? undefined : { id, count: Number(count) }
}

export interface QueuePage {
  readonly ids: readonly SessionId[]
  readonly nextCursor: string | null
}

/**
 * A page of the waiting sessions. The queue may change between two pages: the next page continues after the last session of the previous
 * page, at its current position, or at its old position if it is not waiting any more.
 *
 * @param rows oldest first; sessions with the same value keep that order
 */
export function queuePage(rows: readonly Waiting[], { order, descending, limit, after }: QueuePageQuery): QueuePage {
  const valueOf = VALUES[order]
  const sign = descending ? -1 : 1
  const sorted = rows
    .map(row => ({ id: row.id, value: valueOf(row) }))
    .sort((a, b) => {
      if (a.value === b.value) return 0
      // Sessions without a position come last in both directions.
      if (a.value === null || b.value === null) return a.value === null ? 1 : -1
      return sign * (a.value < b.value ? -1 : 1)
    })
  const start = after === undefined ? 0 : startBehind(after, sorted)
  const ids = sorted.slice(start, start + limit).map(({ id }) => id)
  const end = start + ids.length
  return { ids, nextCursor: end < sorted.length ? `${end}.${ids.at(-1) ?? ''}` : null }
}

function startBehind({ id, count }: QueueCursor, sorted: readonly { readonly id: string }[]): number {
  const at = sorted.findIndex(row => row.id === id)
  return at === -1 ? Math.min(Math.max(0, count - 1), sorted.length) : at + 1
}

const VALUES: Readonly<Record<QueueOrder, (row: Waiting) => string | number | null>> = {
  position: ({ position }) => position,
  name: ({ name }) => name.toLowerCase(),
  owner: ({ owner }) => owner.toLowerCase(),
  priority: ({ priority }) => priority,
  // Ids follow the time of creation.
  created: ({ id }) => id,
  resourceGroup: ({ resourceGroup }) => resourceGroup,
}
