import { type Selectable } from 'kysely'
import { every } from '#base/every'
import { inTurn } from '#base/in-turn'
import { AppError, type Login, type UserId } from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'
import { type Log } from '../log.ts'
import { deleteLogins, listExpiredLogins, listLiveLogins, listLoginsOf } from '../store/identity/logins.ts'
import { countingOf } from '../store/identity/users.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { type LoginsTable } from '../store/tables/accounts.ts'
import { type AfterCommit } from './after-commit.ts'
import { type Caller } from './authorize.ts'
import { createLoginCache, type LoginCache } from './login-cache.ts'
import { type AccountNotifier } from './account-notifier.ts'

/** Time for which tunnels and streams may outlive the sign-in that opened them. */
const EXPIRE_MS = 15_000
/** Shortest interval between calls of `onChange` listeners: thousands of users may change at once, and each check is a query. */
const TELL_CHANGES_MS = 100
/** Ids per message to other managers, well below what a message holds. */
const TOLD_AT_ONCE = 100
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Operations on existing sign-ins: finding by token, listing, and ending at every manager at once. */
export interface LoginEnds extends Disposable, Pick<LoginCache, 'authenticate' | 'authenticateOneOf'> {
  /** Ends a sign-in at once, at other managers too. */
  end(loginId: string): Promise<void>
  /** The valid sign-ins of a user; `loginId` is the sign-in of the request. */
  list(of: Pick<Caller, 'userId' | 'loginId'>): Promise<{ items: Login[] }>
  /**
   * Ends one of the caller's own sign-ins, like `end`; a caller with a keypair can end only sign-ins made with it. @throws AppError
   * `login_not_found`
   */
  endOwn(caller: Caller, loginId: string): Promise<void>
  /**
   * Ends all sign-ins of the caller except that of the request; a caller with a keypair ends only sign-ins made with it. @returns how many
   */
  endOthers(caller: Caller): Promise<number>
  /** Ends all sign-ins of browsers. @returns how many */
  endBrowsers(): Promise<number>
  /** Whether `endBrowsers` has ended any sign-in since the start of this process. */
  haveBrowsersEnded(): boolean
  /**
   * Announces the end of sign-ins that a committed change of an account has deleted, also to other managers. All listeners of `onEnd` are
   * called, even if one throws.
   */
  tellEnd(loginIds: readonly string[]): Promise<void>
  /** Announces all consequences of a committed change of an account, even if a part fails. @throws the error of that part */
  settle(userId: UserId, afterCommit: AfterCommit): Promise<void>
  /** Announces, only in this process, which of these sign-ins have ended without a message. Other ids are ignored. */
  recheck(loginIds: readonly string[]): Promise<void>
  /**
   * Handles a change of this user's row, or of many users' rows (null): drops cached sign-ins and calls the listeners of
   * `onChange`, at other managers too.
   */
  forget(userId: UserId | null): void
  /**
   * Listens for possible changes of roles, domains or accounts, made here or by another manager: everything that outlives a request must
   * check its rights again. The listener gets the users whose rows may have changed; null: those of all. Returns the unsubscribe function.
   */
  onChange(listener: ChangeListener): () => void
  /**
   * Listens for every end of a sign-in, including expiry. For everything that outlives a request (event streams, tunnels). Returns the
   * unsubscribe function.
   */
  onEnd(listener: (loginId: string) => void): () => void
}

export type ChangeListener = (userIds: ReadonlySet<UserId> | null) => void

export interface LoginEndsDeps {
  readonly store: Store
  readonly notifier: Pick<AccountNotifier, 'announce'>
  readonly log: Pick<Log, 'error'>
  /** Called when a user may have left projects. */
  readonly onMembersLeft?: (userIds: readonly UserId[]) => void
  /** The other managers on the database; undefined if there are none. */
  readonly peers?: Peers
  readonly now?: () => number
  readonly expireMs?: number
}

