import { AppError, because } from '#manager/contract'
import { isLoginYounger } from '../store/identity/logins.ts'
import { findUser, type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { type Caller, requirePerson } from './authorize.ts'
import { withBackOff } from './back-off.ts'
import { type Passwords, personAsking } from './passwords.ts'

/** Checks the second factor of a sign-in. */
export interface SecondFactorCheck {
  /** Returns true once per code, so that a code seen over a shoulder or in a log is useless. */
  check(user: UserRow, text: string): Promise<boolean>
}

/** Password, and the code if the account has a second factor. */
export interface OwnProof {
  readonly password: string
  readonly totp?: string | undefined
}

export interface OwnProofDeps {
  readonly store: Store
  readonly secondFactor: SecondFactorCheck
  readonly passwords: Pick<Passwords, 'verify'>
}

/**
 * Checks the identity of a signed-in person again, before a way to sign in changes. The password is checked first: a caller without it
 * learns nothing about the code.
 *
 * @throws AppError `login_failed`, `totp_required`, `totp_invalid`, `login_throttled`
 */
export async function proveOwn(deps: OwnProofDeps, user: UserRow, { password, totp }: OwnProof): Promise<void> {
  let fault = new AppError('login_failed', because('password_wrong'))
  const good = await withBackOff(deps.store, { userId: user.id }, async () => {
    if (!(await deps.passwords.verify(user.password_hash, password, personAsking(user.id)))) return false
    if (user.totp_confirmed_at === null) return true
    fault = new AppError('totp_required', because('code_from_app_or_recovery'))
    if (totp === undefined) return 'undecided'
    fault = new AppError('totp_invalid', because('code_from_app'))
    return deps.secondFactor.check(user, totp)
  })
  if (good !== true) throw fault
}

/** Time for which a sign-in counts as proof: somebody who has just signed in need not prove it again. */
const FRESH_MINUTES = 10

/**
 * Checks the identity of a person before they create something that can sign in later: by password (and code) in the request, or by a
 * sign-in in the last minutes. Accounts that sign in only at a provider can use only the second way. Programs that sign with a keypair, and
 * sign-ins made with one, are refused: otherwise a keypair could create its successor without the second factor.
 *
 * @throws AppError `forbidden` (with a keypair), `proof_required`, and as `proveOwn`
 */
export async function provePerson(
  deps: OwnProofDeps,
  caller: Pick<Caller, 'userId' | 'loginId' | 'keypair'>,
  { password, totp }: { readonly password?: string | undefined; readonly totp?: string | undefined },
): Promise<void> {
  requirePerson(caller, 'only_person_accepts')
  const { db } = deps.store
  const user = await findUser(db, caller.userId)
  if (!user) throw new AppError('user_not_found')
  if (password !== undefined) return proveOwn(deps, user, { password, totp })
  if (caller.loginId !== null && (await isLoginYounger(db, caller.loginId, FRESH_MINUTES))) return
  throw new AppError('proof_required', because(user.password_set ? 'prove_with_password' : 'prove_by_sign_in'))
}
