import {
  AppError,
  because,
  type RecoveryCodes,
  type TotpEnrolment,
  type TotpStatus,
  type UserId,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Settings } from '../settings/settings.ts'
import { type Store } from '../store/open-store.ts'
import { totpContext } from '../secrets/sealed.ts'
import {
  clearSecret,
  confirmSecret,
  countRecoveryCodes,
  putSecret,
  replaceRecoveryCodes,
  takeRecoveryCode,
  takeStep,
} from '../store/identity/second-factors.ts'
import { findUser, lockUser, type UserRow } from '../store/identity/users.ts'
import { requireAnother, requireOwnPassword } from './acting-for.ts'
import { type Caller } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { endAccess } from './end-access.ts'
import { type OwnProof, proveOwn, type SecondFactorCheck } from './own-proof.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { type Passwords } from './passwords.ts'
import { type AccountNotifier } from './account-notifier.ts'
import {
  hashRecoveryCode,
  newRecoveryCode,
  newTotpSecret,
  parseSecondFactor,
  stepOfCode,
  totpUri,
} from './totp-codes.ts'

const RECOVERY_CODES = 10

/**
 * The second factor (TOTP, RFC 6238) of the caller's account.
 *
 * Threat model: somebody who knows the password still cannot sign in; somebody with a signed-in browser cannot switch the factor on or off
 * without the password. The secret is stored sealed, shown once, and takes effect only after a code was confirmed, so that nobody locks
 * themselves out. Wrong codes count as failed sign-ins. Sign-in links of `berth up` need no code: anybody who can make them owns the
 * machine. Somebody who may know another person's password cannot lock that person out with a second factor: if mail reaches the person,
 * the person must first set a password of their own.
 */
export interface SecondFactor extends SecondFactorCheck {
  status(caller: Caller): Promise<TotpStatus>
  /** @throws AppError `login_failed` (password), `totp_on`, `forbidden` (somebody else may know the password, and mail brings a link) */
  enrol(caller: Caller, request: { password: string }): Promise<TotpEnrolment>
  /** Ends all other sign-ins of the account. @throws AppError `totp_not_on` (enrol first), `totp_on`, `totp_invalid`, `forbidden` (as `enrol`) */
  confirm(caller: Caller, request: { code: string }): Promise<RecoveryCodes>
  /** Creates new recovery codes. @throws AppError `totp_not_on`, `login_failed`, `totp_invalid` */
  renewRecoveryCodes(caller: Caller, request: Proof): Promise<RecoveryCodes>
  /** @throws AppError `totp_not_on`, `login_failed`, `totp_invalid` */
  disable(caller: Caller, request: Proof): Promise<void>
  /** For a user who lost the app and the recovery codes. @throws AppError `user_not_found`, `totp_not_on`, `forbidden` (oneself) */
  reset(caller: Caller, userId: UserId): Promise<void>
}

interface Proof {
  readonly password: string
  readonly code: string
}

export interface SecondFactorDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly passwords: Passwords
  readonly settings: Pick<Settings, 'read'>
  readonly notifier: AccountNotifier
  readonly events: EventPublisher
  /** Called after a change: all cached data of the account is outdated. */
  readonly onChanged: (userId: UserId) => void
  /** Announces the end of sign-ins that the transaction has deleted. */
  readonly tellEnd: (loginIds: readonly string[]) => Promise<void>
  readonly now?: () => number
}

