import { createBatches } from '#base/batches'
import { roleWith } from '../store/identity/credential.ts'
import { findLiveLogin, listTokenHashes, touchLogin } from '../store/identity/logins.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Caller } from './authorize.ts'
import { hashToken } from './secrets.ts'

/** Longest time until this manager notices a logout at another manager, or a row changed by hand. */
const CACHE_MS = 5_000
const CACHE_SIZE = 10_000
/** Most hashes in one query about unknown tokens. */
const MOST_ASKED = 1_000

/** A valid sign-in. */
export interface ActiveLogin {
  readonly caller: Caller
  readonly kind: 'browser' | 'token'
  readonly expiresAt: Date
  readonly user: UserRow
}

/**
 * Finds sign-ins by their tokens, and caches each for five seconds, because a client sends its token with every request.
 *
 * Threat model: anybody can send any number of made-up tokens. So a token that was valid here before gets a query of its own, and all
 * others share one query at a time, which finds those that exist (ADR 74).
 */
export interface LoginCache {
  /**
   * Finds the sign-in of a token; undefined if it is unknown or has ended. No query for a token seen within the last five
   * seconds.
   *
   * @param token of a browser: `browserToken` of both halves
   * @param use false: this lookup does not keep the sign-in alive
   */
  authenticate(token: string, use?: boolean): Promise<ActiveLogin | undefined>
  /** Like `authenticate`, for several tokens at most one of which is a sign-in; a single query searches all of them. */
  authenticateOneOf(tokens: readonly string[]): Promise<ActiveLogin | undefined>
  /** Drops the matching sign-ins from the cache, including those of lookups in flight. */
  drop(matches: (login: ActiveLogin) => boolean): Promise<void>
  /** Drops all sign-ins from the cache. */
  clear(): void
}

const keyOf = (hash: Buffer) => hash.toString('base64')
const hashOf = (key: string) => Buffer.from(key, 'base64')

/** @param deps.now ms since 1970 */
export function createLoginCache({ db, now }: { readonly db: Db; readonly now: () => number }): LoginCache {
  /** Sign-ins by the base64 hash of their token. */
  const cache = new Map<string, { readonly at: number; readonly login: Promise<ActiveLogin | undefined> }>()

  /** Hashes of tokens that were valid at their last use. */
  const seen = new Set<string>()
  const exists = createBatches({
    most: MOST_ASKED,
    run: async keys => {
      const hashes = await onBehalfOfAll(() => listTokenHashes(db, keys.map(hashOf)))
      return new Map(hashes.map(hash => [keyOf(hash), true]))
    },
  })

  function noteSeen(key: string, isGood: boolean): void {
    seen.delete(key)
    if (isGood) seen.add(key)
    if (seen.size > CACHE_SIZE) seen.delete(seen.values().next().value ?? key)
  }

  async function load(hash: Buffer, use: boolean): Promise<ActiveLogin | undefined> {
    const found = await findLiveLogin(db, hash)
    if (!found) return undefined
    const { id, kind, user, label, keypair, scopes, stale } = found
    const touched = use && stale ? await touchLogin(db, id) : undefined
    return {
      caller: {
        userId: user.id,
        email: user.email,
        role: roleWith(user.role, scopes),
        domain: user.domain,
        loginId: id,
        keypair,
        scopes,
        tokenName: scopes && label,
      },
      kind,
      expiresAt: touched ?? found.expires_at,
      user,
    }
  }

  function remember(key: string, login: Promise<ActiveLogin | undefined>): void {
    cache.delete(key)
    cache.set(key, { at: now(), login })
    if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value ?? key)
    // Cache only valid sign-ins, so that made-up tokens cannot fill the memory.
    const drop = () => {
      if (cache.get(key)?.login === login) cache.delete(key)
    }
    login.then(found => {
      noteSeen(key, found !== undefined)
      if (!found) drop()
    }, drop)
  }

  const isFresh = (key: string) => {
    const known = cache.get(key)
    return known !== undefined && now() - known.at <= CACHE_MS
  }

  async function authenticate(token: string, use = true): Promise<ActiveLogin | undefined> {
    const hash = hashToken(token)
    const key = keyOf(hash)
    if (!isFresh(key) && !seen.has(key) && !(await exists(key))) return undefined
    if (!isFresh(key)) remember(key, load(hash, use))
    const login = await cache.get(key)?.login
    return login && login.expiresAt.getTime() > now() ? login : undefined
  }

  async function firstThatExists(keys: readonly string[]): Promise<string | undefined> {
    const found = await Promise.all(keys.map(async key => ((await exists(key)) ? key : undefined)))
    return found.find(key => key !== undefined)
  }

  return {
    authenticate,

    async authenticateOneOf(tokens) {
      const [first] = tokens
      if (first === undefined || tokens.length === 1) return first === undefined ? undefined : await authenticate(first)
      const byHash = new Map(tokens.map(token => [keyOf(hashToken(token)), token]))
      const hashes = [...byHash.keys()]
      const found = hashes.find(isFresh) ?? hashes.find(hash => seen.has(hash)) ?? (await firstThatExists(hashes))
      const token = found === undefined ? undefined : byHash.get(found)
      return token === undefined ? undefined : await authenticate(token)
    },

    async drop(matches) {
      for (const [key, entry] of [...cache]) {
        const login = await entry.login.catch(() => undefined)
        if (!login || matches(login)) cache.delete(key)
      }
    },

    clear() {
      cache.clear()
    },
  }
}
