import { type AuditEntry, SessionId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findSessions, ownedOf } from '../store/sessions/sessions.ts'
import { type Caller, canReadOutput, isSuperadmin } from '../users/authorize.ts'

const SESSION = 'session:'

/** Keys of `detail` that tell what somebody did in a session: the beginning of a command, the path of a file. */
const TELLING = ['command', 'path']

/**
 * Removes the beginning of commands, and names of files of sessions, that the caller must not read: whoever ran or wrote them sees them,
 * superadmins do, and those who may read the log of the session now.
 *
 * Threat: people put tokens into commands, and even a name can be private, so an admin of a domain reads none without the leave of the owner
 * (ADR 69). Superadmins keep what the log is for: evidence of what was done. The session of an entry may be deleted; then nobody can have
 * given leave.
 */
export async function withoutPrivateDeeds(
  db: Db,
  caller: Pick<Caller, 'userId' | 'role' | 'domain' | 'email'>,
  entries: readonly AuditEntry[],
): Promise<AuditEntry[]> {
  if (isSuperadmin(caller)) return [...entries]
  const doubtful = entries.filter(entry => entry.actorId !== caller.userId && tells(entry))
  if (doubtful.length === 0) return [...entries]
  const sessions = await findSessions(db, [...new Set(doubtful.flatMap(sessionOf))])
  const readable = new Set(sessions.filter(row => canReadOutput(caller, ownedOf(row))).map(({ id }) => id))
  const hidden = new Set(doubtful.filter(entry => !sessionOf(entry).some(id => readable.has(id))))
  return entries.map(entry => (hidden.has(entry) ? { ...entry, detail: withoutTelling(entry.detail) } : entry))
}

const tells = ({ target, detail }: AuditEntry) =>
  target?.startsWith(SESSION) === true && TELLING.some(key => key in detail)

const sessionOf = ({ target }: AuditEntry): SessionId[] =>
  [target?.slice(SESSION.length)].flatMap(id => SessionId.safeParse(id).data ?? [])

const withoutTelling = (detail: AuditEntry['detail']) =>
  Object.fromEntries(Object.entries(detail).filter(([key]) => !TELLING.includes(key)))
