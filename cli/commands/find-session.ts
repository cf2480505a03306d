import { AppError, type Session, SessionId } from '#manager/contract'
import { type Connection } from '../config/connect.ts'

/**
 * Finds a session by id, by the start of its id (8 characters or more), or by name: the newest one of that name, a live one
 * before a finished one. Admins also see other users' sessions: their own come first, and a name that only other users have
 * must be unambiguous, so that an admin never ends the wrong person's session.
 *
 * @throws AppError `session_not_found`, `bad_request` if several match
 */
export async function findSession({ api, userId }: Connection, reference: string): Promise<Session> {
  if (SessionId.safeParse(reference).success) return await api.getSession({ params: { id: reference } })
  const byName = await api.listSessions({ query: { name: reference, limit: 100 } })
  const named = await choose(byName.items, userId, reference)
  if (named) return named
  if (/^[0-9a-f-]{8,}$/.test(reference)) {
    const matches = await withPrefix(api, reference)
    if (matches.length > 1)
      throw new AppError('bad_request', {
        why: `"${reference}" fits ${matches.length} sessions. Give more of the name or id.`,
      })
    if (matches[0]) return matches[0]
  }
  throw new AppError('session_not_found', { why: `You have no session "${reference}". See \`berth session ls\`.` })
}

/** Looks through all sessions, page by page: the manager finds no parts of ids. */
async function withPrefix(api: Connection['api'], prefix: string): Promise<Session[]> {
  const matches: Session[] = []
  let cursor: string | null = null
  do {
    const page: { items: Session[]; nextCursor: string | null } = await api.listSessions({
      query: { limit: 500, ...(cursor === null ? {} : { cursor }) },
    })
    matches.push(...page.items.filter(session => session.id.startsWith(prefix)))
    cursor = page.nextCursor
  } while (cursor !== null)
  return matches
}

/** @param named newest first */
async function choose(
  named: readonly Session[],
  userId: Connection['userId'],
  reference: string,
): Promise<Session | undefined> {
  const owners = new Set(named.map(session => session.ownerId))
  const me = owners.size > 1 ? await userId() : undefined
  const own = owners.size > 1 ? named.filter(session => session.ownerId === me) : named
  if (named.length > 0 && own.length === 0) {
    const whose = named.map(session => `${session.ownerEmail} (${session.id})`).join(', ')
    throw new AppError('bad_request', {
      why: `Several users have a session "${reference}". Give the id instead: ${whose}.`,
    })
  }
  return own.find(session => session.endedAt === null) ?? own[0]
}
