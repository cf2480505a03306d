import { shallowReactive } from 'vue'
import { isFinished, type Session, type SessionId, type SessionStats } from '#manager/contract'
import { type EventStream } from '../../api/event-stream.ts'

/**
 * Figures of the sessions on the page. They are kept apart from the sessions: figures arrive every second and must not make lists sort
 * again.
 *
 * @param get a session that the page holds
 */
export function createSessionStats(events: Pick<EventStream, 'watch'>, get: (id: SessionId) => Session | undefined) {
  const live = shallowReactive(new Map<SessionId, SessionStats>())

  /** Watches live figures of these sessions until the returned function is called; read them with `statsOf`. */
  function watchStats(ids: readonly SessionId[]): () => void {
    return events.watch(ids, (id, stats) => {
      const status = get(id)?.status
      if (status !== undefined && !isFinished(status)) live.set(id, stats)
    })
  }

  /** The newest figures: the last live ones, or those of an answer that came after the session was last watched. */
  function statsOf(id: SessionId): SessionStats | null {
    const last = live.get(id)
    const answered = get(id)?.stats ?? null
    return last && !(answered && answered.at > last.at) ? last : answered
  }

  return { watchStats, statsOf, dropStats: (id: SessionId) => void live.delete(id) }
}
