import {
  AppError,
  because,
  type Me,
  type StoredSettings,
  SYSTEM_SETTINGS_DEFAULTS,
  type UserId,
} from '#manager/contract'
import { deleteExcessLogins, findTicketUser, insertLogin, insertTicket, takeTicket } from '../store/identity/logins.ts'
import { holdDomain } from '../store/identity/domains.ts'
import { newUuid } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'
import { holdActiveKeypair } from '../store/identity/keypairs.ts'
import { type Signer } from '../store/identity/signing.ts'
import { countingOf, findUserByEmail, type UserRow } from '../store/identity/users.ts'
import { withBackOff } from './back-off.ts'
import { duePasswordRefusal, replaceDuePassword } from './due-password.ts'
import { type DoubtEnd } from './end-of-doubt.ts'
import { createLoginEnds, type LoginEnds, type LoginEndsDeps } from './login-ends.ts'
import { lifetimesOf, type LoginLifetimes } from './login-lifetimes.ts'
import { type KeypairCheck } from './keypair-check.ts'
import { type Passwords, personAsking, strangerAt } from './passwords.ts'
import { type RateLimits } from './rate-limits.ts'
import { type SecondFactorCheck } from './own-proof.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { browserToken, hashToken, newToken } from './secrets.ts'
import { toUser } from './to-user.ts'

const TICKET_SECONDS = 10 * 60

