import { AppError } from '#manager/contract'
import { type BackOff, countAttempt, forgetFailures, takeBackAttempt } from '../store/login-failures.ts'
import { type Store } from '../store/open-store.ts'

const ACCOUNT_FROM = 5
/** Higher: behind one address there may be an office. */
const ADDRESS_FROM = 20

class MustWait extends Error {
  readonly seconds: number

  constructor(seconds: number) {
    super('must wait')
    this.seconds = seconds
  }
}

/**
 * Slows down guessing, per account and per address: from the fifth failure of an account in a row (the 20th of an
 * address) the wait doubles up to a quarter of an hour. Kept in the database: a restart or another manager forgets
 * nothing. The price: who knows an e-mail address can make its owner wait; who is signed in stays so.
 *
 * @param attempt true if the credentials were good
 * @throws AppError `login_throttled` with `retryAfterSeconds`; then `attempt` was not made
 */
export async function withBackOff(
  store: Store,
  who: { email: string; address: string },
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  const account: BackOff = { key: `account:${who.email.toLowerCase()}`, from: ACCOUNT_FROM }
  const address: BackOff = { key: `address:${who.address}`, from: ADDRESS_FROM }
  try {
    await store.transaction(async trx => {
      for (const backOff of [account, address]) {
        const seconds = await countAttempt(trx, backOff)
        if (seconds !== undefined) throw new MustWait(seconds) // rolls back what was counted
      }
    })
  } catch (error) {
    if (!(error instanceof MustWait)) throw error
    throw new AppError('login_throttled', {
      why: `Try again in ${waitText(error.seconds)}.`,
      retryAfterSeconds: error.seconds,
    })
  }
  const good = await attempt()
  if (good) {
    await forgetFailures(store.db, account.key)
    await takeBackAttempt(store.db, address)
  }
  return good
}

function waitText(seconds: number): string {
  if (seconds === 1) return 'a second'
  return seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`
}
