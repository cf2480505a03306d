import { AccessKey, AppError, because } from '#manager/contract'
import { credentialOf } from '../store/identity/credential.ts'
import { listOpen } from '../store/sessions/published-apps.ts'
import { listLiveLogins } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'
import { listUsableKeypairs } from '../store/identity/signing.ts'
import { holdUser, listActiveRoles } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'

/**
 * Finds the callers that have changed since they were authorized: inactive now, or of another role or domain. For work that
 * continues after its request was authorized (event streams, exports). The ends of sign-ins and keypairs are announced
 * elsewhere.
 */
export async function findChangedCallers<C extends Pick<Caller, 'userId' | 'role' | 'domain'>>(
  db: Db,
  callers: readonly C[],
): Promise<C[]> {
  const active = await listActiveRoles(db, [...new Set(callers.map(({ userId }) => userId))])
  return callers.filter(({ userId, role, domain }) => {
    const known = active.get(userId)
    return known?.role !== role || known.domain !== domain
  })
}

/** Whether a sign-in, keypair or published app is valid now, with its account. @param credential as `credentialOf` names it */
export async function isCredentialValid(db: Db, credential: string): Promise<boolean> {
  const isKeypair = AccessKey.safeParse(credential).success
  const holding = await (isKeypair ? listUsableKeypairs(db, [credential]) : listLiveLogins(db, [credential]))
  return holding.has(credential) || (!isKeypair && (await listOpen(db, [credential])).has(credential))
}

/**
 * Refuses a caller whose sign-in has ended since the request was authenticated. For the transaction that makes a way into an account,
 * or gives somebody a role: a request may wait long for its turn to hash a password. Call it once the account is locked: whatever ends
 * a doubt about the password ends sign-ins and keypairs in its own transaction, so that a request which waited for that lock gives
 * nobody who was inside a way back.
 *
 * @throws AppError `not_signed_in`
 */
export async function requireStillSignedIn(trx: Db, caller: Pick<Caller, 'loginId' | 'keypair'>): Promise<void> {
  if (await isCredentialValid(trx, credentialOf(caller))) return
  throw new AppError('not_signed_in', because('sign_in_ended'))
}

/**
 * As `requireStillSignedIn`, for what stays in an account or goes to others without being a way in: shares, links, templates, sessions. The
 * end of a doubt names what was made until then, so nothing may be made after it by whoever was inside. Holds the account until the
 * transaction ends: call it before other rows are locked.
 *
 * @throws AppError `not_signed_in`
 */
export async function holdSignedIn(trx: Db, caller: Pick<Caller, 'userId' | 'loginId' | 'keypair'>): Promise<void> {
  await holdUser(trx, caller.userId)
  await requireStillSignedIn(trx, caller)
}

/**
 * Refuses a caller who may not go on with what an administrator's request began: signed out, inactive, or of another role or domain.
 *
 * @throws AppError `not_signed_in`, `forbidden`
 */
export async function requireStillAuthorized(db: Db, caller: Caller): Promise<void> {
  await requireStillSignedIn(db, caller)
  if ((await findChangedCallers(db, [caller])).length > 0) throw new AppError('forbidden', because('export_lost'))
}