export function createLoginEnds(deps: LoginEndsDeps): LoginEnds {
  const { store, notifier, log, onMembersLeft } = deps
  const { peers = NO_PEERS, now = store.now, expireMs = EXPIRE_MS } = deps
  const { db } = store
  const cache = createLoginCache({ db, now })
  const listeners = new Set<(loginId: string) => void>()
  const changeListeners = new Set<ChangeListener>()
  let changed: Set<UserId> | null = new Set()
  let changesToTell: NodeJS.Timeout | undefined
  let changesToldAt = Number.NEGATIVE_INFINITY
  /** Expired sign-ins whose end was announced. Their rows stay for an hour, so that every manager sees them. */
  let told: ReadonlySet<string> = new Set<string>()
  let haveBrowsersEnded = false
  // If the database does not answer, nothing ends now; the next round tries again.
  const expiring = every(expireMs, endExpired)

  const ended = peers.topic<readonly string[]>('logins_ended')
  const userChanged = peers.topic<UserId | null>('user_changed')
  const forget = (userId: UserId | null) => {
    if (userId === null) cache.clear()
    else cache.drop(({ caller }) => caller.userId === userId).catch(complain)
    changed = userId === null ? null : (changed?.add(userId) ?? null)
    const afterMs = Math.max(0, changesToldAt + TELL_CHANGES_MS - performance.now())
    changesToTell ??= onBehalfOfAll(() => setTimeout(tellChanges, afterMs).unref())
  }
  const forgetEverywhere = (userId: UserId | null) => {
    forget(userId)
    userChanged.tell(userId)
  }
  function tellChanges(): void {
    changesToTell = undefined
    changesToldAt = performance.now()
    const told = changed
    changed = new Set()
    inTurn([...changeListeners].map(listener => () => listener(told))).catch(complain)
  }
  // Messages and timers have no caller that could handle an error: if it were thrown, the process would end.
  function complain(error: unknown): void {
    log.error({ err: error }, 'not everything was told of a change or an end of sign-ins')
  }
  ended.on(ids => void endHere(new Set(ids)).catch(complain))
  userChanged.on(forget)
  peers.onGap(() => forget(null))

  async function endExpired(): Promise<void> {
    const expired = new Set(await listExpiredLogins(db, new Date(now())))
    const fresh = new Set([...expired].filter(id => !told.has(id)))
    told = expired
    await endHere(fresh).catch(complain)
  }

  async function endHere(ended: ReadonlySet<string>): Promise<void> {
    if (ended.size === 0) return
    await cache.drop(({ caller }) => caller.loginId !== null && ended.has(caller.loginId))
    await inTurn([...ended].flatMap(id => [...listeners].map(listener => () => listener(id))))
  }

  async function tellEnd(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += TOLD_AT_ONCE) ended.tell(ids.slice(start, start + TOLD_AT_ONCE))
    await endHere(new Set(ids))
  }

  return {
    authenticate: (token, use) => cache.authenticate(token, use),
    authenticateOneOf: tokens => cache.authenticateOneOf(tokens),

    async end(id) {
      await tellEnd(await deleteLogins(db, { id }))
    },

    async list({ userId, loginId }) {
      const rows = await listLoginsOf(db, userId)
      return { items: rows.map(row => toLogin(row, loginId)) }
    },

    async endOwn({ userId, keypair }, loginId) {
      const ended = await deleteLogins(db, { userId, only: loginId, madeWith: keypair ?? undefined })
      if (ended.length === 0) throw new AppError('login_not_found')
      await tellEnd(ended)
    },

    async endOthers({ userId, loginId, keypair }) {
      const which = { userId, except: loginId ?? undefined, madeWith: keypair ?? undefined }
      // Locked, so that a concurrent sign-in does not end other sign-ins meanwhile.
      const ended = await store.transaction(async trx => {
        await countingOf(trx, userId)
        return deleteLogins(trx, which)
      })
      await tellEnd(ended)
      return ended.length
    },

    async endBrowsers() {
      const ended = await deleteLogins(db, { kind: 'browser' })
      haveBrowsersEnded ||= ended.length > 0
      await tellEnd(ended)
      return ended.length
    },

    haveBrowsersEnded: () => haveBrowsersEnded,

    tellEnd,

    async settle(userId, { ended, hasLeftProjects, news }) {
      // The change is committed: cached sign-ins must not keep the old role because a listener fails.
      await inTurn([
        () => forgetEverywhere(userId),
        () => hasLeftProjects && onMembersLeft?.([userId]),
        () => tellEnd(ended),
        () => notifier.announce(news),
      ])
    },

    async recheck(loginIds) {
      const ids = loginIds.filter(id => UUID.test(id))
      const live = await listLiveLogins(db, ids)
      await endHere(new Set(ids.filter(id => !live.has(id))))
    },

    forget: forgetEverywhere,

    onEnd(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    onChange(listener) {
      changeListeners.add(listener)
      return () => void changeListeners.delete(listener)
    },

    [Symbol.dispose]() {
      expiring[Symbol.dispose]()
      clearTimeout(changesToTell)
    },
  }
}

function toLogin(row: Selectable<LoginsTable>, thisId: string | null): Login {
  const { id, kind, label, address } = row
  return {
    id,
    kind,
    label,
    address: address.replace(/^::ffff:/, ''),
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    expiresAt: new Date(Math.min(row.expires_at.getTime(), row.ends_at.getTime())).toISOString(),
    accessKey: row.keypair,
    isThis: id === thisId,
  }
}
