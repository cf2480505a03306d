import { hash, verify } from '@node-rs/argon2'
import { AppError, because, isStrongPassword } from '#manager/contract'

/** OWASP's figures for Argon2id (the default of the package): 19 MiB, two passes, one lane; 20 to 40 ms of a thread. */
const ARGON = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const
/** Hashes at a time: the thread pool also serves DNS and files, and each hash takes 19 MiB. */
const AT_ONCE = 2
const LONGEST_QUEUE = 64

/** Hashes and verifies passwords, a few at a time. */
export interface Passwords {
  /** @throws AppError `weak_password`, `rate_limited` */
  hash(password: string): Promise<string>
  /**
   * @param stored undefined for an account that does not exist: takes as long, and is false
   * @throws AppError `rate_limited`
   */
  verify(stored: string | undefined, password: string): Promise<boolean>
}

export function createPasswords(): Passwords {
  const limit = createLimit()
  const nobody = limit(() => hash('no account has this password', ARGON))
  nobody.catch(() => undefined) // awaited where it is used
  return {
    async hash(password) {
      checkPassword(password)
      return limit(() => hash(password, ARGON))
    },
    async verify(stored, password) {
      const against = stored ?? (await nobody)
      const good = await limit(() => verify(against, password))
      return good && stored !== undefined
    },
  }
}

/** @throws AppError `weak_password` */
export function checkPassword(password: string): void {
  if (!isStrongPassword(password)) throw new AppError('weak_password', because('password_rule'))
}

function createLimit() {
  let running = 0
  const waiting: (() => void)[] = []
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= AT_ONCE) {
      if (waiting.length >= LONGEST_QUEUE) {
        throw new AppError('rate_limited', because('many_sign_ins'))
      }
      // A finished job hands its place on, so `running` stays.
      await new Promise<void>(resolve => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
