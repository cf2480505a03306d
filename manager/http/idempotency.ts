import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, because, type RouteSpec, type UserId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  type Claim,
  findKey,
  insertClaim,
  LEASE_MS,
  type KeyedRequest,
  type KeyRow,
  noteCreated,
  releaseClaim,
  storeAnswer,
  takeOver,
} from '../store/operation/idempotency-keys.ts'
import { idempotencyContext } from '../secrets/sealed.ts'
import { isRefusedAsBusy } from '../store/guarded-pool.ts'
import { newUuid } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'

export const IDEMPOTENCY_HEADER = 'idempotency-key'
/** Header of a repeated answer. */
export const REPLAYED_HEADER = 'idempotency-replayed'
/** Most characters of an answer that is stored although the ids of created objects are stored too. */
const MOST_KEPT = 16_384
const RELEASE_AGAIN_MS = 1_000
const KEY = /^[\x21-\x7e]{1,200}$/

export interface Answer {
  readonly result: unknown
  readonly replayed: boolean
}

export interface IdempotencyDeps {
  readonly db: Db
  readonly box: Pick<SecretBox, 'seal' | 'open'>
  readonly log: Log
}

export interface KeyedCall {
  readonly route: RouteSpec
  readonly header: string | string[] | undefined
  readonly userId: UserId
  /** All parts of the request that the answer depends on, besides the user. */
  readonly request: { readonly url: string; readonly body: unknown }
}

/**
 * Makes requests idempotent: of all requests with the same key of the same user (and of the same access token), one is executed, and all get its answer, for a day.
 *
 * Threat model: a key is looked up for the user who was authenticated with this request, so nobody can read another user's answer, and an access token none that it
 * did not get itself. An
 * answer may contain a secret (of a keypair, a link); it is sealed with the master key, like the hash of the request, whose body may
 * contain a password. An answer with an error is not stored: nothing was created, and the next attempt may succeed.
 *
 * A short request may have a long answer (fifty sessions), so a long one is not stored if the ids of the created objects are: the next
 * attempt answers with these objects in their state at that time, without the notices. Answers without stored ids are short (a user, a
 * keypair, a task), and may contain a secret that cannot be created again.
 *
 * A manager that dies between a commit and the answer leaves a key without an answer. Sessions are recorded in the transaction that creates
 * them, so the next attempt finds them. For other things the next attempt is executed again after a minute: names are unique, and a secret
 * that nobody has received is useless.
 */
export function createIdempotency({ db, box, log }: IdempotencyDeps) {
  async function claimOf(userId: UserId, key: string, request: string): Promise<Claim | KeyRow> {
    const context = idempotencyContext(userId, key)
    const fresh: Claim = { userId, key, id: newUuid() }
    try {
      if (await insertClaim(db, fresh, box.seal(JSON.stringify({ request }), context))) return fresh
    } catch (error) {
      // The claim may be there although the database did not confirm it; not if the statement waited for a connection in vain.
      if (!isRefusedAsBusy(error)) await release(fresh)
      throw error
    }
    const known = await findKey(db, userId, key)
    // The key was deleted between the two statements.
    if (!known) return claimOf(userId, key, request)
    const { request: before } = JSON.parse(box.open(known.sealed, context)) as { request: string }
    if (before !== request) {
      throw new AppError('idempotency_key_reused', because('idempotency_key_new'))
    }
    return known
  }

  return async function once(
    { route, header, userId, request }: KeyedCall,
    work: (keyed: KeyedRequest | undefined) => Promise<unknown>,
  ): Promise<Answer> {
    if (header === undefined || !route.idempotencyKey) return { result: await work(undefined), replayed: false }
    if (typeof header !== 'string' || !KEY.test(header)) {
      const why = 'The header Idempotency-Key must be 1 to 200 visible ASCII characters.'
      throw new AppError('bad_request', { why })
    }
    const hash = hashOf({ method: route.method, ...request })
    const context = idempotencyContext(userId, header)
    const found = await claimOf(userId, header, hash)
    if ('sealed' in found && found.answered) {
      const { result } = JSON.parse(box.open(found.sealed, context)) as { result?: unknown }
      return { result, replayed: true }
    }
    const claim = 'sealed' in found ? await continued(found, userId, header) : found
    try {
      const created = 'sealed' in found ? found.created : null
      let isNoted = created !== null
      const result = await work({
        created,
        async noteCreated(trx, ids) {
          await noteCreated(trx, claim, ids)
          isNoted = true
        },
      })
      const answer = JSON.stringify({ request: hash, result })
      if (isNoted && answer.length > MOST_KEPT) await release(claim)
      else await keep(claim, box.seal(answer, context))
      return { result, replayed: created !== null }
    } catch (error) {
      await release(claim)
      throw error
    }
  }

  async function release(claim: Claim): Promise<void> {
    await releaseClaim(db, claim).catch((failure: unknown) => {
      log.info({ err: failure }, 'an idempotency key stays claimed until the database answers, for a minute at most')
      void releaseLater(claim)
    })
  }

  /** Tries again while the claim lasts. The client repeats its request, and would be told until then that the first one is in progress. */
  async function releaseLater(claim: Claim): Promise<void> {
    const until = performance.now() + LEASE_MS
    while (performance.now() < until) {
      await delay(RELEASE_AGAIN_MS, undefined, { ref: false })
      const isReleased = await releaseClaim(db, claim).then(
        () => true,
        () => false, // The database is still away: the next attempt, or the end of the lease, releases it.
      )
      if (isReleased) return
    }
  }

  /** @throws AppError `request_in_progress` */
  async function continued(found: KeyRow, userId: UserId, key: string): Promise<Claim> {
    const claim = found.abandoned ? await takeOver(db, { userId, key, id: found.claim }) : undefined
    if (claim) return claim
    const why = 'The first request with this idempotency key has not been answered yet. Try again in a moment.'
    throw new AppError('request_in_progress', { why, retryAfterSeconds: 1 })
  }

  /** Stores an answer. A failure is only logged: the request has succeeded, whether or not its answer can be stored. */
  async function keep(claim: Claim, sealed: string): Promise<void> {
    await storeAnswer(db, claim, sealed).catch((error: unknown) => {
      log.warn({ err: error }, 'the answer of a request with an idempotency key could not be stored')
    })
  }
}

export type Once = ReturnType<typeof createIdempotency>

function hashOf(request: unknown): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('base64url')
}
