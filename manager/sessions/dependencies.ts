import { AppError, because, SessionId, type UserId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findOwnSession } from '../store/sessions/dependencies.ts'

/**
 * Resolves the sessions that a request depends on. They must exist already and cannot be changed afterwards, so dependencies never form a
 * cycle.
 *
 * @param wanted ids or names of the owner's sessions; a name means the live session with it, or else the last one
 * @throws AppError `dependency_not_found`
 */
export async function resolveDependencies(db: Db, ownerId: UserId, wanted: readonly string[]): Promise<SessionId[]> {
  const found: SessionId[] = []
  for (const reference of wanted) {
    const id = SessionId.safeParse(reference)
    const session = await findOwnSession(db, ownerId, id.success ? { id: id.data } : { name: reference })
    if (session === undefined) {
      throw new AppError('dependency_not_found', {
        session: reference,
        ...because('dependency_unknown', { session: reference }),
      })
    }
    if (!found.includes(session)) found.push(session)
  }
  return found
}
