import { randomBytes } from 'node:crypto'
import { defined } from '#base/defined'
import {
  AccessKey,
  AppError,
  because,
  DEFAULT_RATE_LIMIT,
  type Keypair,
  type KeypairAcceptance,
  type KeypairChange,
  type KeypairSort,
  type KeypairSpec,
  type NewKeypair,
  readSort,
  type AccountNewsKind,
  type UserId,
  type UserKeypairSpec,
} from '#manager/contract'
import { type SecretBox } from '../secrets/secret-box.ts'
import {
  countKeypairs,
  countKeypairsOf,
  deleteKeypair,
  findKeypair,
  insertKeypair,
  type KeypairFilter,
  type KeypairRow,
  type NewKeypair as NewKeypairRow,
  listKeypairs,
  lockKeypair,
  updateKeypair,
} from '../store/identity/keypairs.ts'
import { deleteLogins } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'
import { holdUser, lockUser } from '../store/identity/users.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { withKnownPolicy } from './accounts.ts'
import { mayActivateKeypair, requireAnother, requireManaged } from './acting-for.ts'
import {
  type Caller,
  canSeeKeypair,
  isSuperadmin,
  requireMayGivePolicy,
  requirePerson,
  visibleTo,
} from './authorize.ts'
import { type OwnProofDeps, provePerson } from './own-proof.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { newsOfRemains } from './set-by-keypair.ts'
import { type News, type AccountNotifier } from './account-notifier.ts'

/**
 * Keypairs of users. Everybody manages their own; admins see, deactivate and delete those of the accounts that they manage. The secret is
 * shown once, to the owner, and stored sealed. A keypair created by somebody else waits: it opens nothing, and its secret is created when
 * its owner accepts it (ADR 59). When a keypair ends, here or with a role (`end-keypairs.ts`), its owner is informed of remaining things
 * that were set with it.
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
   * Creates a keypair of the caller's own, and notifies the caller.
   *
   * @throws AppError `not_signed_in` (ended meanwhile), `forbidden` (with a keypair, chosen keys without being admin, a rate limit or a
   *   policy without being superadmin), `resource_policy_not_found`, `keypair_exists`, and as `provePerson`
   */
  create(caller: Caller, spec: KeypairSpec): Promise<NewKeypair>
  /**
   * Creates a keypair that waits for another user's acceptance. @throws AppError `forbidden`, `user_not_found`, `resource_policy_not_found`
   */
  createFor(caller: Caller, userId: UserId, spec: UserKeypairSpec): Promise<Keypair>
  /**
   * @throws AppError `keypair_not_found`, `keypair_not_waiting`, `forbidden` (not the owner, or with a keypair), and as `provePerson`
   */
  accept(caller: Caller, accessKey: string, proof: KeypairAcceptance): Promise<NewKeypair>
  /**
   * @throws AppError `keypair_not_found`, `keypair_waits`, `forbidden` (a rate limit or a policy, without being superadmin; to
   *   activate that of another user, or with a keypair), `resource_policy_not_found`
   */
  change(caller: Caller, accessKey: string, change: KeypairChange): Promise<Keypair>
  /** @throws AppError `keypair_not_found`, `keypair_in_use` (a session, live or finished, was made with it) */
  remove(caller: Caller, accessKey: string): Promise<void>
}

export interface KeypairsDeps extends OwnProofDeps {
  readonly box: SecretBox
  readonly notifier: AccountNotifier
  /** Called when a keypair cannot be used any more: everything opened with it ends, including the sign-ins made with it. */
  readonly onEnd: (accessKey: string, loginIds: readonly string[]) => void
  /** Called when the policy of a keypair changes: waiting sessions may start now, or not any more. */
  readonly onLimitsChanged?: () => void
}

/** More than one person's programs need with a keypair each. */
const MOST_KEYPAIRS = 1_000

