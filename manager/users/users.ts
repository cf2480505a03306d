import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, type User, type UserChange, UserId, type UserSpec } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { deleteTickets } from '../store/logins.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import {
  countUsers,
  findUser,
  findUserByEmail,
  insertUser,
  listUsers,
  updateUser,
  type UserRow,
} from '../store/users.ts'
import { type Caller } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { type Logins } from './logins.ts'
import { checkPassword, type Passwords } from './passwords.ts'
import { newPassword } from './secrets.ts'
import { toUser } from './to-user.ts'

export const FIRST_ADMIN = 'admin@localhost'

/** Accounts: the rules. Roles were checked before. */
export interface Users {
  list(page: { limit: number; cursor?: string | undefined }): Promise<{ items: User[]; nextCursor: string | null }>
  /** @throws AppError `user_exists`, `weak_password` */
  create(spec: UserSpec): Promise<User>
  /** @throws AppError `user_not_found`, `weak_password`, `forbidden` (to lock oneself out) */
  change(caller: Caller, id: UserId, change: UserChange): Promise<User>
  /** Ends every other sign-in. @throws AppError `login_failed` (old one wrong), `weak_password`, `login_throttled` */
  changePassword(caller: Caller, request: { oldPassword: string; newPassword: string; address: string }): Promise<void>
}

export interface UsersDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly logins: Logins
  readonly events: EventPublisher
}

export function createUsers({ store, passwords, logins, events }: UsersDeps): Users {
  const { db } = store
  const announce = (user: UserRow) =>
    events.publish({ topic: 'user', id: user.id, version: user.version }, { userId: user.id })

  return {
    async list({ limit, cursor }) {
      const rows = await listUsers(db, {
        limit: limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
      })
      const items = rows.slice(0, limit)
      return { items: items.map(toUser), nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },

    async create({ email, password, name, role }) {
      const password_hash = await passwords.hash(password)
      const user = { id: newId(UserId), email: email.toLowerCase(), name, role, password_hash }
      if (!(await insertUser(db, user))) throw new AppError('user_exists', { why: 'Choose another address.' })
      const created = await mustFind(findUser(db, user.id))
      announce(created)
      return toUser(created)
    },

    async change(caller, id, { password, ...change }) {
      if (id === caller.userId && (change.active === false || change.role !== undefined)) {
        throw new AppError('forbidden', { why: 'Nobody can deactivate themselves or change their own role.' })
      }
      const update = {
        ...defined(change),
        ...(password === undefined ? {} : { password_hash: await passwords.hash(password) }),
      }
      const changed = await mustFind(updateUser(db, id, update))
      const endsSignIns = change.active === false || change.role !== undefined || password !== undefined
      if (endsSignIns) await endSignIns(id, caller.userId === id ? caller.loginId : undefined)
      else logins.forget(id)
      announce(changed)
      return toUser(changed)
    },

    async changePassword(caller, { oldPassword, newPassword: password, address }) {
      checkPassword(password)
      const user = await mustFind(findUser(db, caller.userId))
      const good = await withBackOff(store, { email: user.email, address }, () =>
        passwords.verify(user.password_hash, oldPassword),
      )
      if (!good) throw new AppError('login_failed', { why: 'The old password is wrong.' })
      await mustFind(updateUser(db, user.id, { password_hash: await passwords.hash(password) }))
      await endSignIns(user.id, caller.loginId)
    },
  }

  async function endSignIns(userId: UserId, except: string | undefined): Promise<void> {
    await deleteTickets(db, userId)
    await logins.end({ userId, ...(except === undefined ? {} : { except }) })
    logins.forget(userId)
  }
}

/**
 * The first start makes `admin@localhost`, with the given password or a random one that is left in DATA/admin-password.
 *
 * @param password of BERTH_ADMIN_PASSWORD; one that breaks the rules stops every start, so that nobody believes it is set
 * @returns the superadmin that sign-in links of this machine are for
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
  // The file first: with a crash in between there is a file too many, not an account that nobody can use.
  if (password === undefined) await writeSecret(join(dataDir, 'admin-password'), `${chosen}\n`)
  const admin = {
    id: newId(UserId),
    email: FIRST_ADMIN,
    name: 'Administrator',
    role: 'superadmin' as const,
    password_hash,
  }
  if (await insertUser(store.db, admin)) log.info({ email: FIRST_ADMIN }, 'created the first superadmin')
}

/** @throws AppError `user_not_found` where it was deactivated or removed */
export async function firstAdminId(store: Store): Promise<UserId> {
  const user = await findUserByEmail(store.db, FIRST_ADMIN)
  if (!user?.active || user.role !== 'superadmin')
    throw new AppError('user_not_found', { why: `There is no ${FIRST_ADMIN}.` })
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
  if (!parsed.success) throw new AppError('bad_request', { why: 'The cursor is not one that a list returned.' })
  return parsed.data
}

/** Without the keys that are undefined. */
function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
