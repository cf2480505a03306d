import { type Selectable } from 'kysely'
import { every } from '#base/every'
import { inTurn } from '#base/in-turn'
import {
  AppError,
  because,
  type Login,
  type Me,
  type StoredSettings,
  SYSTEM_SETTINGS_DEFAULTS,
  type UserId,
} from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'
import {
  deleteLogins,
  findTicketUser,
  insertLogin,
  insertTicket,
  listExpiredLogins,
  listLiveLogins,
  listLoginsOf,
  takeTicket,
} from '../store/identity/logins.ts'
import { holdDomain } from '../store/identity/domains.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type LoginsTable } from '../store/tables/accounts.ts'
import { holdActiveKeypair } from '../store/identity/keypairs.ts'
import { type Signer } from '../store/identity/signing.ts'
import { findUserByEmail, holdUser, type UserRow } from '../store/identity/users.ts'
import { type Aftermath } from './aftermath.ts'
import { type Caller } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { duePasswordRefusal, replaceDuePassword } from './due-password.ts'
import { type DoubtEnd } from './end-of-doubt.ts'
import { createLoginCache, type LoginCache } from './login-cache.ts'
import { lifetimesOf, type LoginLifetimes } from './login-lifetimes.ts'
import { type KeypairCheck } from './keypair-check.ts'
import { type Passwords, strangerAt } from './passwords.ts'
import { type SecondFactorCheck } from './own-proof.ts'
import { type Telling } from './telling.ts'
import { browserToken, hashToken, newToken } from './secrets.ts'
import { toUser } from './to-user.ts'

const TICKET_SECONDS = 10 * 60
/** How long tunnels and streams may outlive the sign-in that opened them. */
const EXPIRE_MS = 15_000
/** Shortest interval between calls of `onChange` listeners: users may change by the thousand, and each check is a query. */
const TELL_CHANGES_MS = 100
/** Ids per message to other managers, well below what a message holds. */
const TOLD_AT_ONCE = 100
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export interface NewSignIn {
  readonly me: Me
  /** Given out this once. */
  readonly credential:
    | { readonly kind: 'token'; readonly token: string }
    | {
        readonly kind: 'browser'
        readonly cookie: string
        readonly originSecret: string
        /** Longest lifetime, however much the sign-in is used. */
        readonly maxSeconds: number
      }
}

/**
 * Sign-ins. A sign-in stands for one user on one device. Its token is 256 random bits; a browser's token is two halves of
 * 256 bits each. A token is given out once, and only its hash is stored. A sign-in ends by itself after the lifetime in the
 * settings (by default a browser's after 12 hours unused or 7 days, a bearer token's after 30 days), at logout, with a new
 * password, role or domain, and when the user is deactivated.
 */
