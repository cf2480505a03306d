import { every } from '#base/every'
import { isAppError } from '#manager/contract'
import { credentialOf } from '../store/identity/credential.ts'
import { type Caller } from './authorize.ts'
import { type Logins } from './logins.ts'
import { type Signers } from './signers.ts'

/** Longest time that a request may continue after its right has ended, if no message announces the end. */
const RECHECK_MS = 5_000

/**
 * Watches long requests: bodies that arrive slowly, answers that are read slowly, copies of files. Each is checked every few seconds, and
 * immediately when its sign-in or keypair ends.
 *
 * Threat model: somebody who is about to lose a right starts requests, and reads or sends them very slowly. A check that fails because the
 * database or the storage does not answer ends nothing: the next check follows soon.
 */
export interface LongRequests extends Disposable {
  /**
   * Watches one request until it is disposed.
   *
   * @param check throws an AppError if the caller may not do this any more
   * @param cut called once with that error
   */
  watch(
    caller: Pick<Caller, 'loginId' | 'keypair'>,
    check: () => Promise<unknown>,
    cut: (refusal: Error) => void,
  ): Disposable
}

export interface LongRequestsDeps {
  readonly logins: Pick<Logins, 'onEnd'>
  readonly signers: Pick<Signers, 'onEnd' | 'watch'>
  readonly recheckMs?: number | undefined
}

export function createLongRequests({ logins, signers, recheckMs = RECHECK_MS }: LongRequestsDeps): LongRequests {
  /** Functions that start a check of each request, with the credential of the request. */
  const running = new Map<() => void, string>()
  const recheck = (credential: string) => {
    for (const [now, own] of running) if (own === credential) now()
  }
  const stops = [logins.onEnd(recheck), signers.onEnd(recheck)]

  return {
    watch(caller, check, cut) {
      const credential = credentialOf(caller)
      signers.watch(credential)
      const stop = () => {
        checking[Symbol.dispose]()
        running.delete(now)
      }
      const checking = every(recheckMs, check, error => {
        if (!running.has(now) || !isRefusal(error)) return
        stop()
        cut(error)
      })
      // A check in flight may have read the state before the end: make another one after it.
      const now = () => void checking.now().then(() => (running.has(now) ? checking.now() : undefined))
      running.set(now, credential)
      return { [Symbol.dispose]: stop }
    },
    [Symbol.dispose]: () => stops.forEach(stop => stop()),
  }
}

/** A database or a storage that does not answer now takes no right away. */
function isRefusal(error: unknown): error is Error {
  return isAppError(error) && error.code !== 'unavailable' && error.code !== 'storage_away'
}
