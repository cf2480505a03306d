import { AppError, because, type SessionId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findSession, ownedOf, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type Caller, canEnter, canManage, canReadOutput, canSee, isOfToken } from '../users/authorize.ts'

/** Finds a session that the caller may see. @throws AppError `session_not_found` */
export async function requireVisible(db: Db, caller: Caller, id: SessionId): Promise<OwnedSessionRow> {
  const session = await findSession(db, id)
  if (!session || !canSee(caller, ownedOf(session))) throw new AppError('session_not_found', { sessionId: id })
  return session
}

/** Finds a session whose log the caller may read. @throws AppError `session_not_found`, `forbidden` */
export async function requireReadable(db: Db, caller: Caller, id: SessionId): Promise<OwnedSessionRow> {
  const session = await requireVisible(db, caller, id)
  if (canReadOutput(caller, ownedOf(session))) return session
  throw new AppError('forbidden', because('only_owner_reads_output', { owner: session.owner_email }))
}

/** Finds a session that the caller may see and, with an access token, has launched. @throws AppError `session_not_found`, `forbidden` */
async function requireOfToken(db: Db, caller: Caller, id: SessionId): Promise<OwnedSessionRow> {
  const session = await requireVisible(db, caller, id)
  if (isOfToken(caller, ownedOf(session))) return session
  throw new AppError('forbidden', because('only_token_launched'))
}

/**
 * Finds a session that the caller may change and end: members with whom it is shared may not.
 *
 * @throws AppError `session_not_found`, `forbidden`
 */
export async function requireManaged(db: Db, caller: Caller, id: SessionId): Promise<OwnedSessionRow> {
  const session = await requireOfToken(db, caller, id)
  if (canManage(caller, ownedOf(session))) return session
  throw new AppError('forbidden', because('owner_decides', { owner: session.owner_email }))
}

type OnlyOwner =
  | 'only_owner_changes_folders'
  | 'only_owner_labels'
  | 'only_owner_publishes'
  | 'only_owner_restarts'
  | 'only_owner_saves'
  | 'only_owner_shares'
type OnlyMembers = 'only_members_download_key' | 'only_members_open_apps' | 'only_members_run_commands'

/** @param cause of the error for others who see the session @throws AppError `session_not_found`, `forbidden` */
export async function requireOwn(db: Db, caller: Caller, id: SessionId, cause: OnlyOwner): Promise<OwnedSessionRow> {
  const session = await requireOfToken(db, caller, id)
  if (session.owner_id === caller.userId) return session
  throw new AppError('forbidden', because(cause))
}

/**
 * Finds a session whose apps, terminals and keys the caller may use.
 *
 * @param cause of the error for others who see the session @throws AppError `session_not_found`, `forbidden`
 */
export async function requireEnterable(
  db: Db,
  caller: Caller,
  id: SessionId,
  cause: OnlyMembers,
): Promise<OwnedSessionRow> {
  const session = await requireOfToken(db, caller, id)
  if (canEnter(caller, ownedOf(session))) return session
  throw new AppError('forbidden', because(cause))
}
