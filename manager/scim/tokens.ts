import { AppError, because, type NewScimToken, type ScimToken, type ScimTokenSpec } from '#manager/contract'
import { holdDomain } from '../store/identity/domains.ts'
import {
  deleteScimToken,
  findScimToken,
  insertScimToken,
  isScimTokenUsable,
  listScimTokens,
} from '../store/identity/scim.ts'
import { noSuchDomain } from '../store/missing.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { administers, type Caller, isSuperadmin } from '../users/authorize.ts'
import { hashToken, newToken } from '../users/secrets.ts'
import { holdSignedIn } from '../users/still-authorized.ts'
import { tokenEnded } from './scim-error.ts'

/** More than the identity providers of a domain need, with a second token of each while it is replaced. */
const MOST_TOKENS = 10

/** A client of SCIM that has proved its token. */
export interface ScimClient {
  readonly id: string
  readonly name: string
  readonly domain: string
}

/**
 * Tokens of identity providers for SCIM (ADR 103).
 *
 * Threat model: a token lies at another company, in a form that its administrators fill in. It is 256 random bits, shown once and stored as
 * a hash. It counts for one domain and for SCIM only, in which it is no sign-in: it reads no sessions, sets no password, role or address,
 * and does not see superadmins. Only persons make one, not keypairs, and the right of its maker is read at each use, so that it ends with it. It outlives
 * the sign-in that made it, so the end of a doubt about the maker's password names it (ADR 67).
 */
export interface ScimTokens {
  list(caller: Caller): Promise<ScimToken[]>
  /** @throws AppError `domain_not_found`, `forbidden`, `over_person_limit`, `not_signed_in` */
  create(caller: Caller, spec: ScimTokenSpec): Promise<NewScimToken>
  /** @throws AppError `scim_token_not_found` */
  remove(caller: Caller, id: string): Promise<void>
  /** Undefined for a token that is unknown, or whose maker may no longer administer its domain. */
  authenticate(token: string): Promise<ScimClient | undefined>
}

export function createScimTokens({ store }: { readonly store: Store }): ScimTokens {
  const { db } = store
  const domainOf = (caller: Caller) => (isSuperadmin(caller) ? undefined : caller.domain)

  const list = async (caller: Caller) =>
    (await listScimTokens(db, domainOf(caller))).map(row => ({
      id: row.id,
      name: row.name,
      domain: row.domain,
      createdBy: row.email,
      createdAt: row.created_at.toISOString(),
      lastUsedAt: row.last_used_at?.toISOString() ?? null,
    }))

  return {
    list,

    async create(caller, { name, domain = caller.domain }) {
      const [id, token] = [newUuid(), newToken()]
      await store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        if (!administers(caller, domain) || !(await holdDomain(trx, domain))) throw noSuchDomain(domain)
        if ((await listScimTokens(trx, domain)).length >= MOST_TOKENS) {
          throw new AppError('over_person_limit', because('scim_tokens_at_most', { limit: MOST_TOKENS }))
        }
        await insertScimToken(trx, { id, domain, name, token_hash: hashToken(token), created_by: caller.userId })
      })
      const made = (await list(caller)).find(one => one.id === id)
      if (!made) throw new AppError('scim_token_not_found', { id })
      return { ...made, token }
    },

    async remove(caller, id) {
      if (!(await deleteScimToken(db, id, domainOf(caller)))) throw new AppError('scim_token_not_found', { id })
    },

    authenticate: token => findScimToken(db, hashToken(token)),
  }
}

/**
 * Refuses a client whose token has ended since the request was authenticated. A request may wait for its body, for a turn to hash a password, or
 * for an account that another change holds: a maker who is being deactivated must not come back by a request that was sent before. Call it
 * after locking the account.
 *
 * @throws ScimError
 */
export async function requireStillClient(db: Db, { id }: Pick<ScimClient, 'id'>): Promise<void> {
  if (!(await isScimTokenUsable(db, id))) throw tokenEnded()
}
