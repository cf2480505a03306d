import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  AppError,
  because,
  DEFAULT_DOMAIN,
  type GroupId,
  isAppError,
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
import { type Log } from '../log.ts'
import { deactivateKeypairs, deleteWaitingKeypairs } from '../store/identity/keypairs.ts'
import { type Store } from '../store/open-store.ts'
import {
  countMatchingUsers,
  countUsers,
  findUser,
  findUserByEmail,
  listUsers,
  lockSuperadmins,
  lockUser,
  updateUser,
  type UserRow,
} from '../store/identity/users.ts'
import { putVisit } from '../store/identity/visits.ts'
import { insertAccount, replaceGroups, withKnownPolicy } from './accounts.ts'
import { endsWhatOthersKnew, requireAnother } from './acting-for.ts'
import { type Caller, managesAccount, requireMayAssign, requireMayGivePolicy, visibleAccounts } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { endAccess } from './end-access.ts'
import { type Logins } from './logins.ts'
import { checkPassword, type Passwords } from './passwords.ts'
import { newPassword } from './secrets.ts'
import { requireSuperadmin } from './superadmins.ts'
import { toUser, toUsers } from './to-user.ts'

export const FIRST_ADMIN = 'admin@localhost'
const NOBODY = { items: [], nextCursor: null, total: 0 }

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
 * Rules of accounts. A superadmin manages all accounts, an admin of a domain those of the domain that are not
 * superadmins'; other accounts do not exist for that admin. Accounts are never deleted: an inactive one keeps its history.
 */
export interface Users {
  list(caller: Caller, query: UserQuery): Promise<{ items: User[]; nextCursor: string | null; total: number }>
  /** @throws AppError `user_not_found` */
  get(caller: Caller, id: UserId): Promise<User>
  /** @throws AppError `user_exists`, `weak_password`, `forbidden`, `domain_not_found`, `group_not_found` */
  create(caller: Caller, spec: UserSpec): Promise<User>
  /**
   * Deactivating ends sign-ins and, with them, grants and tunnels; keypairs stop working. Running sessions continue, so that
   * their work is not lost, and an admin ends them. Waiting sessions do not start. A higher role or another domain
   * deactivates the keypairs, which their owner may activate again.
   *
   * @throws AppError `user_not_found`, `weak_password`, `last_superadmin`, `forbidden` (to lock oneself out, to set the own
   *   password, to give out more than the own role), `domain_not_found`, `group_not_found`
   */
  change(caller: Caller, id: UserId, change: UserChange): Promise<User>
  /** Sign-ins of a user. @throws AppError `user_not_found` */
  listLogins(caller: Caller, id: UserId): Promise<{ items: Login[] }>
  /**
   * Ends all sign-ins of another user, and the links that were made for the account.
   * @returns how many sign-ins ended
   * @throws AppError `user_not_found`, `forbidden` for the own account
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
  /** The caller looks at the console. */
  recordVisit(caller: Caller): Promise<ConsoleVisit>
}

export interface UsersDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly logins: Logins
  readonly events: EventPublisher
  /** Called when accounts were activated or deactivated, or have other limits: their waiting sessions may start, or not any more. */
  readonly onChanged?: () => void
  /** Called when a user may have left projects. */
  readonly onMembersLeft?: (userIds: readonly UserId[]) => void
}