export function createKeypairs(deps: KeypairsDeps): Keypairs {
  const { store, box, notifier, onEnd, onLimitsChanged } = deps
  const { db } = store

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

    async create(caller, { active, name, accessKey = newAccessKey(), secretKey, password, totp, ...limits }) {
      await provePerson(deps, caller, { password, totp })
      if (secretKey !== undefined && caller.role === 'user') {
        throw new AppError('forbidden', because('only_admin_chooses_keys'))
      }
      const columns = { ...limitColumns(caller, limits), ...defined({ name }) }
      const secret = secretKey ?? newSecretKey()
      const news = [{ userId: caller.userId, by: caller, kind: 'own_keypair_made', detail: accessKey }] as const
      const made = await store.transaction(async trx => {
        const { id } = (await lockUser(trx, caller.userId)) ?? noSuchUser()
        await requireStillSignedIn(trx, caller)
        await notifier.write(trx, news)
        return insert(trx, { access_key: accessKey, user_id: id, active, ...columns, ...seal(accessKey, secret) })
      })
      await notifier.announce(news)
      return { ...made, secretKey: secret }
    },

    async createFor(caller, userId, { name, ...limits }) {
      const columns = { ...limitColumns(caller, limits), ...defined({ name }) }
      const accessKey = newAccessKey()
      const news = [{ userId, by: caller, kind: 'keypair_made', detail: accessKey }] as const
      const made = await store.transaction(async trx => {
        requireManaged(caller, await lockUser(trx, userId))
        requireAnother(caller, userId, 'make_keypair')
        // This secret is never shown: the owner gets a new one.
        const nobodys = seal(accessKey, newSecretKey())
        const waiting = { active: false, waits: true, created_by: caller.userId }
        const keypair = await insert(trx, {
          access_key: accessKey,
          user_id: userId,
          ...waiting,
          ...columns,
          ...nobodys,
        })
        await notifier.write(trx, news)
        return keypair
      })
      await notifier.announce(news)
      return made
    },

    async accept(caller, accessKey, proof) {
      await provePerson(deps, caller, proof)
      const secretKey = newSecretKey()
      const news = [{ userId: caller.userId, by: caller, kind: 'own_keypair_activated', detail: accessKey }] as const
      const accepted = await store.transaction(async trx => {
        const { user_id: id, email } = await requireVisible(trx, caller, accessKey)
        if (!mayActivateKeypair(caller, { id })) {
          throw new AppError('forbidden', because('keypair_waits_for_owner', { email }))
        }
        await requireStillSignedIn(trx, caller)
        await lockKeypair(trx, accessKey)
        if (!(await find(trx, accessKey)).waits) {
          throw new AppError('keypair_not_waiting', because('keypair_accepted_before'))
        }
        await updateKeypair(trx, accessKey, { active: true, waits: false, ...seal(accessKey, secretKey) })
        await notifier.write(trx, news)
        return find(trx, accessKey)
      })
      await notifier.announce(news)
      return { ...accepted, secretKey }
    },

    async change(caller, accessKey, { active, name, ...limits }) {
      const columns = limitColumns(caller, limits)
      const { changed, ended, news } = await store.transaction(async trx => {
        const { user_id: id, email } = await requireVisible(trx, caller, accessKey)
        await lockKeypair(trx, accessKey)
        const before = await find(trx, accessKey)
        if (active === true) {
          requireActivation(caller, { id, email, waits: before.waits })
          await requireStillSignedIn(trx, caller)
        }
        const change = { ...defined({ active, name }), ...columns }
        await withKnownPolicy(limits.resourcePolicy, () => updateKeypair(trx, accessKey, change))
        const ended = active === false ? await deleteLogins(trx, { keypair: accessKey }) : []
        const kinds: AccountNewsKind[] = [
          ...(active === false ? (['keypair_deactivated'] as const) : []),
          ...(active === true && !before.active ? (['own_keypair_activated'] as const) : []),
          ...(Object.keys(columns).length > 0 ? (['keypair_changed'] as const) : []),
        ]
        const remains = active === false ? await newsOfRemains(trx, [accessKey]) : []
        const news = [...kinds.map(kind => ({ userId: id, by: caller, kind, detail: accessKey })), ...remains]
        await notifier.write(trx, news)
        return { changed: await find(trx, accessKey), ended, news }
      })
      if (active === false) onEnd(accessKey, ended)
      if (limits.resourcePolicy !== undefined) onLimitsChanged?.()
      await notifier.announce(news)
      return changed
    },

    async remove(caller, accessKey) {
      const removed = store.transaction(async trx => {
        const { user_id: userId } = await requireVisible(trx, caller, accessKey)
        await lockKeypair(trx, accessKey)
        const remains = await newsOfRemains(trx, [accessKey])
        const ended = await deleteLogins(trx, { keypair: accessKey })
        await deleteKeypair(trx, accessKey)
        const deleted: News = { userId, by: caller, kind: 'keypair_deleted', detail: accessKey }
        const news = [deleted, ...remains]
        await notifier.write(trx, news)
        return { ended, news }
      })
      const { ended, news } = await removed.catch((error: unknown) => {
        if (!isForeignKeyViolation(error)) throw error
        throw new AppError('keypair_in_use', because('keypair_used'), { cause: error })
      })
      onEnd(accessKey, ended)
      await notifier.announce(news)
    },
  }

  function seal(accessKey: string, secretKey: string) {
    return { sealed_secret: box.seal(secretKey, placeOfKeypair(accessKey)) }
  }
}

