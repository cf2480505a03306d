import { AccessKey, AppError, because } from '#manager/contract'
import { credentialOf } from '../store/identity/credential.ts'
import { listOpen } from '../store/sessions/published-apps.ts'
import { listLiveLogins } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'
import { listUsableKeypairs } from '../store/identity/signing.ts'
import { holdUser, listActiveRoles } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'

/**
 * Finds callers that have become inactive or changed their role or domain since they were authorized. For work that continues after its
 * request was authorized (event streams, exports). The ends of sign-ins and keypairs are announced elsewhere.
 */
export async function findChangedCallers<C extends Pick<Caller, 'userId' | 'role' | 'domain' | 'scopes'>>(
  db: Db,
  callers: readonly C[],
): Promise<C[]> {
  const active = await listActiveRoles(db, [...new Set(callers.map(({ userId }) => userId))])
  return callers.filter(({ userId, role, domain, scopes }) => {
    const known = active.get(userId)
    // An access token has the rights of a user, and ends when the role changes.
    return !known || (scopes === null && known.role !== role) || known.domain !== domain
  })
}

/** Whether a sign-in, keypair or published app is valid now, with its account. @param credential as returned by `credentialOf` */
export async function isCredentialValid(db: Db, credential: string): Promise<boolean> {
  const isKeypair = AccessKey.safeParse(credential).success
  const holding = await (isKeypair ? listUsableKeypairs(db, [credential]) : listLiveLogins(db, [credential]))
  return holding.has(credential) || (!isKeypair && (await listOpen(db, [credential])).has(credential))
}

/**
 * Refuses a caller whose sign-in has ended since the request was authenticated. For transactions that create a way into an account, or give
 * somebody a role: a request may wait long in the queue for hashing a password. Call it after locking the account: ending a doubt about the
 * password also ends sign-ins and keypairs in the same transaction, so a request that waited for that lock cannot give an intruder a way
 * back.
 *
 * @throws AppError `not_signed_in`
 */
export async function requireStillSignedIn(trx: Db, caller: Pick<Caller, 'loginId' | 'keypair'>): Promise<void> {
  if (await isCredentialValid(trx, credentialOf(caller))) return
  throw new AppError('not_signed_in', because('sign_in_ended'))
}

/**
 * Like `requireStillSignedIn`, for lasting things that are not a way into an account: shares, links, templates, sessions. When a doubt
 * ends, the person gets a list of things created until then, so an intruder must not create anything later. Holds the account until the
 * transaction ends: call it before other rows are locked.
 *
 * @throws AppError `not_signed_in`
 */
export async function holdSignedIn(trx: Db, caller: Pick<Caller, 'userId' | 'loginId' | 'keypair'>): Promise<void> {
  await holdUser(trx, caller.userId)
  await requireStillSignedIn(trx, caller)
}

/**
 * Refuses a caller who may not continue an administrator's request: signed out, inactive, or with a changed role or domain. @throws
 * AppError `not_signed_in`, `forbidden`
 */
export async function requireStillAuthorized(db: Db, caller: Caller): Promise<void> {
  await requireStillSignedIn(db, caller)
  if ((await findChangedCallers(db, [caller])).length > 0) throw new AppError('forbidden', because('export_lost'))
}
