import { AppError, type Session, SessionId } from '#manager/contract'
import { type Connection } from '../config/connect.ts'

/**
 * Finds a session by id, by the start of its id (8 characters or more), or by name: the newest one of that name, a live one before a
 * finished one. Admins also see other users' sessions, and members those that are shared with them: their own come first, and a name that
 * only other users have must be unambiguous, so that an admin never ends the wrong person's session.
 *
 * Threat model: whoever shares sessions chooses their names, and how many. Files and passwords meant for an own session must not go into
 * one of theirs, so own sessions are requested separately, and the start of an own id is never taken for a name.
 *
 * @throws AppError `session_not_found`, `bad_request` if several match
 */
export async function findSession({ api, userId }: Connection, reference: string): Promise<Session> {
  if (SessionId.safeParse(reference).success) return await api.getSession({ params: { id: reference } })
  const named = { name: reference, limit: 100 }
  const own = latest((await api.listSessions({ query: { ...named, mine: 'true' } })).items)
  if (own) return own
  const isPart = /^[0-9a-f-]{8,}$/.test(reference)
  const begun = isPart ? await withPrefix(api, reference) : []
  const me = begun.length > 0 ? await userId() : undefined
  const ownBegun = begun.filter(session => session.ownerId === me)
  if (ownBegun.length > 0) return onlyOne(ownBegun, reference)
  const others = await api.listSessions({ query: named })
  if (new Set(others.items.map(session => session.ownerId)).size > 1) throw severalHave(others.items, reference)
  const found = latest(others.items) ?? (begun.length > 0 ? onlyOne(begun, reference) : undefined)
  if (found) return found
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
const latest = (named: readonly Session[]): Session | undefined =>
  named.find(session => session.endedAt === null) ?? named[0]

/** @throws AppError `bad_request` */
function onlyOne([session, ...more]: readonly Session[], reference: string): Session {
  if (session && more.length === 0) return session
  const why = `"${reference}" fits ${more.length + 1} sessions. Give more of the name or id.`
  throw new AppError('bad_request', { why })
}

function severalHave(named: readonly Session[], reference: string): AppError {
  const whose = named.map(session => `${session.ownerEmail} (${session.id})`).join(', ')
  return new AppError('bad_request', {
    why: `Several users have a session "${reference}". Give the id instead: ${whose}.`,
  })
}
