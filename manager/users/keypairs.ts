import { randomBytes } from 'node:crypto'
import {
  AccessKey,
  AppError,
  because,
  DEFAULT_RATE_LIMIT,
  type Keypair,
  type KeypairChange,
  type KeypairSort,
  type KeypairSpec,
  type NewKeypair,
  readSort,
} from '#manager/contract'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  countKeypairs,
  deleteKeypair,
  findKeypair,
  insertKeypair,
  type KeypairFilter,
  type KeypairRow,
  listKeypairs,
  lockKeypair,
  updateKeypair,
} from '../store/identity/keypairs.ts'
import { deleteLogins } from '../store/identity/logins.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { holdUser } from '../store/identity/users.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { withKnownPolicy } from './accounts.ts'
import { type Caller, canSeeKeypair, isSuperadmin, requireMayGivePolicy, visibleTo } from './authorize.ts'

/**
 * Keypairs of users. Everybody manages their own, admins those of the accounts that they manage. The secret is given out
 * once, at creation, and kept sealed.
 */
export interface Keypairs {
  list(
    caller: Caller,
    query: Pick<KeypairFilter, 'owner' | 'active' | 'search'> & {
      readonly limit: number
      readonly cursor?: string | undefined
      readonly mine?: boolean | undefined
      readonly sort?: KeypairSort | undefined
    },
  ): Promise<{ items: Keypair[]; nextCursor: string | null; total: number }>
  /**
   * @throws AppError `forbidden` (for others or with chosen keys without being admin, a rate limit or a policy without being
   *   superadmin), `user_not_found`, `resource_policy_not_found`, `keypair_exists`
   */
  create(caller: Caller, spec: KeypairSpec): Promise<NewKeypair>
  /** @throws AppError `keypair_not_found`, `forbidden` (a rate limit or a policy, without being superadmin), `resource_policy_not_found` */
  change(caller: Caller, accessKey: string, change: KeypairChange): Promise<Keypair>
  /** @throws AppError `keypair_not_found`, `keypair_in_use` (a session, live or finished, was made with it) */
  remove(caller: Caller, accessKey: string): Promise<void>
}

export interface KeypairsDeps {
  readonly store: Store
  readonly box: SecretBox
  /** Called when a keypair cannot be used any more: everything opened with it ends, as do the sign-ins that it made. */
  readonly onEnd: (accessKey: string, loginIds: readonly string[]) => void
  /** Called when a keypair has another policy: waiting sessions may start now, or no longer may. */
  readonly onLimitsChanged?: () => void
}

