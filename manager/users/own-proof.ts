import { AppError, because } from '#manager/contract'
import { type UserRow } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { withBackOff } from './back-off.ts'
import { type Passwords } from './passwords.ts'

/** Checks the second factor of a sign-in. */
export interface SecondFactorCheck {
  /** True once per code, so that a code seen over a shoulder or in a log opens nothing. */
  check(user: UserRow, text: string): Promise<boolean>
}

/** Password, and the code where the account has a second factor. */
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
 * Lets a signed-in person prove again who they are, before a way to sign in changes. Checks the password first: a caller without it
 * learns nothing about the code.
 *
 * @throws AppError `login_failed`, `totp_required`, `totp_invalid`, `login_throttled`
 */
export async function proveOwn(deps: OwnProofDeps, user: UserRow, { password, totp }: OwnProof): Promise<void> {
  let fault = new AppError('login_failed', because('password_wrong'))
  const good = await withBackOff(deps.store, { userId: user.id }, async () => {
    if (!(await deps.passwords.verify(user.password_hash, password))) return false
    if (user.totp_confirmed_at === null) return true
    fault = new AppError('totp_required', because('code_from_app_or_recovery'))
    if (totp === undefined) return 'undecided'
    fault = new AppError('totp_invalid', because('code_from_app'))
    return deps.secondFactor.check(user, totp)
  })
  if (good !== true) throw fault
}