export interface NewSignIn {
  readonly me: Me
  /** Shown only here. */
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
 * Sign-ins. A sign-in stands for one user on one device. Its token is 256 random bits; a browser's token is two halves of 256 bits each. A
 * token is shown once, and only its hash is stored. A sign-in ends on its own after the lifetime in the settings (by default a browser's
 * after 12 hours unused or 7 days, a bearer token's after 30 days), at logout, with a new password, role or domain, and when the user is
 * deactivated. If a person has too many (`MOST_LOGINS`), a new one ends the one unused for longest, so that ending an account deletes only
 * few rows.
 */
export interface Logins extends LoginEnds {
  /**
   * @throws AppError `login_failed` (also for inactive and unknown users), `login_throttled`, `rate_limited`; only to a
   *   caller who has the password: `password_sign_in_off`, `email_unverified`, `password_change_required`, `weak_password`,
   *   `password_unchanged`, `totp_required`, `totp_invalid`, `domain_inactive`
   */
  signIn(request: {
    email: string
    password: string
    /** Code of the authenticator app or recovery code, if the account has a second factor. */
    totp?: string | undefined
    /** The new password, if an admin requires one. */
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
   * Signs in with a keypair. The sign-in counts as a request with the keypair and towards its limits, and ends with it. Because a person
   * signs in, a second factor is required; programs sign their requests instead.
   *
   * @throws AppError `access_key_invalid`, `login_throttled`; only to a caller who has the secret: `keypair_inactive`, `user_inactive`,
   *   `totp_required`, `totp_invalid`, `rate_limited`
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
   * Signs in a person who has proved to be the user that `hold` locks and returns. `hold` runs in the transaction that creates the sign-in.
   */
  signInProved(
    request: { kind: 'browser' | 'token'; label?: string | undefined; address: string },
    hold: (trx: Db) => Promise<UserRow>,
  ): Promise<NewSignIn>
  /** Creates a ticket for one sign-in within ten minutes. */
  createTicket(userId: UserId): Promise<string>
}

export interface LoginsDeps extends LoginEndsDeps {
  readonly passwords: Passwords
  readonly secondFactor: SecondFactorCheck
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  /** Lifetimes of new sign-ins; if left out, the defaults of the settings. */
  readonly lifetimes?: () => Promise<LoginLifetimes>
  /** Users who may sign in with a password; if left out, everyone. */
  readonly passwordSignIn?: () => Promise<StoredSettings['passwordSignIn']>
  /** If left out, nobody can sign in with a keypair. */
  readonly checkKeypair?: KeypairCheck
  /** Counts sign-ins with a keypair as its requests. */
  readonly rates?: Pick<RateLimits, 'take'>
}

export function createLogins(deps: LoginsDeps): Logins {
  const { store, passwords, secondFactor, notifier, rates, log } = deps
  const { checkKeypair = () => Promise.resolve(undefined) } = deps
  const { passwordSignIn = () => Promise.resolve(SYSTEM_SETTINGS_DEFAULTS.passwordSignIn) } = deps
  const { lifetimes = () => Promise.resolve(lifetimesOf(SYSTEM_SETTINGS_DEFAULTS)) } = deps
  const { db } = store
  const ends = createLoginEnds(deps)

  /**
   * @param hold locks the account until the transaction ends, so that a later change of the account ends this sign-in as well, and
   *   simultaneous sign-ins are counted one after the other
   */
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
    const { user, expiresAt, ended } = await store.transaction(async trx => {
      const user = await hold(trx)
      const login = { id: newUuid(), userId: user.id, tokenHash: hashToken(token), kind, label: label ?? null, address }
      const expiresAt = await insertLogin(trx, { ...login, ...lifetime, keypair })
      return { user, expiresAt, ended: await deleteExcessLogins(trx, user.id, login.id) }
    })
    await ends.tellEnd(ended).catch((error: unknown) => {
      log.error({ err: error }, 'not everything was told of the end of sign-ins that made room for another one')
    })
    return { credential, me: { user: await toUser(db, user), expiresAt: expiresAt.toISOString() } }
  }

  /** Requires the code of an account with a second factor. @param refuse gets the reason before a result that refuses the sign-in */
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
    ...ends,

    async signIn({ email, password, newPassword, totp, address, ...options }) {
      const user = await findUserByEmail(db, email)
      let refusal = wrongCredentials()
      const good = await withBackOff(store, { email, address }, async () => {
        if (!(await passwords.verify(user?.password_hash, password, strangerAt(address, email))) || !user?.active)
          return false
        // From here on, replies go only to a caller who knows the password.
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
      const password_hash = replacing ? await passwords.hash(newPassword, personAsking(user.id)) : user.password_hash
      let replaced: DoubtEnd | undefined
      const signedIn = await start({ ...options, address }, async trx => {
        replaced = replacing ? await replaceDuePassword(trx, user, password_hash, notifier) : undefined
        const held = replaced?.user ?? (await countingOf(trx, user.id))
        // The check took a while, so the account may have changed.
        if (!held?.active || held.password_hash !== password_hash) throw wrongCredentials()
        if (!(await holdDomain(trx, held.domain))?.active) {
          throw new AppError('domain_inactive', because('domain_deactivated', { domain: held.domain }))
        }
        const due = duePasswordRefusal(held, { password })
        if (due) throw due
        requireSameFactor(user, held)
        return held
      })
      if (replaced) await ends.settle(user.id, replaced)
      return signedIn
    },

    async signInWithTicket({ ticket, kind, label = 'sign-in link', address }) {
      const hash = hashToken(ticket)
      return start({ kind, label, address }, async trx => {
        // Lock the account before the ticket: every change of the account locks in this order.
        const userId = await findTicketUser(trx, hash)
        const held = userId && (await countingOf(trx, userId))
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
      const { user, keypair } = found.signer
      await rates?.take(accessKey, keypair.rate_limit)
      return start({ ...options, address, keypair: accessKey }, async trx => {
        const held = await countingOf(trx, user.id)
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
  }
}

interface StartOptions {
  readonly kind: 'browser' | 'token'
  readonly label?: string | undefined
  readonly address: string
  /** Access key with which the sign-in is made. */
  readonly keypair?: string | null
}

/**
 * Refuses a sign-in without a code if the second factor was switched on after the account was read.
 *
 * @param held the account read again, locked in the transaction that creates the sign-in
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