export function createKeypairs({ store, box, onEnd, onLimitsChanged }: KeypairsDeps): Keypairs {
  const { db } = store

  /** Locks the owner until the transaction ends, so that nobody acts on the keypair of a user who is just being promoted. */
  async function requireVisible(trx: Db, caller: Caller, accessKey: string): Promise<void> {
    const row = await findKeypair(trx, accessKey)
    const owner = row && (await holdUser(trx, row.user_id))
    if (!owner || !canSeeKeypair(caller, owner)) throw new AppError('keypair_not_found')
  }

  async function find(trx: Db, accessKey: string): Promise<Keypair> {
    const row = await findKeypair(trx, accessKey)
    if (!row) throw new AppError('keypair_not_found')
    return toKeypair(row)
  }

  return {
    async list(caller, { limit, cursor, mine = false, sort = 'key', ...wanted }) {
      const filter = { ...wanted, visible: mine ? { ownerId: caller.userId } : visibleTo(caller) }
      const page = {
        limit: limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        ...readSort(sort),
      }
      const [rows, total] = await Promise.all([listKeypairs(db, { ...filter, ...page }), countKeypairs(db, filter)])
      const items = rows.slice(0, limit).map(toKeypair)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.accessKey ?? null) : null, total }
    },

    async create(caller, { userId = caller.userId, rateLimit, resourcePolicy, active, ...chosen }) {
      if (userId !== caller.userId && caller.role === 'user') {
        throw new AppError('forbidden', because('only_admin_makes_keypairs'))
      }
      if (chosen.accessKey !== undefined && caller.role === 'user') {
        throw new AppError('forbidden', because('only_admin_chooses_keys'))
      }
      checkRateLimit(caller, rateLimit)
      requireMayGivePolicy(caller, resourcePolicy)
      const { accessKey: access_key = newAccessKey(), secretKey = newSecretKey() } = chosen
      const sealed_secret = box.seal(secretKey, placeOfKeypair(access_key))
      const rate_limit = rateLimit ?? DEFAULT_RATE_LIMIT
      const made = await store.transaction(async trx => {
        const owner = await holdUser(trx, userId)
        if (!owner || !canSeeKeypair(caller, owner)) throw new AppError('user_not_found')
        const policy = resourcePolicy === undefined ? {} : { resource_policy: resourcePolicy }
        const keypair = { access_key, user_id: userId, sealed_secret, active, rate_limit, ...policy }
        if (!(await withKnownPolicy(resourcePolicy, () => insertKeypair(trx, keypair)))) {
          throw new AppError('keypair_exists', { accessKey: access_key })
        }
        return find(trx, access_key)
      })
      return { ...made, secretKey }
    },

    async change(caller, accessKey, { active, rateLimit, resourcePolicy }) {
      const { changed, ended } = await store.transaction(async trx => {
        await requireVisible(trx, caller, accessKey)
        checkRateLimit(caller, rateLimit)
        requireMayGivePolicy(caller, resourcePolicy)
        await lockKeypair(trx, accessKey)
        const change = {
          ...(active === undefined ? {} : { active }),
          ...(rateLimit === undefined ? {} : { rate_limit: rateLimit }),
          ...(resourcePolicy === undefined ? {} : { resource_policy: resourcePolicy }),
        }
        await withKnownPolicy(resourcePolicy, () => updateKeypair(trx, accessKey, change))
        const ended = active === false ? await deleteLogins(trx, { keypair: accessKey }) : []
        return { changed: await find(trx, accessKey), ended }
      })
      if (active === false) onEnd(accessKey, ended)
      if (resourcePolicy !== undefined) onLimitsChanged?.()
      return changed
    },

    async remove(caller, accessKey) {
      const removed = store.transaction(async trx => {
        await requireVisible(trx, caller, accessKey)
        await lockKeypair(trx, accessKey)
        const ended = await deleteLogins(trx, { keypair: accessKey })
        await deleteKeypair(trx, accessKey)
        return ended
      })
      const ended = await removed.catch((error: unknown) => {
        if (!isForeignKeyViolation(error)) throw error
        throw new AppError('keypair_in_use', because('keypair_used'), { cause: error })
      })
      onEnd(accessKey, ended)
    },
  }
}

function checkRateLimit(caller: Caller, rateLimit: number | undefined): void {
  if (rateLimit === undefined || isSuperadmin(caller)) return
  throw new AppError('forbidden', because('only_superadmin_rate_limit'))
}

/** Place to which the secret of a keypair is bound in the secret box; rotation needs the same. */
export function placeOfKeypair(accessKey: string): string {
  return `keypair:${accessKey}`
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function newAccessKey(): string {
  // 32 divides 256, so the lower five bits of a random byte are as random as the byte.
  return `AKIA${Array.from(randomBytes(16), byte => BASE32.charAt(byte & 31)).join('')}`
}

export function newSecretKey(): string {
  return randomBytes(30).toString('base64url')
}

function toKeypair(row: KeypairRow): Keypair {
  return {
    accessKey: row.access_key,
    userId: row.user_id,
    email: row.email,
    active: row.active,
    rateLimit: row.rate_limit,
    resourcePolicy: row.resource_policy,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  }
}

function parseCursor(cursor: string): string {
  const parsed = AccessKey.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
