import { type ApiClient, type SessionEvent, type SessionId } from '#manager/contract'

/** The end of a timeline. */
export interface LatestEvents {
  /** Oldest first. */
  readonly events: readonly SessionEvent[]
  /** Whether there are events before these. */
  readonly hasEarlier: boolean
}

const LARGEST_PAGE = 500

/** Fetches the latest events of a session, or all if there are fewer. @param wanted how many */
export async function loadEvents(
  api: Pick<ApiClient, 'listSessionEvents'>,
  { id, wanted, signal }: { readonly id: SessionId; readonly wanted: number; readonly signal?: AbortSignal },
): Promise<LatestEvents> {
  const latest: SessionEvent[] = []
  let cursor: string | undefined
  do {
    const query = { limit: Math.min(LARGEST_PAGE, wanted - latest.length), sort: '-at' as const, cursor }
    const { items, nextCursor } = await api.listSessionEvents({ params: { id }, query, ...(signal ? { signal } : {}) })
    latest.push(...items)
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined && latest.length < wanted)
  return { events: latest.toReversed(), hasEarlier: cursor !== undefined }
}
