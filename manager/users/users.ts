import {
  AppError,
  because,
  type ChangedUser,
  type GroupId,
  readSort,
  type Role,
  type User,
  type Login,
  type UserChange,
  type UserSort,
  UserId,
  type UserSpec,
  type ConsoleVisit,
} from '#manager/contract'
import { countMatchingUsers, findUser, listUsers, lockUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { putVisit } from '../store/identity/visits.ts'
import { insertAccount } from './accounts.ts'
import { nextPasswordFrom, passwordSetBy, requireAnother, requireManaged, requireMayLetStay } from './acting-for.ts'
import { announceAccount, mustFind } from './account-row.ts'
import { type ChangeUserDeps, createChangeUser } from './change-user.ts'
import { afterCommitOf } from './after-commit.ts'
import { type Caller, managesAccount, requireMayAssign, requireMayGivePolicy, visibleAccounts } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { endAccess } from './end-access.ts'
import { endDoubtByChoice } from './end-of-doubt.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { checkPassword, personAsking } from './passwords.ts'
import { toUser, toUsers } from './to-user.ts'

export interface UserQuery {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly active?: boolean | undefined
  readonly domain?: string | undefined
  readonly group?: GroupId | undefined
  readonly resourcePolicy?: string | undefined
  readonly role?: Role | undefined
  readonly search?: string | undefined
  readonly sort?: UserSort | undefined
}

/**
 * Rules of accounts. A superadmin manages all accounts, an admin of a domain those of the domain except superadmins'; for that admin, other
 * accounts do not exist. Accounts are never deleted: an inactive one keeps its history.
 */
export interface Users {
  list(caller: Caller, query: UserQuery): Promise<{ items: User[]; nextCursor: string | null; total: number }>
  /** @throws AppError `user_not_found` */
  get(caller: Caller, id: UserId): Promise<User>
  /** @throws AppError `user_exists`, `weak_password`, `forbidden`, `domain_not_found`, `group_not_found` */
  create(caller: Caller, spec: UserSpec): Promise<User>
  /**
   * Deactivating ends sign-ins and, with them, grants and tunnels; keypairs stop working. Running sessions continue, so that their work is
   * not lost, and an admin ends them. Waiting sessions do not start. A higher role or another domain invalidates secrets that others may
   * know: keypairs are deactivated until their owner activates them again, and a password that somebody else may know is replaced by one
   * that nobody knows, with a link for a new one.
   *
   * @param origin address at which the admin uses the console, for the link
   * @throws AppError `user_not_found`, `weak_password`, `last_superadmin`, `forbidden` (to lock oneself out, to set the own password, to
   *   give out more than the own role), `domain_not_found`, `group_not_found`
   */
  change(caller: Caller, id: UserId, change: UserChange, origin: string): Promise<ChangedUser>
  /** Sign-ins of a user. @throws AppError `user_not_found` */
  listLogins(caller: Caller, id: UserId): Promise<{ items: Login[] }>
  /**
   * Ends all sign-ins of another user, and deletes the links created for the account. @returns how many sign-ins ended @throws AppError
   * `user_not_found`, `forbidden` for the own account
   */
  endLogins(caller: Caller, id: UserId): Promise<number>
  /** The account as its owner and its admins see it. */
  view(user: UserRow): Promise<User>
  /**
   * Changes the caller's own password and ends every other sign-in of the caller.
   *
   * @throws AppError `login_failed` (old one wrong), `weak_password`, `password_unchanged`, `login_throttled`
   */
  changePassword(caller: Caller, request: { oldPassword: string; newPassword: string }): Promise<void>
  /** Records that the caller looks at the console. */
  recordVisit(caller: Caller): Promise<ConsoleVisit>
}

export type UsersDeps = ChangeUserDeps

export function createUsers(deps: UsersDeps): Users {
  const { store, passwords, logins, notifier, events } = deps
  const { db } = store
  return {
    async list(caller, { limit, cursor, sort = 'created', ...wanted }) {
      const filter = { ...wanted, visible: visibleAccounts(caller) }
      const page = {
        limit: limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        ...readSort(sort),
      }
      const [rows, total] = await Promise.all([listUsers(db, { ...filter, ...page }), countMatchingUsers(db, filter)])
      const items = await toUsers(db, rows.slice(0, limit))
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null, total }
    },

    async get(caller, id) {
      const user = await mustFind(findUser(db, id))
      if (!managesAccount(caller, user)) throw new AppError('user_not_found')
      return toUser(db, user)
    },

    async create(caller, { password, domain = caller.domain, mustChangePassword, resourcePolicy, ...spec }) {
      requireMayAssign(caller, { role: spec.role, domain, active: true })
      requireMayGivePolicy(caller, resourcePolicy)
      if (!mustChangePassword) requireMayLetStay(caller)
      const password_hash = await passwords.hash(password, personAsking(caller.userId))
      const password_from = passwordSetBy(caller)
      const given = { password_hash, password_from, must_change_password: mustChangePassword, resourcePolicy }
      const { created, news } = await store.transaction(async trx => {
        await requireStillSignedIn(trx, caller)
        const created = await insertAccount(trx, { ...spec, ...given, domain })
        const news = [{ userId: created.id, by: caller, kind: 'account_made_password' }] as const
        await notifier.write(trx, news)
        return { created, news }
      })
      announceAccount(events, created)
      await notifier.announce(news)
      return toUser(db, created)
    },

    change: createChangeUser(deps),

    async listLogins(caller, id) {
      const user = await mustFind(findUser(db, id))
      if (!managesAccount(caller, user)) throw new AppError('user_not_found')
      return logins.list({ userId: id, loginId: caller.loginId })
    },

    async endLogins(caller, id) {
      requireAnother(caller, id, 'end_sign_ins')
      const news = [{ userId: id, by: caller, kind: 'sign_ins_ended' }] as const
      const ended = await store.transaction(async trx => {
        const user = await mustFind(lockUser(trx, id))
        requireManaged(caller, user)
        await notifier.write(trx, news)
        return endAccess(trx, user)
      })
      logins.forget(id)
      await logins.tellEnd(ended)
      await notifier.announce(news)
      return ended.length
    },

    view: user => toUser(db, user),

    async recordVisit({ userId }) {
      return { since: (await putVisit(db, userId))?.toISOString() ?? null }
    },

    async changePassword(caller, { oldPassword, newPassword: password }) {
      checkPassword(password)
      const user = await mustFind(findUser(db, caller.userId))
      const good = await withBackOff(store, { userId: user.id }, () =>
        passwords.verify(user.password_hash, oldPassword, personAsking(user.id)),
      )
      const wrong = () => new AppError('login_failed', because('old_password_wrong'))
      if (!good) throw wrong()
      if (password === oldPassword) throw new AppError('password_unchanged', because('choose_other_password'))
      const password_hash = await passwords.hash(password, personAsking(user.id))
      const afterCommit = await store.transaction(async trx => {
        const held = await mustFind(lockUser(trx, user.id))
        // Another password was set during the check: a caller who knows only the old one must not replace it.
        if (held.password_hash !== user.password_hash) throw wrong()
        const password_from = nextPasswordFrom(held.password_from)
        const change = { password_hash, password_from, must_change_password: false }
        const changed = await mustFind(updateUser(trx, user.id, change))
        const ended = await endAccess(trx, held, caller.loginId ?? undefined)
        return afterCommitOf({ ended }, await endDoubtByChoice(trx, notifier, held, changed))
      })
      await logins.settle(user.id, afterCommit)
    },
  }
}

function parseCursor(cursor: string): UserId {
  const parsed = UserId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
