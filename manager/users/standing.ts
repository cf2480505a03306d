import { AccessKey } from '#manager/contract'
import { listOpen } from '../store/sessions/published-apps.ts'
import { listLiveLogins } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'
import { listUsableKeypairs } from '../store/identity/signing.ts'
import { listStandings } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'

/**
 * Finds the callers that have changed since they were authorized: inactive now, or of another role or domain. For work that
 * continues after its request was authorized (event streams, exports). The ends of sign-ins and keypairs are announced
 * elsewhere.
 */
export async function withoutStanding<C extends Pick<Caller, 'userId' | 'role' | 'domain'>>(
  db: Db,
  callers: readonly C[],
): Promise<C[]> {
  const standings = await listStandings(db, [...new Set(callers.map(({ userId }) => userId))])
  return callers.filter(({ userId, role, domain }) => {
    const standing = standings.get(userId)
    return standing?.role !== role || standing.domain !== domain
  })
}

/** Whether a sign-in, keypair or published app is valid now, with its account. @param credential as `credentialOf` names it */
export async function credentialHolds(db: Db, credential: string): Promise<boolean> {
  const isKeypair = AccessKey.safeParse(credential).success
  const holding = await (isKeypair ? listUsableKeypairs(db, [credential]) : listLiveLogins(db, [credential]))
  return holding.has(credential) || (!isKeypair && (await listOpen(db, [credential])).has(credential))
}
