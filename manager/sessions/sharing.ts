import {
  AppError,
  because,
  isAutomount,
  MOST_SESSION_SHARES,
  MOST_SHARED_WITH_ONE,
  type SessionId,
  type SessionPermission,
  type SessionShare,
  type SessionShareSpec,
  type UserId,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { countingOf } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { listSessionFolders } from '../store/sessions/session-folders.ts'
import {
  countSharedWith,
  deleteShare,
  findProjectMember,
  listShares,
  saveShare,
  type ShareRow,
} from '../store/sessions/session-shares.ts'
import { lockSession, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { type Touched, touchSessions } from '../store/sessions/touches.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { type SessionChanges } from './changes.ts'
import { type SessionMembers } from './members.ts'
import { requireManaged, requireOwn, requireVisible } from './require-session.ts'

/**
 * Sharing of sessions: the owner lets members of the session's project view it, or use it.
 *
 * Threat model:
 * - Only the owner shares a session, even if an admin wants to see it: nobody else can give the right to look inside. Admins can withdraw
 *   it, and a member can give it up.
 * - The right ends with the share, with the membership of the project (the database deletes both together), and with the account. Open
 *   tunnels and terminals are then cut at once.
 * - A member who uses a session acts as its owner inside: reads and writes its files and the folders that it mounts. Folders whose names
 *   start with a dot are mounted in each session of the owner, so files of a member there would run in all of them, even after the share:
 *   such a session can be shared only for viewing.
 * - The owner learns whether an address belongs to a member of the session's project, and nothing about other addresses.
 */
export interface SessionSharing {
  /** @throws AppError `session_not_found`, `forbidden` */
  list(caller: Caller, id: SessionId): Promise<SessionShare[]>
  /** @throws AppError `session_not_found`, `forbidden`, `session_member_not_found`, `session_share_refused` */
  share(caller: Caller, id: SessionId, spec: SessionShareSpec): Promise<SessionShare>
  /** @throws AppError `session_not_found`, `forbidden`, `session_member_not_found` */
  unshare(caller: Caller, id: SessionId, userId: UserId): Promise<void>
  /** Call it after the commit that removed users from projects. Never rejects. */
  membersLeft(userIds: readonly UserId[]): Promise<void>
}

export interface SessionSharingDeps {
  readonly store: Store
  readonly changes: Pick<SessionChanges, 'hint'>
  readonly events: EventPublisher
  readonly members: SessionMembers
  readonly log: Log
}

export function createSessionSharing({ store, changes, events, members, log }: SessionSharingDeps): SessionSharing {
  /** Makes all pages that show the sessions, or showed them, fetch them again. */
  function hint(userId: UserId, touched: readonly Touched[]): void {
    changes.hint(touched)
    // The user may not be a member any more, so the event is also sent to the user directly.
    for (const { id, version } of touched) events.publish({ topic: 'session', id, version }, { userId })
  }

  return {
    async list(caller, id) {
      await requireManaged(store.db, caller, id)
      return (await listShares(store.db, id)).map(toShare)
    },

    async share(caller, id, { email, permission }) {
      const { share, touched } = await store.transaction(async trx => {
        // As everywhere, the owner is locked before the session, so that simultaneous shares of several sessions are counted one after the
        // other.
        await countingOf(trx, caller.userId)
        await requireStillSignedIn(trx, caller)
        await lockSession(trx, id)
        const session = await requireOwn(trx, caller, id, 'only_owner_shares')
        const { groupId, userId } = await findMember(trx, session, email)
        await refuse(trx, session, { userId, email, permission })
        await saveShare(trx, { session_id: id, user_id: userId, group_id: groupId, permission }).catch(
          (error: unknown) => {
            throw isForeignKeyViolation(error) ? noMember(session, email, error) : error
          },
        )
        const share = (await listShares(trx, id)).find(one => one.user_id === userId)
        if (!share) throw new Error(`session ${id} was shared and is not`)
        return { share, touched: await touchSessions(trx, [id]) }
      })
      members.changed(share.user_id)
      hint(share.user_id, touched)
      return toShare(share)
    },

    async unshare(caller, id, userId) {
      const touched = await store.transaction(async trx => {
        await lockSession(trx, id)
        // Members may leave.
        await (caller.userId === userId ? requireVisible : requireManaged)(trx, caller, id)
        if (!(await deleteShare(trx, id, userId))) {
          throw new AppError('session_member_not_found', { userId, ...because('not_shared_with') })
        }
        return touchSessions(trx, [id])
      })
      members.changed(userId)
      hint(userId, touched)
    },

    async membersLeft(userIds) {
      for (const userId of userIds) {
        try {
          const sessions = members.changed(userId)
          hint(userId, await touchSessions(store.db, sessions))
        } catch (error) {
          log.warn({ err: error, userId }, 'pages were not told of sessions that are not shared any more')
        }
      }
    },
  }
}

/** @throws AppError `session_member_not_found`, `session_share_refused` */
async function findMember(trx: Db, session: OwnedSessionRow, email: string) {
  const { group_id: groupId } = session
  if (groupId === null) {
    throw new AppError('session_share_refused', because('no_project_no_members'))
  }
  if (email.toLowerCase() === session.owner_email.toLowerCase()) {
    throw new AppError('session_share_refused', because('yours_already'))
  }
  const member = await findProjectMember(trx, groupId, email)
  if (!member) throw noMember(session, email)
  return { groupId, userId: member.id }
}

function noMember({ group_name }: OwnedSessionRow, email: string, cause?: unknown): AppError {
  const why = because('session_member_unknown', { project: group_name ?? '', email })
  return new AppError('session_member_not_found', { email, ...why }, { cause })
}

/** @throws AppError `session_share_refused` */
async function refuse(
  trx: Db,
  session: OwnedSessionRow,
  { userId, email, permission }: { userId: UserId; email: string; permission: SessionPermission },
): Promise<void> {
  const { id, owner_id: ownerId, shares } = session
  const others = Object.keys(shares ?? {}).filter(one => one !== userId)
  if (others.length >= MOST_SESSION_SHARES) {
    const why = because('session_shares_at_most', { count: others.length })
    throw new AppError('session_share_refused', { limit: MOST_SESSION_SHARES, ...why })
  }
  const isNew = shares?.[userId] === undefined
  if (isNew && (await countSharedWith(trx, { ownerId, userId, without: id })) >= MOST_SHARED_WITH_ONE) {
    const limit = MOST_SHARED_WITH_ONE
    throw new AppError('session_share_refused', { limit, ...because('sessions_shared_at_most', { limit, email }) })
  }
  if (permission === 'view') return
  const mounted = (await listSessionFolders(trx, [id])).get(id) ?? []
  const dotted = mounted.find(({ name }) => isAutomount(name))
  if (!dotted) return
  const { name } = dotted
  throw new AppError('session_share_refused', { name, ...because('session_mounts_dot_folder', { name }) })
}

const toShare = (row: ShareRow): SessionShare => ({
  userId: row.user_id,
  email: row.email,
  name: row.name,
  permission: row.permission,
  sharedAt: row.shared_at.toISOString(),
})
