import { type Session } from '#manager/contract'
import { hasFailed } from '../../data/sessions/session-text.ts'

export type NewsKind = 'failed' | 'ended' | 'started' | 'ending'
/** Something that happened to a session while its owner was away. */
export interface News {
  readonly session: Session
  readonly kind: NewsKind
  /** ISO 8601. */
  readonly at: string
}

/** Order of news: failures first, because the owner may have to act. */
const RANK: Readonly<Record<NewsKind, number>> = { failed: 0, ending: 1, ended: 2, started: 3 }

/**
 * News of sessions since a time: failed, ended and started sessions, and running ones of whose end their owner was warned. Most urgent
 * first, then newest first.
 */
export function newsSince(sessions: Iterable<Session>, since: number): News[] {
  const news: News[] = []
  for (const session of sessions) {
    const { endedAt, startedAt, status, ends } = session
    if (endedAt !== null) {
      if (Date.parse(endedAt) <= since || status === 'CANCELLED') continue
      news.push({ session, kind: hasFailed(session) ? 'failed' : 'ended', at: endedAt })
    } else if (ends !== null && ends.warnedAt !== null) {
      news.push({ session, kind: 'ending', at: ends.at })
    } else if (status === 'RUNNING' && startedAt !== null && Date.parse(startedAt) > since) {
      news.push({ session, kind: 'started', at: startedAt })
    }
  }
  return news.toSorted((a, b) => RANK[a.kind] - RANK[b.kind] || (a.at < b.at ? 1 : -1))
}