export interface Logins extends Disposable, Pick<LoginCache, 'authenticate' | 'authenticateOneOf'> {
  /**
   * @throws AppError `login_failed` (also for inactive and unknown users), `login_throttled`, `rate_limited`; only to a
   *   caller who has the password: `password_sign_in_off`, `email_unverified`, `password_change_required`, `weak_password`,
   *   `password_unchanged`, `totp_required`, `totp_invalid`, `domain_inactive`
   */
  signIn(request: {
    email: string
    password: string
    /** Code of the authenticator app or recovery code, where the account has a second factor. */
    totp?: string | undefined
    /** Where an admin requires another password: the password from now on. */
    newPassword?: string | undefined
    kind: 'browser' | 'token'
    label?: string | undefined
    address: string
  }): Promise<NewSignIn>
  /** @throws AppError `ticket_invalid` */
  signInWithTicket(request: {
    ticket: string
    kind: 'browser' | 'token'
    label?: string | undefined
    address: string
  }): Promise<NewSignIn>
  /**
   * Signs in with a keypair. The sign-in counts against the limits of the keypair and ends with it. A person signs in, so a second
   * factor is asked for; programs sign their requests instead.
   *
   * @throws AppError `access_key_invalid`, `login_throttled`; only to a caller who has the secret: `keypair_inactive`,
   *   `user_inactive`, `totp_required`, `totp_invalid`
   */
  signInWithKeypair(request: {
    accessKey: string
    secretKey: string
    totp?: string | undefined
    kind: 'browser' | 'token'
    label?: string | undefined
    address: string
  }): Promise<NewSignIn>
  /**
   * Signs in a person whom the caller has proved to be the user that `hold` locks and returns. `hold` runs in the transaction that
   * makes the sign-in.
   */
  signInProved(
    request: { kind: 'browser' | 'token'; label?: string | undefined; address: string },
    hold: (trx: Db) => Promise<UserRow>,
  ): Promise<NewSignIn>
  /** Makes a ticket that is good for one sign-in within ten minutes. */
  createTicket(userId: UserId): Promise<string>
  /** Ends a sign-in at once, at other managers too. */
  end(loginId: string): Promise<void>
  /** The valid sign-ins of a user; `loginId` is the one that asks. */
  list(of: Pick<Caller, 'userId' | 'loginId'>): Promise<{ items: Login[] }>
  /** Ends one of the caller's own sign-ins, as `end` does. @throws AppError `login_not_found` */
  endOwn(caller: Caller, loginId: string): Promise<void>
  /** Ends all sign-ins of the caller but the one of the request. @returns how many */
  endOthers(caller: Caller): Promise<number>
  /** Ends all sign-ins of browsers. @returns how many */
  endBrowsers(): Promise<number>
  /** Whether `endBrowsers` ended any, since the start of this process. */
  readonly haveBrowsersEnded: boolean
  /**
   * Announces the end of sign-ins that a committed change of an account has deleted, to other managers too. Every listener of `onEnd`
   * hears it, also after one that throws.
   */
  tellEnd(loginIds: readonly string[]): Promise<void>
  /** Announces all that a committed change of an account has left to announce, also after a part that fails. @throws its failure */
  settle(userId: UserId, aftermath: Aftermath): Promise<void>
  /** Announces, in this process only, the end of those of these sign-ins that ended without our notice. Other ids are ignored. */
  recheck(loginIds: readonly string[]): Promise<void>
  /**
   * Handles a change of this user's row, or of many users' rows (null): drops cached sign-ins and calls the listeners of
   * `onChange`, at other managers too.
   */
  forget(userId: UserId | null): void
  /**
   * Listens for possible changes of roles, domains or accounts, made here or by another manager: anything that lives longer
   * than a request must check again. Returns the unsubscribe function.
   */
  onChange(listener: () => void): () => void
  /**
   * Listens for every end of a sign-in, expiry included. For anything that lives longer than a request (event streams,
   * tunnels). Returns the unsubscribe function.
   */
  onEnd(listener: (loginId: string) => void): () => void
}

export interface LoginsDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly secondFactor: SecondFactorCheck
  readonly telling: Pick<Telling, 'write' | 'announce'>
  /** Called when a user may have left projects. */
  readonly onMembersLeft?: (userIds: readonly UserId[]) => void
  /** Lifetimes of sign-ins that start now; the defaults of the settings if left out. */
  readonly lifetimes?: () => Promise<LoginLifetimes>
  /** Users who may sign in with a password; left out: everyone. */
  readonly passwordSignIn?: () => Promise<StoredSettings['passwordSignIn']>
  /** Left out: nobody signs in with a keypair. */
  readonly checkKeypair?: KeypairCheck
  /** The other managers on the database; without them there are none. */
  readonly peers?: Peers
  readonly now?: () => number
  readonly expireMs?: number
}

