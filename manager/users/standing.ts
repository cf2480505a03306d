import { AccessKey } from '#manager/contract'
import { listLiveLogins } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'
import { listUsableKeypairs } from '../store/identity/signing.ts'
import { listStandings } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'

/**
 * Which of these callers are no longer who they were when they were let in: inactive, or of another role or domain. For
 * what goes on after its request was authorized (event streams, exports). Sign-ins and keypairs tell their own ends.
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

/** @param credential as `credentialOf` names it: does this sign-in or keypair hold now, with its account? */
export async function credentialHolds(db: Db, credential: string): Promise<boolean> {
  const isKeypair = AccessKey.safeParse(credential).success
  const holding = await (isKeypair ? listUsableKeypairs(db, [credential]) : listLiveLogins(db, [credential]))
  return holding.has(credential)
}
