import { type ApiClient, type SessionEvent, type SessionId } from '#manager/contract'
import { firstPages } from '../../data/first-pages.ts'

/** The newest part of a timeline. */
export interface LatestEvents {
  /** Oldest first. */
  readonly events: readonly SessionEvent[]
  /** Whether there are earlier events. */
  readonly hasEarlier: boolean
}

/** Fetches the latest events of a session, or all if there are fewer. @param wanted how many */
export async function loadEvents(
  api: Pick<ApiClient, 'listSessionEvents'>,
  { id, wanted, signal }: { readonly id: SessionId; readonly wanted: number; readonly signal: AbortSignal },
): Promise<LatestEvents> {
  const { items, nextCursor } = await firstPages(wanted, page =>
    api.listSessionEvents({ params: { id }, query: { ...page, sort: '-at' }, signal }),
  )
  return { events: items.toReversed(), hasEarlier: nextCursor !== null }
}
