import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createBatches } from '#base/batches'
import { every } from '#base/every'
import { AccessKey, AppError, because, SIGNATURE_WINDOW_SECONDS } from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { findSigners, listUsableKeypairs, type Signer, takeNonce } from '../store/identity/signing.ts'
import { type Store } from '../store/open-store.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type UserRow } from '../store/identity/users.ts'
import { onBehalfOf, onBehalfOfAll } from '../store/on-behalf.ts'
import { type Caller } from './authorize.ts'
import { placeOfKeypair } from './keypairs.ts'
import { type RateLimits, type RateState } from './rate-limits.ts'

const WINDOW_MS = SIGNATURE_WINDOW_SECONDS * 1000
/** Longest time that tunnels and streams outlive the keypair that opened them if the message of another manager is lost. */
const RECHECK_MS = 15_000

/** Most keypairs in one query. */
const MOST_ASKED = 500

/** See `http/signatures/read-signature.ts`. */
export interface Claim {
  readonly accessKey: string
  readonly signature: string
  readonly date: Date
  readonly nonce: string
  readonly bodyHash: string
  expected(secretKey: string): string
}

export interface SignedCaller {
  readonly caller: Caller & { readonly keypair: string }
  readonly user: UserRow
  readonly bodyHash: string
  readonly rate: RateState
  /** Time after which the signature itself is too old. */
  readonly expiresAt: Date
}

/**
 * Authenticates signed requests.
 *
 * Threat model: anybody may send any claim. The signature is compared in constant time, and against a random key if the access key is
 * unknown, so that neither answer nor time reveals which access keys exist. Only a caller who knows the secret learns that a keypair or an
 * account is inactive, or how far the clock is off. Nothing is cached: a keypair that is deactivated or deleted is refused from the next
 * request on, at every manager. Keypairs are looked up for all requests together, one query at a time, so that made-up claims do not
 * overload the database (ADR 74).
 */
export interface Signers extends Disposable {
  /**
   * @throws AppError `signature_invalid`, `clock_skewed`, `signature_replayed`, `keypair_inactive`, `user_inactive`,
   *   `rate_limited`
   */
  authenticate(claim: Claim): Promise<SignedCaller>
  /**
   * Checks the keypair and account of an authenticated request again, for a request whose body arrived late. Nonce and rate limit are not
   * checked again: the first check has used both.
   *
   * @throws AppError `signature_invalid` (the keypair was deleted), `keypair_inactive`, `user_inactive`
   */
  authenticateAgain(accessKey: string): Promise<Pick<SignedCaller, 'caller' | 'user'>>
  /** Watches for the end of a keypair from now on, because something outlives its request. Sign-ins are ignored. */
  watch(credential: string): void
  /** Announces that a keypair was deactivated or deleted here. */
  end(accessKey: string): void
  /** Checks now whether watched keypairs have ended. */
  recheck(): Promise<void>
  /** Listens for ends of keypairs, for anything that outlives a request (tunnels, grants, event streams). @returns unsubscribe */
  onEnd(listener: (accessKey: string) => void): () => void
}

export interface SignersDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly rates: Pick<RateLimits, 'take' | 'giveBack'>
  /** Receives messages about keypairs that end here. */
  readonly peers?: Peers
  /** Time at which the database was restored: an earlier signed request may have been received before. */
  readonly restoredAt?: Date | undefined
  readonly now?: () => number
  readonly recheckMs?: number
}

