import { defined } from '#base/defined'
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
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { type Settings } from '../settings/settings.ts'
import { deleteEmailTokens } from '../store/identity/email-tokens.ts'
import { deleteWaitingKeypairs } from '../store/identity/keypairs.ts'
import { forgetDepartures, keepRole, listIdentities } from '../store/identity/sign-in-identities.ts'
import { listGroupIds } from '../store/identity/groups.ts'
import { type Store } from '../store/open-store.ts'
import {
  countMatchingUsers,
  findUser,
  listUsers,
  lockSuperadmins,
  lockUser,
  updateUser,
  type UserRow,
} from '../store/identity/users.ts'
import { putVisit } from '../store/identity/visits.ts'
import { insertAccount, replaceGroups, withKnownPolicy } from './accounts.ts'
import { insertPasswordLink } from './account-with-link.ts'
import { newsOf } from './account-news.ts'
import {
  endsDoubt,
  endsWhatOthersKnew,
  nextPasswordFrom,
  othersMayKnowPassword,
  passwordSetBy,
  requireAnother,
  requireManaged,
  requireMayLetStay,
  requireMaySetPassword,
} from './acting-for.ts'
import { afterCommitOf } from './after-commit.ts'
import {
  type Caller,
  managesAccount,
  requireMayAssign,
  requireMayGivePolicy,
  requirePerson,
  visibleAccounts,
} from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { endAccess } from './end-access.ts'
import { endKeypairs } from './end-keypairs.ts'
import { endDoubt, endDoubtByChoice } from './end-of-doubt.ts'
import { deliveryOf, sendLink } from './links-for-others.ts'
import { type Logins } from './logins.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { checkPassword, type Passwords, personAsking } from './passwords.ts'
import { newPassword } from './secrets.ts'
import { requireSuperadmin } from './superadmins.ts'
import { newsOfTaken, takeBack, unlinkDoubtful } from './take-back.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { toUser, toUsers } from './to-user.ts'

/** Columns of a password that nobody knows. */
const NOBODYS = { password_set: false, password_from: 'person', must_change_password: false } as const

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

export interface UsersDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly logins: Logins
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly notifier: AccountNotifier
  readonly events: EventPublisher
  /** Called when accounts were activated or deactivated, or their limits changed: their waiting sessions may start, or not any more. */
  readonly onChanged?: () => void
}

export function createUsers(deps: UsersDeps): Users {
  const { store, passwords, logins, settings, mailer, notifier, events, onChanged } = deps
  const { db } = store
  const announce = (user: UserRow) =>
    events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })

  async function chosenPassword(caller: Caller, password: string) {
    const password_hash = await passwords.hash(password, personAsking(caller.userId))
    return { password_hash, password_from: passwordSetBy(caller), must_change_password: true, handed: true }
  }

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
      announce(created)
      await notifier.announce(news)
      return toUser(db, created)
    },

    async change(caller, id, { password, groups, resourcePolicy, mustChangePassword, ...change }, origin) {
      if (password !== undefined) {
        requirePerson(caller)
        requireAnother(caller, id, 'set_password')
      }
      requireMayGivePolicy(caller, resourcePolicy)
      const system = await settings.read()
      const chosen = password === undefined ? {} : await chosenPassword(caller, password)
      // Hashed in advance, because it takes a while, for the case that the password must be replaced.
      const nobodys =
        change.role === undefined && change.domain === undefined
          ? ''
          : await passwords.hash(newPassword(), personAsking(caller.userId))
      const done = await store.transaction(async trx => {
        await lockSuperadmins(trx)
        await requireStillSignedIn(trx, caller)
        const user = requireManaged(caller, await lockUser(trx, id))
        const projects = await listGroupIds(trx, id)
        const moves = (change.domain ?? user.domain) !== user.domain
        // A mapping gives rights in one domain, so they end with the move, not only at the next sign-in at the provider.
        const taken = moves ? await takeBack(trx, user, await listIdentities(trx, id)) : undefined
        if (password !== undefined) requireMaySetPassword(caller, user, system)
        if (mustChangePassword === false && user.must_change_password) requireMayLetStay(caller)
        const { role, domain, active } = { ...(taken?.user ?? user), ...defined(change) }
        requireMayAssign(caller, { role, domain, active }, user)
        if (change.role !== undefined) await keepRole(trx, id)
        if (change.active !== undefined) await forgetDepartures(trx, id)
        if (moves || groups) await replaceGroups(trx, id, { domain, groups })
        const ends = endsWhatOthersKnew(user, { role, domain })
        const passwordEnded = ends && password === undefined && othersMayKnowPassword(user)
        const columns = {
          must_change_password: mustChangePassword,
          resource_policy: resourcePolicy,
          ...chosen,
          ...(passwordEnded ? { ...NOBODYS, password_hash: nobodys } : {}),
        }
        const changed = await withKnownPolicy(resourcePolicy, () =>
          mustFind(updateUser(trx, id, defined({ ...change, ...columns }))),
        )
        const remains = [...(taken?.remains ?? []), ...(ends ? await endKeypairs(trx, id) : [])]
        if (ends) await deleteWaitingKeypairs(trx, id)
        const unlinked = ends || password !== undefined ? await unlinkDoubtful(trx, changed) : undefined
        const held = unlinked?.user ?? changed
        const isUnlinked = unlinked !== undefined && unlinked.unlinked > 0
        if (user.role === 'superadmin') await requireSuperadmin(trx)
        if (id === caller.userId && (!active || role !== user.role || moves)) {
          throw new AppError('forbidden', because('not_yourself'))
        }
        const endsSignIns = !active || role !== user.role || moves || password !== undefined
        const ended = endsSignIns ? await endAccess(trx, user) : []
        const delivery = deliveryOf(caller, user, system, { origin })
        // A link created by this change replaces all earlier ones.
        if (passwordEnded) await deleteEmailTokens(trx, id)
        const link = passwordEnded && active ? await insertPasswordLink(trx, id, delivery.origin) : undefined
        const projectsChanged = projects.join() !== (await listGroupIds(trx, id)).join()
        const passwordSet = password !== undefined
        const all = { before: user, after: changed, passwordSet, passwordEnded, isUnlinked, projectsChanged }
        const news = [...newsOf(caller, all), ...remains, ...(unlinked ? newsOfTaken(unlinked) : [])]
        await notifier.write(trx, news)
        const isOver = passwordEnded || (passwordSet && endsDoubt(user.password_from, changed.password_from))
        const end = isOver ? await endDoubt(trx, notifier, user, held) : undefined
        const own = { ended, news, hasLeftProjects: projectsChanged || role !== user.role || moves }
        return {
          user,
          changed: end?.user ?? held,
          afterCommit: afterCommitOf(taken, unlinked, own, end),
          link,
          delivery,
        }
      })
      const { user, changed, afterCommit, link, delivery } = done
      await logins.settle(id, afterCommit)
      announce(changed)
      if (changed.active !== user.active || changed.resource_policy !== user.resource_policy) onChanged?.()
      const passwordLink = link ? sendLink(mailer, delivery, { ...link, purpose: 'reset', email: changed.email }) : null
      return { ...(await toUser(db, changed)), passwordLink }
    },

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

async function mustFind(query: Promise<UserRow | undefined>): Promise<UserRow> {
  const user = await query
  if (!user) throw new AppError('user_not_found')
  return user
}

function parseCursor(cursor: string): UserId {
  const parsed = UserId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