export function createSecondFactor(deps: SecondFactorDeps): SecondFactor {
  const { store, box, passwords, settings, notifier, events, onChanged, tellEnd, now = store.now } = deps
  const { db } = store

  function stepFor(user: UserRow, code: string): number | undefined {
    if (user.totp_sealed === null) return undefined
    return stepOfCode(box.open(user.totp_sealed, totpContext(user.id)), code, now())
  }

  async function check(user: UserRow, text: string): Promise<boolean> {
    if (user.totp_confirmed_at === null) return false
    const given = parseSecondFactor(text)
    if ('recoveryCode' in given) return takeRecoveryCode(db, user.id, hashRecoveryCode(given.recoveryCode))
    const step = stepFor(user, given.code)
    return step !== undefined && takeStep(db, user.id, step)
  }

  async function own(caller: Caller): Promise<UserRow> {
    return mustFind(await findUser(db, caller.userId))
  }

  const proveOneself = (user: UserRow, proof: OwnProof) =>
    proveOwn({ store, passwords, secondFactor: { check } }, user, proof)

  async function prove(caller: Caller, { password, code }: Proof): Promise<UserRow> {
    const user = await own(caller)
    if (user.totp_confirmed_at === null) throw new AppError('totp_not_on', because('second_factor_off'))
    await proveOneself(user, { password, totp: code })
    return user
  }

  function announce({ id, version }: UserRow): void {
    onChanged(id)
    events.publish({ topic: 'user', id, version: version + 1 }, { userId: id })
  }

  return {
    check,

    async status(caller) {
      const enabled = (await own(caller)).totp_confirmed_at !== null
      return { enabled, recoveryCodesLeft: enabled ? await countRecoveryCodes(db, caller.userId) : 0 }
    },

    async enrol(caller, { password }) {
      const user = await own(caller)
      if (user.totp_confirmed_at !== null) throw alreadyOn()
      await proveOneself(user, { password })
      requireOwnPassword(user, await settings.read())
      const secret = newTotpSecret()
      if (!(await putSecret(db, user.id, box.seal(secret, totpContext(user.id))))) throw alreadyOn()
      return { secret, uri: totpUri(secret, user.email) }
    },

    async confirm(caller, { code }) {
      const user = await own(caller)
      const { totp_sealed } = user
      if (user.totp_confirmed_at !== null) throw alreadyOn()
      if (totp_sealed === null) throw new AppError('totp_not_on', because('second_factor_set_up'))
      const given = parseSecondFactor(code)
      let step: number | undefined
      await withBackOff(store, { userId: user.id }, () => {
        step = 'code' in given ? stepFor(user, given.code) : undefined
        return Promise.resolve(step !== undefined)
      })
      if (step === undefined) throw new AppError('totp_invalid', because('code_from_app'))
      const [confirmedStep, codes] = [step, newCodes()]
      const system = await settings.read()
      const ended = await store.transaction(async trx => {
        const held = mustFind(await lockUser(trx, user.id))
        await requireStillSignedIn(trx, caller)
        requireOwnPassword(held, system)
        if (!(await confirmSecret(trx, user.id, totp_sealed, confirmedStep))) throw alreadyOn()
        await replaceRecoveryCodes(trx, user.id, codes.map(hashRecoveryCode))
        // The other sign-ins were made without a code.
        return endAccess(trx, held, caller.loginId ?? undefined)
      })
      await tellEnd(ended)
      announce(user)
      return { codes }
    },

    async renewRecoveryCodes(caller, proof) {
      const user = await prove(caller, proof)
      const codes = newCodes()
      await store.transaction(trx => replaceRecoveryCodes(trx, user.id, codes.map(hashRecoveryCode)))
      return { codes }
    },

    async disable(caller, proof) {
      const user = await prove(caller, proof)
      await store.transaction(trx => clearSecret(trx, user.id))
      announce(user)
    },

    async reset(caller, userId) {
      requireAnother(caller, userId, 'reset_second_factor')
      const user = mustFind(await findUser(db, userId))
      const news = [{ userId, by: caller, kind: 'second_factor_off' }] as const
      const had = await store.transaction(async trx => {
        if (!(await clearSecret(trx, userId))) return false
        await notifier.write(trx, news)
        return true
      })
      if (!had) throw new AppError('totp_not_on', because('no_second_factor_of', { email: user.email }))
      announce(user)
      await notifier.announce(news)
    },
  }
}

const newCodes = () => Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
const alreadyOn = () => new AppError('totp_on', because('second_factor_on'))

function mustFind(user: UserRow | undefined): UserRow {
  if (!user) throw new AppError('user_not_found')
  return user
}