export function createUsers({ store, passwords, logins, events, onChanged, onMembersLeft }: UsersDeps): Users {
  const { db } = store
  const announce = (user: UserRow) =>
    events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id, domain: user.domain })

  return {
    async list(caller, { limit, cursor, domain, sort = 'created', ...rest }) {
      const seen = visibleAccounts(caller)
      if (domain !== undefined && seen.domain !== undefined && domain !== seen.domain) return NOBODY
      const filter = { ...rest, domain, ...seen }
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
      requireMayAssign(caller, { role: spec.role, domain })
      requireMayGivePolicy(caller, resourcePolicy)
      const password_hash = await passwords.hash(password)
      const given = { password_hash, must_change_password: mustChangePassword, resourcePolicy }
      const created = await store.transaction(trx => insertAccount(trx, { ...spec, ...given, domain }))
      announce(created)
      return toUser(db, created)
    },

    async change(caller, id, { password, groups, resourcePolicy, mustChangePassword, ...change }) {
      if (password !== undefined) requireAnother(caller, id, 'set_password')
      requireMayGivePolicy(caller, resourcePolicy)
      const password_hash = password === undefined ? undefined : await passwords.hash(password)
      const { user, changed, ended } = await store.transaction(async trx => {
        await lockSuperadmins(trx)
        const user = await mustFind(lockUser(trx, id))
        if (!managesAccount(caller, user)) throw new AppError('user_not_found')
        const { role, domain, active } = { ...user, ...defined(change) }
        requireMayAssign(caller, { role, domain })
        const moves = domain !== user.domain
        if (moves || groups) await replaceGroups(trx, id, { domain, groups })
        const columns = { password_hash, must_change_password: mustChangePassword, resource_policy: resourcePolicy }
        const changed = await withKnownPolicy(resourcePolicy, () =>
          mustFind(updateUser(trx, id, defined({ ...change, ...columns }))),
        )
        if (endsWhatOthersKnew(user, { role, domain })) {
          await deactivateKeypairs(trx, id)
          await deleteWaitingKeypairs(trx, id)
        }
        if (user.role === 'superadmin') await requireSuperadmin(trx)
        if (id === caller.userId && (!active || role !== user.role || moves)) {
          throw new AppError('forbidden', because('not_yourself'))
        }
        const endsSignIns = !active || role !== user.role || moves || password !== undefined
        return { user, changed, ended: endsSignIns ? await endAccess(trx, id) : [] }
      })
      await logins.tellEnd(ended)
      logins.forget(id)
      announce(changed)
      if (groups || changed.domain !== user.domain) onMembersLeft?.([id])
      if (changed.active !== user.active || changed.resource_policy !== user.resource_policy) onChanged?.()
      return toUser(db, changed)
    },

    async listLogins(caller, id) {
      const user = await mustFind(findUser(db, id))
      if (!managesAccount(caller, user)) throw new AppError('user_not_found')
      return logins.list({ userId: id, loginId: caller.loginId })
    },

    async endLogins(caller, id) {
      requireAnother(caller, id, 'end_sign_ins')
      const ended = await store.transaction(async trx => {
        const user = await mustFind(lockUser(trx, id))
        if (!managesAccount(caller, user)) throw new AppError('user_not_found')
        return endAccess(trx, id)
      })
      await logins.tellEnd(ended)
      logins.forget(id)
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
        passwords.verify(user.password_hash, oldPassword),
      )
      const wrong = () => new AppError('login_failed', because('old_password_wrong'))
      if (!good) throw wrong()
      if (password === oldPassword) throw new AppError('password_unchanged', because('choose_other_password'))
      const password_hash = await passwords.hash(password)
      const ended = await store.transaction(async trx => {
        const held = await mustFind(lockUser(trx, user.id))
        // Another password was set during the check: a caller who knows only the old one must not replace it.
        if (held.password_hash !== user.password_hash) throw wrong()
        await updateUser(trx, user.id, { password_hash, must_change_password: false })
        return endAccess(trx, user.id, caller.loginId ?? undefined)
      })
      await logins.tellEnd(ended)
      logins.forget(user.id)
    },
  }
}

/**
 * Makes `admin@localhost` at the first start, with the given password or a random one that is left in DATA/admin-password.
 *
 * @param password of BERTH_ADMIN_PASSWORD; a password that breaks the rules stops every start, so that nobody believes it is set
 * @throws AppError `weak_password`
 */
export async function ensureFirstAdmin(options: {
  store: Store
  passwords: Passwords
  dataDir: string
  password: string | undefined
  log: Log
}): Promise<void> {
  const { store, passwords, dataDir, password, log } = options
  if (password !== undefined) checkPassword(password)
  if ((await countUsers(store.db)) > 0) return
  const chosen = password ?? newPassword()
  const password_hash = await passwords.hash(chosen)
  // Write the file first: a crash in between then leaves a file too many, not an account that nobody can use.
  if (password === undefined) await writeSecret(join(dataDir, 'admin-password'), `${chosen}\n`)
  const admin = { email: FIRST_ADMIN, name: 'Administrator', role: 'superadmin' as const, password_hash }
  try {
    await store.transaction(trx => insertAccount(trx, { ...admin, domain: DEFAULT_DOMAIN }))
    log.info({ email: FIRST_ADMIN }, 'created the first superadmin')
  } catch (error) {
    // Another manager on this database was first.
    if (!isAppError(error) || error.code !== 'user_exists') throw error
  }
}

/**
 * The superadmin that sign-in links of this machine are for.
 *
 * @throws AppError `user_not_found` where the account was deactivated or removed, or is no superadmin any more
 */
export async function firstAdminId(store: Store): Promise<UserId> {
  const user = await findUserByEmail(store.db, FIRST_ADMIN)
  if (!user?.active || user.role !== 'superadmin')
    throw new AppError('user_not_found', because('no_first_admin', { email: FIRST_ADMIN }))
  return user.id
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await chmod(`${path}.new`, 0o600)
  await rename(`${path}.new`, path)
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

/** Copies an object without its undefined keys. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