export function createSigners(deps: SignersDeps): Signers {
  const { store, box, rates, restoredAt, peers = NO_PEERS, now = store.now, recheckMs = RECHECK_MS } = deps
  const { db } = store
  const findSigner = createBatches({ most: MOST_ASKED, run: keys => onBehalfOfAll(() => findSigners(db, keys)) })
  const listeners = new Set<(accessKey: string) => void>()
  const watched = new Set<string>()
  const nobody = randomBytes(30).toString('base64url')
  // If the database does not answer, nothing ends now; the next round tries again.
  const rechecking = every(recheckMs, recheck)

  const ended = peers.topic<string>('keypair_ended')
  ended.on(endHere)

  function endHere(accessKey: string): void {
    watched.delete(accessKey)
    for (const listener of listeners) listener(accessKey)
  }

  async function recheck(): Promise<void> {
    const keys = [...watched]
    const usable = await listUsableKeypairs(db, keys)
    for (const key of keys) if (!usable.has(key)) endHere(key)
  }

  /** Counts a request whose signature is right, and refuses one that was received before. */
  async function count({ accessKey, date, nonce }: Claim, limit: number): Promise<RateState> {
    const rate = await rates.take(accessKey, limit)
    // A nonce is kept until no manager's clock can accept its date any more.
    const forget = new Date(date.getTime() + 2 * WINDOW_MS)
    const taken = takeNonce(db, accessKey, nonce, forget).catch((error: unknown) => {
      // The keypair was deleted since it was read.
      throw isForeignKeyViolation(error) ? unknown({ cause: error }) : error
    })
    if (!(await taken)) {
      rates.giveBack(accessKey)
      throw new AppError('signature_replayed', because('sign_separately'))
    }
    return rate
  }

  return {
    async authenticate(claim) {
      const { accessKey, date } = claim
      const signer = await findSigner(accessKey)
      const secretKey = signer ? box.open(signer.keypair.sealed_secret, placeOfKeypair(accessKey)) : nobody
      const right = timingSafeEqual(Buffer.from(claim.expected(secretKey)), Buffer.from(claim.signature))
      if (!signer || !right) throw unknown()
      checkDate(date, now())
      if (restoredAt && date < restoredAt) {
        throw new AppError('signature_replayed', because('signed_before_restore'))
      }
      const { keypair } = signer
      const usable = usableOf(signer)
      const rate = await onBehalfOf(usable.caller.userId, () => count(claim, keypair.rate_limit))
      return {
        ...usable,
        bodyHash: claim.bodyHash,
        rate,
        expiresAt: new Date(date.getTime() + WINDOW_MS),
      }
    },

    async authenticateAgain(accessKey) {
      const signer = await findSigner(accessKey)
      if (!signer) throw unknown()
      return usableOf(signer)
    },

    watch(credential) {
      if (AccessKey.safeParse(credential).success) watched.add(credential)
    },
    end(accessKey) {
      endHere(accessKey)
      ended.tell(accessKey)
    },
    recheck,

    onEnd(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    [Symbol.dispose]() {
      rechecking[Symbol.dispose]()
    },
  }
}

const unknown = (options?: ErrorOptions) =>
  new AppError('signature_invalid', because('access_key_or_signature'), options)

/** @throws AppError `keypair_inactive`, `user_inactive` */
function usableOf({ keypair, user, domainActive }: Signer): Pick<SignedCaller, 'caller' | 'user'> {
  if (!keypair.active) {
    throw new AppError('keypair_inactive', because(keypair.waits ? 'keypair_waits' : 'keypair_deactivated'))
  }
  if (!user.active) throw new AppError('user_inactive', because('account_deactivated'))
  if (!domainActive) throw new AppError('user_inactive', because('account_domain_deactivated'))
  const { id: userId, email, role, domain } = user
  return { caller: { userId, email, role, domain, loginId: null, keypair: keypair.access_key, scopes: null }, user }
}

/** @throws AppError `clock_skewed` */
function checkDate(date: Date, now: number): void {
  const skewMs = date.getTime() - now
  if (Math.abs(skewMs) <= WINDOW_MS) return
  const skewSeconds = Math.round(skewMs / 1000)
  const why = because(skewMs < 0 ? 'clock_behind' : 'clock_ahead', { seconds: Math.abs(skewSeconds) })
  throw new AppError('clock_skewed', { ...why, skewSeconds, serverTime: new Date(now).toISOString() })
}
