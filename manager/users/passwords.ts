import { hash, verify } from '@node-rs/argon2'
import { networksOf } from '#base/network-of'
import { AppError, because, isStrongPassword, type UserId } from '#manager/contract'
import { type Asker, createPasswordQueue } from './password-queue.ts'

/** OWASP's parameters for Argon2id (the default of the package): 19 MiB, two passes, one lane; 20 to 40 ms of a thread. */
const ARGON = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** A person who has proved their identity: one person alone cannot fill the queue for the others. */
export const personAsking = (userId: UserId): Asker => ['people', userId]

/** A client that has not signed in. @param account named in the request, whether it exists or not */
export function strangerAt(address: string, account: string): Asker {
  return ['strangers', ...networksOf(address).toReversed(), account]
}

/**
 * Hashes and verifies passwords, a few at a time.
 *
 * Threat model: anybody may send any number of passwords for made-up accounts. Attempts at accounts that do not exist share one hash, so
 * they do not delay anybody; wrong passwords for an existing account are limited (`back-off.ts`). An attempt takes the same time whether
 * the account exists or not: both kinds wait in the queue in the same way.
 */
export interface Passwords {
  /** @throws AppError `weak_password`, `rate_limited` */
  hash(password: string, by: Asker): Promise<string>
  /**
   * @param stored undefined for an account that does not exist: takes the same time, and returns false
   * @throws AppError `rate_limited`
   */
  verify(stored: string | undefined, password: string, by: Asker): Promise<boolean>
}

export function createPasswords(): Passwords {
  const nobody = hash('no account has this password', ARGON)
  nobody.catch(() => undefined) // awaited where it is used
  const queue = createPasswordQueue(async () => verify(await nobody, 'nor this one'))
  return {
    async hash(password, by) {
      checkPassword(password)
      return queue.run(by, () => hash(password, ARGON))
    },
    async verify(stored, password, by) {
      if (stored !== undefined) return queue.run(by, () => verify(stored, password))
      await queue.pretend(by)
      return false
    },
  }
}

/** @throws AppError `weak_password` */
export function checkPassword(password: string): void {
  if (!isStrongPassword(password)) throw new AppError('weak_password', because('password_rule'))
}