/** Locks the owner until the transaction ends, so that nobody changes the keypair of a user who is being promoted. */
async function requireVisible(trx: Db, caller: Caller, accessKey: string): Promise<KeypairRow> {
  const row = await findKeypair(trx, accessKey)
  const owner = row && (await holdUser(trx, row.user_id))
  if (!owner || !canSeeKeypair(caller, owner)) throw new AppError('keypair_not_found')
  return row
}

async function find(trx: Db, accessKey: string): Promise<Keypair> {
  const row = await findKeypair(trx, accessKey)
  if (!row) throw new AppError('keypair_not_found')
  return toKeypair(row)
}

/** Call it with the account of the keypair locked. @throws AppError `keypair_exists`, `over_person_limit`, `resource_policy_not_found` */
async function insert(trx: Db, keypair: Omit<NewKeypairRow, 'rate_limit'>): Promise<Keypair> {
  const { access_key, resource_policy } = keypair
  if ((await countKeypairsOf(trx, keypair.user_id)) >= MOST_KEYPAIRS) {
    throw new AppError('over_person_limit', {
      limit: MOST_KEYPAIRS,
      ...because('keypairs_at_most', { limit: MOST_KEYPAIRS }),
    })
  }
  const row = { rate_limit: DEFAULT_RATE_LIMIT, ...keypair }
  if (!(await withKnownPolicy(resource_policy, () => insertKeypair(trx, row)))) {
    throw new AppError('keypair_exists', { accessKey: access_key })
  }
  return find(trx, access_key)
}

/** @throws AppError `forbidden`, `keypair_waits` */
function requireActivation(caller: Caller, owner: { id: UserId; email: string; waits: boolean }): void {
  requirePerson(caller, 'only_person_accepts')
  if (!mayActivateKeypair(caller, owner)) throw new AppError('forbidden', because('only_owner_activates'))
  if (owner.waits) throw new AppError('keypair_waits', because('keypair_waits'))
}

/** @throws AppError `forbidden`: only superadmins set limits */
function limitColumns(caller: Caller, { rateLimit, resourcePolicy }: Omit<UserKeypairSpec, 'name'>) {
  if (rateLimit !== undefined && !isSuperadmin(caller)) {
    throw new AppError('forbidden', because('only_superadmin_rate_limit'))
  }
  requireMayGivePolicy(caller, resourcePolicy)
  return {
    ...defined({ rate_limit: rateLimit, resource_policy: resourcePolicy }),
  }
}

function noSuchUser(): never {
  throw new AppError('user_not_found')
}

/** Context to which the secret of a keypair is bound in the secret box; key rotation needs the same. */
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
    name: row.name,
    userId: row.user_id,
    email: row.email,
    active: row.active,
    rateLimit: row.rate_limit,
    resourcePolicy: row.resource_policy,
    createdBy: row.maker,
    waits: row.waits,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
  }
}

function parseCursor(cursor: string): string {
  const parsed = AccessKey.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}
