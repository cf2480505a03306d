import { networksOf, WIDER_LIMITS } from '#base/network-of'
import { AppError, because, type Because, type UserId } from '#manager/contract'
import { type BackOff, countAttempt, forgetFailures, takeBackAttempt } from '../store/identity/login-failures.ts'
import { type Store } from '../store/open-store.ts'

const ACCOUNT_FROM = 5
/** For a password that many people know. */
const SHARED_FROM = 100
/** Higher than for an account: a whole office may share one address. */
const ADDRESS_FROM = 20

class MustWait extends Error {
  readonly seconds: number

  constructor(seconds: number) {
    super('must wait')
    this.seconds = seconds
  }
}

/**
 * Slows down guessing, per account and per address other than loopback: from the fifth failure of an account in a row (the
 * 20th of an address) the wait doubles up to a quarter of an hour. The counts are in the database: a restart or another
 * manager forgets nothing. The price: a stranger who knows an e-mail address can make its owner wait; a user who is signed
 * in stays signed in.
 *
 * @param attempt true if the credentials were good; `undecided` if they were good so far (a code is still missing): that
 *   counts as no failure, but does not reset the count either, so that it buys no guesses at the code
 * @throws AppError `login_throttled` with `retryAfterSeconds`; then `attempt` was not called
 */
export async function withBackOff<T extends boolean | 'undecided'>(
  store: Store,
  who: Guesser,
  attempt: () => Promise<T>,
): Promise<T> {
  const account: BackOff = { key: accountKey(who), from: ACCOUNT_FROM }
  const addresses = isSignedIn(who) ? [] : addressCounts('address', who.address, ADDRESS_FROM)
  await countAll(store, 'login_throttled', [account, ...addresses])
  const good = await attempt()
  if (good === false) return good
  if (good === true) await forgetFailures(store.db, account.key)
  else await takeBackAttempt(store.db, account)
  for (const address of addresses) await takeBackAttempt(store.db, address)
  return good
}

/** A signed-in user who proves the password again. Counted separately, so that strangers' failures do not block the user. */
export interface SignedIn {
  readonly userId: UserId
}
type Guesser = { readonly email: string; readonly address: string } | SignedIn

const isSignedIn = (who: Guesser): who is SignedIn => 'userId' in who
const accountKey = (who: Guesser) =>
  isSignedIn(who) ? `signed-in:${who.userId}` : `account:${who.email.toLowerCase()}`

/**
 * The counts of an address, one for each network that it belongs to. Loopback has none: all users of this computer share it, and
 * any of them could lock the others out. Guesses from there count for the accounts.
 */
export function addressCounts(kind: string, address: string, from: number): readonly BackOff[] {
  if (isLoopbackAddress(address)) return []
  return networksOf(address).map((network, at) => ({ key: `${kind}:${network}`, from: from * (WIDER_LIMITS[at] ?? 1) }))
}

const isLoopbackAddress = (address: string) => /^(::ffff:)?127\.|^::1$/.test(address)

/**
 * Limits requests of strangers that carry no credentials to check (signing up, asking for a mail): from the given number on
 * the wait doubles, as in `withBackOff`; after an hour without a request the count starts again. A count goes by the
 * network address, or by the account that the request names, whether there is such an account or not.
 *
 * @throws AppError `rate_limited` with `retryAfterSeconds`
 */
export function limitRequests(store: Store, counts: readonly BackOff[]): Promise<void> {
  return countAll(store, 'rate_limited', counts)
}

/** Counts one request, as `limitRequests` does, for work that is skipped instead of refused when the limit is reached. */
export async function isWithinLimit(store: Store, count: BackOff): Promise<boolean> {
  return (await store.transaction(trx => countAttempt(trx, count))) === undefined
}

/**
 * Slows down guesses at a password that many people know, such as that of a published app: per address from the 5th failure, and
 * in total from the 100th, so that a stranger hardly makes those wait who know the password.
 *
 * @returns what `attempt` says
 * @throws AppError `rate_limited` with `retryAfterSeconds`; then `attempt` was not called
 */
export async function withPasswordLimit(
  store: Store,
  guess: { readonly of: string; readonly address: string },
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  const total: BackOff = { key: guess.of, from: SHARED_FROM }
  const counts = [total, ...addressCounts(guess.of, guess.address, ACCOUNT_FROM)]
  await countAll(store, 'rate_limited', counts)
  const isGood = await attempt()
  if (isGood) for (const count of counts) await takeBackAttempt(store.db, count)
  return isGood
}

async function countAll(
  store: Store,
  code: 'login_throttled' | 'rate_limited',
  counts: readonly BackOff[],
): Promise<void> {
  try {
    await store.transaction(async trx => {
      for (const backOff of counts) {
        const seconds = await countAttempt(trx, backOff)
        if (seconds !== undefined) throw new MustWait(seconds) // rolls back the counts
      }
    })
  } catch (error) {
    if (!(error instanceof MustWait)) throw error
    throw new AppError(code, { ...waitOf(error.seconds), retryAfterSeconds: error.seconds })
  }
}

/** Resets the count of an account whose owner has proven to own it. */
export function forgetAccountFailures(store: Store, email: string): Promise<void> {
  return forgetFailures(store.db, `account:${email.toLowerCase()}`)
}

function waitOf(seconds: number): Because {
  if (seconds === 1) return because('try_again_in_second')
  if (seconds < 120) return because('try_again_in_seconds', { seconds })
  return because('try_again_in_minutes', { minutes: Math.ceil(seconds / 60) })
}