export function createLogins(deps: LoginsDeps): Logins {
  const { store, passwords, secondFactor, telling, onMembersLeft } = deps
  const { peers = NO_PEERS, now = store.now, expireMs = EXPIRE_MS } = deps
  const { checkKeypair = () => Promise.resolve(undefined) } = deps
  const { passwordSignIn = () => Promise.resolve(SYSTEM_SETTINGS_DEFAULTS.passwordSignIn) } = deps
  const { lifetimes = () => Promise.resolve(lifetimesOf(SYSTEM_SETTINGS_DEFAULTS)) } = deps
  const { db } = store
  const cache = createLoginCache({ db, now })
  const listeners = new Set<(loginId: string) => void>()
  const changeListeners = new Set<() => void>()
  let changesToTell: NodeJS.Timeout | undefined
  let changesToldAt = Number.NEGATIVE_INFINITY
  /** Expired sign-ins whose end was announced. The rows stay for an hour, so that every manager sees them. */
  let told: ReadonlySet<string> = new Set<string>()
  let haveBrowsersEnded = false
  // If the database does not answer, nothing ends now; the next round tries again.
  const expiring = every(expireMs, endExpired)

  const ended = peers.topic<readonly string[]>('logins_ended')
  const userChanged = peers.topic<UserId | null>('user_changed')
  const forget = (userId: UserId | null) => {
    if (userId === null) cache.clear()
    else void cache.drop(({ caller }) => caller.userId === userId)
    changesToTell ??= setTimeout(tellChanges, Math.max(0, changesToldAt + TELL_CHANGES_MS - performance.now())).unref()
  }
  const forgetEverywhere = (userId: UserId | null) => {
    forget(userId)
    userChanged.tell(userId)
  }
  function tellChanges(): void {
    changesToTell = undefined
    changesToldAt = performance.now()
    for (const listener of changeListeners) listener()
  }
  ended.on(ids => void endHere(new Set(ids)))
  userChanged.on(forget)
  peers.onGap(() => forget(null))

  async function endExpired(): Promise<void> {
    const expired = new Set(await listExpiredLogins(db, new Date(now())))
    const fresh = new Set([...expired].filter(id => !told.has(id)))
    told = expired
    await endHere(fresh)
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

  async function settle(userId: UserId, { ended, hasLeftProjects, news }: Aftermath): Promise<void> {
    // The change is committed: cached sign-ins must not keep the old role because a listener fails.
    await inTurn([
      () => forgetEverywhere(userId),
      () => hasLeftProjects && onMembersLeft?.([userId]),
      () => tellEnd(ended),
      () => telling.announce(news),
    ])
  }

  /** @param hold locks the account until the transaction ends, so that a later change of it ends this sign-in as well */
  async function start(
    { kind, label, address, keypair = null }: StartOptions,
    hold: (trx: Db) => Promise<UserRow>,
  ): Promise<NewSignIn> {
    const { [kind]: lifetime } = await lifetimes()
    const credential: NewSignIn['credential'] =
      kind === 'token'
        ? { kind, token: newToken() }
        : { kind, cookie: newToken(), originSecret: newToken(), maxSeconds: lifetime.maxSeconds }
    const token =
      credential.kind === 'token' ? credential.token : browserToken(credential.cookie, credential.originSecret)
    const { user, expiresAt } = await store.transaction(async trx => {
      const user = await hold(trx)
      const login = { id: newUuid(), userId: user.id, tokenHash: hashToken(token), kind, label: label ?? null, address }
      return { user, expiresAt: await insertLogin(trx, { ...login, ...lifetime, keypair }) }
    })
    return { credential, me: { user: await toUser(db, user), expiresAt: expiresAt.toISOString() } }
  }

  /** Asks for the code of an account with a second factor. @param refuse gets the reason before a result that lets nobody in */
  function checkCode(
    user: UserRow,
    totp: string | undefined,
    refuse: (why: AppError) => void,
  ): Promise<boolean> | boolean | 'undecided' {
    if (user.totp_confirmed_at === null) return true
    if (totp === undefined) {
      refuse(new AppError('totp_required', because('code_from_app_or_recovery')))
      return 'undecided'
    }
    refuse(new AppError('totp_invalid', because('code_from_app')))
    return withBackOff(store, { codeOf: user.id }, () => secondFactor.check(user, totp))
  }

  return {
    async signIn({ email, password, newPassword, totp, address, ...options }) {
      const user = await findUserByEmail(db, email)
      let refusal = wrongCredentials()
      const good = await withBackOff(store, { email, address }, async () => {
        if (!(await passwords.verify(user?.password_hash, password, strangerAt(address, email))) || !user?.active)
          return false
        // From here on the reply goes only to a caller who knows the password.
        if (user.role !== 'superadmin' && (await passwordSignIn()) === 'superadmins') {
          refusal = new AppError('password_sign_in_off', because('password_sign_in_off'))
          return 'undecided'
        }
        if (user.email_verified_at === null) {
          refusal = new AppError('email_unverified', because('confirm_by_mail'))
          return 'undecided'
        }
        const due = duePasswordRefusal(user, { password, newPassword })
        if (due) {
          refusal = due
          return 'undecided'
        }
        return checkCode(user, totp, code => (refusal = code))
      })
      if (good !== true || !user) throw refusal
      const replacing = user.must_change_password && newPassword !== undefined
      const password_hash = replacing ? await passwords.hash(newPassword) : user.password_hash
      let replaced: DoubtEnd | undefined
      const signedIn = await start({ ...options, address }, async trx => {
        replaced = replacing ? await replaceDuePassword(trx, user, password_hash, telling) : undefined
        const held = replaced?.user ?? (await holdUser(trx, user.id))
        // The check took a while: the account may have changed since.
        if (!held?.active || held.password_hash !== password_hash) throw wrongCredentials()
        if (!(await holdDomain(trx, held.domain))?.active) {
          throw new AppError('domain_inactive', because('domain_deactivated', { domain: held.domain }))
        }
        const due = duePasswordRefusal(held, { password })
        if (due) throw due
        requireSameFactor(user, held)
        return held
      })
      if (replaced) await settle(user.id, replaced)
      return signedIn
    },

    async signInWithTicket({ ticket, kind, label = 'sign-in link', address }) {
      const hash = hashToken(ticket)
      return start({ kind, label, address }, async trx => {
        // Lock the account before the ticket, the order in which every change of the account locks them.
        const userId = await findTicketUser(trx, hash)
        const held = userId && (await holdUser(trx, userId))
        if (!held?.active || !(await holdDomain(trx, held.domain))?.active || !(await takeTicket(trx, hash))) {
          throw new AppError('ticket_invalid', because('ticket_used'))
        }
        return held
      })
    },

    async signInWithKeypair({ accessKey, secretKey, totp, address, ...options }) {
      const found: { signer?: Signer | undefined } = {}
      let refusal = new AppError('access_key_invalid')
      const good = await withBackOff(store, { email: `keypair:${accessKey}`, address }, async () => {
        found.signer = await checkKeypair(accessKey, secretKey)
        if (!found.signer) return false
        // An inactive keypair or account is refused below, whatever the code.
        if (!found.signer.keypair.active || !found.signer.user.active) return true
        return checkCode(found.signer.user, totp, code => (refusal = code))
      })
      if (good !== true || !found.signer) throw refusal
      const { user } = found.signer
      return start({ ...options, address, keypair: accessKey }, async trx => {
        const held = await holdUser(trx, user.id)
        if (!held?.active || !(await holdDomain(trx, held.domain))?.active) {
          throw new AppError('user_inactive', because('account_or_domain_deactivated'))
        }
        if (!(await holdActiveKeypair(trx, accessKey))) {
          throw new AppError('keypair_inactive', because('keypair_deactivated'))
        }
        requireSameFactor(user, held)
        return held
      })
    },

    signInProved: start,

    async createTicket(userId) {
      const ticket = newToken()
      await insertTicket(db, { hash: hashToken(ticket), userId, lifetimeSeconds: TICKET_SECONDS })
      return ticket
    },

    authenticate: (token, use) => cache.authenticate(token, use),
    authenticateOneOf: tokens => cache.authenticateOneOf(tokens),

    async end(id) {
      await tellEnd(await deleteLogins(db, { id }))
    },

    async list({ userId, loginId }) {
      const rows = await listLoginsOf(db, userId)
      return { items: rows.map(row => toLogin(row, loginId)) }
    },

    async endOwn({ userId }, loginId) {
      const ended = await deleteLogins(db, { userId, only: loginId })
      if (ended.length === 0) throw new AppError('login_not_found')
      await tellEnd(ended)
    },

    async endOthers({ userId, loginId }) {
      const ended = await deleteLogins(db, { userId, except: loginId ?? undefined })
      await tellEnd(ended)
      return ended.length
    },

    async endBrowsers() {
      const ended = await deleteLogins(db, { kind: 'browser' })
      haveBrowsersEnded ||= ended.length > 0
      await tellEnd(ended)
      return ended.length
    },

    get haveBrowsersEnded() {
      return haveBrowsersEnded
    },

    tellEnd,
    settle,

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

interface StartOptions {
  readonly kind: 'browser' | 'token'
  readonly label?: string | undefined
  readonly address: string
  /** Access key with which the sign-in is made. */
  readonly keypair?: string | null
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

/**
 * Refuses a sign-in whose code was not asked for, because the second factor was switched on after the account was read.
 *
 * @param held the account again, locked in the transaction that makes the sign-in
 * @throws AppError `totp_required`
 */
function requireSameFactor(
  checked: Pick<UserRow, 'totp_confirmed_at'>,
  held: Pick<UserRow, 'totp_confirmed_at'>,
): void {
  const asked = checked.totp_confirmed_at?.getTime()
  if (held.totp_confirmed_at === null || held.totp_confirmed_at.getTime() === asked) return
  throw new AppError('totp_required', because('code_from_app_or_recovery'))
}

function wrongCredentials(): AppError {
  return new AppError('login_failed', because('login_check_both'))
}
