import {
  AppError,
  because,
  type Folder,
  type FolderId,
  type FolderInvitation,
  FolderInvitationId,
  type FolderInvitationSpec,
  type FolderMember,
  type FolderPermission,
  type FolderShares,
  isAutomount,
  MOST_SHARES,
  type ReceivedFolderInvitation,
  type UserId,
} from '#manager/contract'
import { type Log } from '../log.ts'
import { type Mailer } from '../mail/mailer.ts'
import { folderInvitationMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import {
  deleteInvitationTo,
  deleteMember,
  findInvitee,
  findMember,
  type InvitationRow,
  isMemberByEmail,
  listInvitationsTo,
  listMembers,
  listReceived,
  type MemberRow,
  type ReceivedRow,
  saveInvitation,
  saveMember,
  setInvitationPermission,
  setMemberPermission,
} from '../store/storage/folder-members.ts'
import { type FolderRow, lockFolder } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { limitRequests } from '../users/back-off.ts'
import { holdSignedIn } from '../users/still-authorized.ts'
import { manages } from './access.ts'
import { requireManaged, requireVisible } from './find-folder.ts'
import { type FolderHints } from './hints.ts'

/**
 * Sharing of folders. The owner of a folder, or an admin of the project that owns it, invites users by e-mail address; an invited user
 * becomes a member by accepting, and may leave.
 *
 * Threat model:
 * - An invitation does not reveal who has an account. It is stored by address, and is listed, changed and withdrawn in the same way whether
 *   the address has an account or not. Mail goes only to addresses with an account, so nobody can make Berth write to strangers, and only
 *   the recipient learns of it. An invitation that goes unanswered looks like one to an unknown address.
 * - Only an account whose address is confirmed, in the domain of the folder, sees an invitation: domains are kept apart.
 * - An invitation is for the owner of an address. An admin of the domain who makes an account with it afterwards, or sets its password,
 *   does not get to read the folder that way: the invitation waits until the person has a password that nobody else knows.
 * - An invitation is valid as long as its inviter has an active account and may share the folder: it does not outlive the role of the
 *   administrator who sent it.
 * - A folder whose name starts with a dot is not shared: it is mounted in each session of its owner, and programs that a member wrote to
 *   `.local/bin` would run there.
 * - Invitations of one user are limited by the hour, and shares of one folder by number.
 */
export interface Sharing {
  /** @throws AppError `folder_not_found`, `forbidden`; so do all that change members and invitations of a folder */
  list(caller: Caller, id: FolderId): Promise<FolderShares>
  /** @throws AppError `folder_shared`, `folder_member_exists`, `over_share_limit`, `rate_limited`, `bad_request` (oneself) */
  invite(caller: Caller, id: FolderId, spec: FolderInvitationSpec): Promise<FolderInvitation>
  /** @throws AppError `folder_invitation_not_found` */
  updateInvitation(
    caller: Caller,
    id: FolderId,
    invitationId: FolderInvitationId,
    permission: FolderPermission,
  ): Promise<FolderInvitation>
  /** @throws AppError `folder_invitation_not_found` */
  takeBack(caller: Caller, id: FolderId, invitationId: FolderInvitationId): Promise<void>
  /** @throws AppError `folder_member_not_found` */
  updateMember(caller: Caller, id: FolderId, userId: UserId, permission: FolderPermission): Promise<FolderMember>
  /** @throws AppError `folder_member_not_found` */
  removeMember(caller: Caller, id: FolderId, userId: UserId): Promise<void>
  /** @throws AppError `folder_not_found`, `folder_member_not_found` (own folder, or folder of a project) */
  leave(caller: Caller, id: FolderId): Promise<void>
  /** Open invitations to the caller. */
  received(caller: Caller): Promise<ReceivedFolderInvitation[]>
  /** @throws AppError `folder_invitation_not_found` */
  accept(caller: Caller, invitationId: FolderInvitationId): Promise<Folder>
  /** @throws AppError `folder_invitation_not_found` */
  decline(caller: Caller, invitationId: FolderInvitationId): Promise<void>
}

export interface SharingDeps {
  readonly store: Store
  readonly hints: FolderHints
  readonly mailer: Pick<Mailer, 'post'>
  readonly settings: Pick<Settings, 'read'>
  readonly log: Log
}

const OPEN_DAYS = 30
/** Number of invitations that one user may send at once; after that, the wait between two doubles, until there were none for an hour. */
const INVITATIONS_FROM = 60

export function createSharing({ store, hints, mailer, settings, log }: SharingDeps): Sharing {
  /** Runs `work` on a folder that the caller manages, with its row locked. */
  function onManaged<T>(caller: Caller, id: FolderId, work: (trx: Db, row: FolderRow) => Promise<T>): Promise<T> {
    return store.transaction(async trx => {
      await holdSignedIn(trx, caller)
      await lockFolder(trx, id)
      return work(trx, await requireManaged(trx, caller, id))
    })
  }

  /** Not awaited, so that the time of the reply does not reveal whether a mail is sent. */
  function mailTo(email: string, inviter: string): void {
    settings.read().then(
      ({ publicUrl, mailReady }) => {
        if (mailReady && publicUrl !== null) mailer.post(folderInvitationMail(email, { inviter, publicUrl }))
      },
      (error: unknown) => log.warn({ err: error }, 'an invitation to a folder was not mailed'),
    )
  }

  /** Deletes an open invitation of the caller. @throws AppError `folder_invitation_not_found` */
  async function take(trx: Db, caller: Caller, invitationId: FolderInvitationId): Promise<ReceivedRow> {
    const found = (await listReceived(trx, caller.userId)).find(({ id }) => id === invitationId)
    if (!found) throw noSuchInvitation(invitationId)
    await lockFolder(trx, found.folder_id)
    // The folder is locked now: read the invitation again, in case it was changed, withdrawn or accepted meanwhile.
    const still = (await listReceived(trx, caller.userId)).find(({ id }) => id === invitationId)
    if (!still || (await deleteInvitationTo(trx, still.folder_id, invitationId)) === undefined) {
      throw noSuchInvitation(invitationId)
    }
    return still
  }

  return {
    async list(caller, id) {
      await requireManaged(store.db, caller, id)
      const [members, invitations] = await Promise.all([listMembers(store.db, id), listInvitationsTo(store.db, id)])
      return { members: members.map(toMember), invitations: invitations.map(toInvitation) }
    },

    async invite(caller, id, { email, permission }) {
      await requireManaged(store.db, caller, id)
      await limitRequests(store, [{ key: `folder-invitations:${caller.userId}`, from: INVITATIONS_FROM }])
      const made = await onManaged(caller, id, async (trx, row) => {
        refuse(caller, row, email)
        if (await isMemberByEmail(trx, id, email)) {
          throw new AppError('folder_member_exists', { email, ...because('member_already', { email, name: row.name }) })
        }
        const [members, open] = [await listMembers(trx, id), await listInvitationsTo(trx, id)]
        const others = open.filter(one => one.email.toLowerCase() !== email.toLowerCase())
        if (members.length + others.length >= MOST_SHARES) {
          const values = { name: row.name, members: members.length, open: others.length, limit: MOST_SHARES }
          throw new AppError('over_share_limit', { limit: MOST_SHARES, ...because('folder_share_limit', values) })
        }
        const invitation = {
          id: newId(FolderInvitationId),
          folder_id: id,
          email,
          permission,
          invited_by: caller.userId,
        }
        return {
          invitation: await saveInvitation(trx, invitation, OPEN_DAYS),
          invitee: await findInvitee(trx, id, email),
          isFirst: others.length === open.length,
        }
      })
      await hints.changed(id, [made.invitee])
      // Another invitation to the same address sends no further mail.
      if (made.invitee !== undefined && made.isFirst) mailTo(email, caller.email)
      return toInvitation(made.invitation)
    },

    async updateInvitation(caller, id, invitationId, permission) {
      const { row, invitee } = await onManaged(caller, id, async trx => {
        const changed = await setInvitationPermission(trx, id, invitationId, permission)
        if (!changed) throw noSuchInvitation(invitationId)
        return { row: changed, invitee: await findInvitee(trx, id, changed.email) }
      })
      await hints.changed(id, [invitee])
      return toInvitation(row)
    },

    async takeBack(caller, id, invitationId) {
      const invitee = await onManaged(caller, id, async trx => {
        const email = await deleteInvitationTo(trx, id, invitationId)
        if (email === undefined) throw noSuchInvitation(invitationId)
        return findInvitee(trx, id, email)
      })
      await hints.changed(id, [invitee])
    },

    async updateMember(caller, id, userId, permission) {
      const member = await onManaged(caller, id, async trx => {
        const changed = await setMemberPermission(trx, id, userId, permission)
        return changed ? findMember(trx, id, userId) : undefined
      })
      if (!member) throw noSuchMember(userId)
      await hints.changed(id)
      return toMember(member)
    },

    async removeMember(caller, id, userId) {
      const removed = await onManaged(caller, id, trx => deleteMember(trx, id, userId))
      if (!removed) throw noSuchMember(userId)
      await hints.changed(id, [userId])
    },

    async leave(caller, id) {
      const { row } = await requireVisible(store.db, caller, id)
      if (!(await deleteMember(store.db, id, caller.userId))) {
        const cause = manages(caller, row) ? 'leave_managed' : 'leave_of_project'
        throw new AppError('folder_member_not_found', because(cause, { name: row.name }))
      }
      await hints.changed(id, [caller.userId])
    },

    async received(caller) {
      return (await listReceived(store.db, caller.userId)).map(toReceived)
    },

    async accept(caller, invitationId) {
      const { folder_id: id } = await store.transaction(async trx => {
        const invitation = await take(trx, caller, invitationId)
        await saveMember(trx, invitation.folder_id, caller.userId, invitation.permission)
        return invitation
      })
      await hints.changed(id)
      return (await requireVisible(store.db, caller, id)).view
    },

    async decline(caller, invitationId) {
      const { folder_id: id } = await store.transaction(trx => take(trx, caller, invitationId))
      await hints.changed(id, [caller.userId])
    },
  }
}

/** @throws AppError `folder_not_found` (in the trash), `folder_shared` (a dot), `bad_request` (oneself) */
function refuse(caller: Caller, { name, status, owner_email }: FolderRow, email: string): void {
  if (status !== 'ready') {
    throw new AppError('folder_not_found', { name, ...because('folder_in_trash', { name }) })
  }
  if (isAutomount(name)) {
    throw new AppError('folder_shared', { name, ...because('folder_dot_not_shared', { name }) })
  }
  const wanted = email.toLowerCase()
  if (wanted === caller.email.toLowerCase() || wanted === owner_email?.toLowerCase()) {
    throw new AppError('bad_request', because('folder_not_own'))
  }
}

function noSuchInvitation(invitationId: FolderInvitationId): AppError {
  return new AppError('folder_invitation_not_found', { invitationId, ...because('invitation_over') })
}

function noSuchMember(userId: UserId): AppError {
  return new AppError('folder_member_not_found', { userId, ...because('member_gone') })
}

const toMember = (row: MemberRow): FolderMember => ({
  userId: row.user_id,
  email: row.email,
  name: row.name,
  permission: row.permission,
  joinedAt: row.joined_at.toISOString(),
  sessions: row.sessions,
})

const toInvitation = (row: InvitationRow): FolderInvitation => ({
  id: row.id,
  email: row.email,
  permission: row.permission,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
  ended: row.ended,
})

const toReceived = (row: ReceivedRow): ReceivedFolderInvitation => ({
  id: row.id,
  folder: { id: row.folder_id, name: row.folder_name },
  group: row.group_id === null ? null : { id: row.group_id, name: row.group_name ?? '' },
  from: { email: row.from_email, name: row.from_name },
  permission: row.permission,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
})
