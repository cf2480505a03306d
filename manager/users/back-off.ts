import { networksOf, WIDER_LIMITS } from '#base/network-of'
import { AppError, because, type Because, isAppError, type UserId } from '#manager/contract'
import {
  type BackOff,
  countAttempt,
  forgetFailures,
  forgetFailuresOf,
  takeBackAttempt,
} from '../store/identity/login-failures.ts'
import { type Store } from '../store/open-store.ts'

const ACCOUNT_FROM = 5
/** For an account, over all networks within an hour. */
const EVERYWHERE_FROM = 120
/** For a password that many people know. */
const SHARED_FROM = 100
/** Higher than for an account, because a whole office may share one address. */
const ADDRESS_FROM = 20

class MustWait extends Error {
  readonly seconds: number

  constructor(seconds: number) {
    super('must wait')
    this.seconds = seconds
  }
}

/**
 * Slows down guessing. Failures are counted
 * - per account and network of the guesser: from the fifth in a row the wait doubles, up to a quarter of an hour;
 * - per account in each hour of the clock, over all networks, from the 120th;
 * - per network other than loopback, over all accounts, from the 20th.
 *
 * So a stranger who knows an e-mail address only delays sign-ins from the same network: one network, even a /48, fails fewer than 100 times
 * an hour, so it cannot reach the limit over all networks alone. Guessing stays hopeless: one IPv4 address makes about 17 guesses an hour,
 * and any number of networks together about 133, which is 1.2 million a year. Loopback is one network shared by all users of a computer, so
 * there one of them can delay the others, who can sign in from elsewhere or with a mailed link. The counts are in the database, so they
 * survive a restart and apply at all managers; a user who is signed in stays signed in.
 *
 * @param attempt true if the credentials were good; `undecided` if they were good so far (a code is still missing): this does not count as
 *   a failure, but does not reset the count either, so that it gives no further guesses at the code
 * @throws AppError `login_throttled` with `retryAfterSeconds`; then `attempt` was not called
 */
export async function withBackOff<T extends boolean | 'undecided'>(
  store: Store,
  who: Guesser,
  attempt: () => Promise<T>,
): Promise<T> {
  const { own, shared } = countsOf(who, store.now())
  const all = [...shared, ...own]
  const takeBack = async (counts: readonly BackOff[]) => {
    for (const count of counts) await takeBackAttempt(store.db, count)
  }
  await countAll(store, 'login_throttled', all)
  const good = await attempt().catch(async (error: unknown) => {
    // Another count caused the wait: no guess was made.
    if (isAppError(error) && error.code === 'login_throttled') await takeBack(all)
    throw error
  })
  if (good === false) return good
  await takeBack(shared)
  if (good === true) for (const { key } of own) await forgetFailures(store.db, key)
  else await takeBack(own)
  return good
}

/** A signed-in user who enters the password again. Counted separately, so that strangers' failures do not block the user. */
export interface SignedIn {
  readonly userId: UserId
}
/**
 * Somebody who has proved the first factor of an account and guesses at the code. A code has only six digits, so failures count per account
 * over all networks, with waits from the fifth on: a stranger without the password cannot cause them.
 */
interface CodeGuesser {
  readonly codeOf: UserId
}
interface Stranger {
  readonly email: string
  readonly address: string
}
type Guesser = Stranger | SignedIn | CodeGuesser

/** Counts of an attempt. After a success `own` counts are reset; in `shared` counts only this attempt is taken back. */
function countsOf(
  who: Guesser,
  now: number,
): { readonly own: readonly BackOff[]; readonly shared: readonly BackOff[] } {
  if ('userId' in who) return { own: [{ key: `signed-in:${who.userId}`, from: ACCOUNT_FROM }], shared: [] }
  if ('codeOf' in who) return { own: [{ key: `code:${who.codeOf}`, from: ACCOUNT_FROM }], shared: [] }
  const account = accountKey(who.email)
  const everywhere = { key: hourly(account, now), from: EVERYWHERE_FROM }
  return {
    own: networkCounts(`${account} `, who.address, ACCOUNT_FROM),
    shared: [everywhere, ...addressCounts('address', who.address, ADDRESS_FROM)],
  }
}

/** No address contains a space, so no account's key begins with another account's key and a space. */
const accountKey = (email: string) => `account:${email.toLowerCase()}`

/**
 * A count over all networks starts anew each hour: otherwise a single stranger who fails at least once an hour would reach its limit within
 * a day, and keep everybody out.
 */
const hourly = (key: string, now: number) => `${key} ${Math.floor(now / 3_600_000)}h`

/**
 * The counts of an address, one for each network that it belongs to. Loopback has none: all users of this computer share it, and any of
 * them could lock the others out. Guesses from there count only for the accounts.
 */
export function addressCounts(kind: string, address: string, from: number): readonly BackOff[] {
  return isLoopbackAddress(address) ? [] : networkCounts(`${kind}:`, address, from)
}

function networkCounts(prefix: string, address: string, from: number): readonly BackOff[] {
  if (isLoopbackAddress(address)) return [{ key: `${prefix}loopback`, from }]
  return networksOf(address).map((network, at) => ({
    key: `${prefix}${network}`,
    from: from * (WIDER_LIMITS[at] ?? 1),
  }))
}

const isLoopbackAddress = (address: string) => /^(::ffff:)?127\.|^::1$/.test(address)

/**
 * Limits requests of strangers without credentials (signing up, requesting a mail): from the given number on the wait doubles, as in
 * `withBackOff`; after an hour without a request the count starts again. Requests are counted per network address, or per account named in
 * the request, whether that account exists or not.
 *
 * @throws AppError `rate_limited` with `retryAfterSeconds`
 */
export function limitRequests(store: Store, counts: readonly BackOff[]): Promise<void> {
  return countAll(store, 'rate_limited', counts)
}

/** Counts one request like `limitRequests`, for work that is skipped instead of refused when the limit is reached. */
export async function isWithinLimit(store: Store, count: BackOff): Promise<boolean> {
  return (await store.transaction(trx => countAttempt(trx, count))) === undefined
}

/**
 * Slows down guesses at a password that many people know, such as that of a published app: per address from the 5th failure, and in total
 * from the 100th in an hour, so that a stranger hardly delays people who know the password.
 *
 * @returns the result of `attempt`
 * @throws AppError `rate_limited` with `retryAfterSeconds`; then `attempt` was not called
 */
export async function withPasswordLimit(
  store: Store,
  guess: { readonly of: string; readonly address: string },
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  const total: BackOff = { key: hourly(guess.of, store.now()), from: SHARED_FROM }
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

/** Resets the counts of an account, over all networks, after its owner has proved the ownership. */
export function forgetAccountFailures(store: Store, email: string): Promise<void> {
  return forgetFailuresOf(store.db, `${accountKey(email)} `)
}

function waitOf(seconds: number): Because {
  if (seconds === 1) return because('try_again_in_second')
  if (seconds < 120) return because('try_again_in_seconds', { seconds })
  return because('try_again_in_minutes', { minutes: Math.ceil(seconds / 60) })
}
