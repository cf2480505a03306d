import { isLikeId } from '#base/shapes'
import { AppError, because, DEFAULT_GROUP, type GroupId, UserId } from '#manager/contract'
import { holdDomain } from '../store/identity/domains.ts'
import { addMembers, findGroups, type GroupRow, keepMemberships } from '../store/identity/groups.ts'
import { keepGroups } from '../store/identity/sign-in-identities.ts'
import { noSuchDomain, noSuchPolicy } from '../store/missing.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { newId } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'
import { insertUser, lockUser, type NewUser, type UserRow } from '../store/identity/users.ts'

export type AccountSpec = Omit<NewUser, 'id' | 'domain' | 'resource_policy'> & {
  readonly domain: string
  /** If left out, the policy `default`. */
  readonly resourcePolicy?: string | undefined
  /** Ids or names; if left out, the group `default` of the domain. */
  readonly groups?: readonly string[] | undefined
}

/**
 * Inserts an account and adds it to its groups. Call it inside a transaction. Every account is created here: by an admin, an import, a
 * sign-up, a sign-in provider, SCIM or the first start.
 *
 * @throws AppError `bad_request` for an address with look-alike letters, `user_exists`, `domain_not_found`, `group_not_found`,
 * `resource_policy_not_found`
 */
export async function insertAccount(trx: Db, { groups, resourcePolicy, ...spec }: AccountSpec): Promise<UserRow> {
  requirePlainAddress(spec.email)
  const id = newId(UserId)
  await requireDomain(trx, spec.domain)
  const ids = await groupIds(trx, spec.domain, groups)
  const policy = resourcePolicy === undefined ? {} : { resource_policy: resourcePolicy }
  const account = { ...spec, ...policy, id, email: spec.email.toLowerCase() }
  if (!(await withKnownPolicy(resourcePolicy, () => insertUser(trx, account)))) {
    throw new AppError('user_exists', because('choose_other_address'))
  }
  await addMembers(trx, ids, id)
  const row = await lockUser(trx, id)
  if (!row) throw new Error('a user was inserted and is not there')
  return row
}

/**
 * Refuses letters that look like others, or that have two forms in Unicode, in the address of a new account: two people could not be told
 * apart in lists and when something is shared. Only addresses at `localhost` can have such letters. Accounts from before keep theirs.
 */
function requirePlainAddress(email: string): void {
  if (!isPlainAddress(email)) throw new AppError('bad_request', because('address_letters', { email }))
}

/** Whether a new account may have an address. */
export const isPlainAddress = (email: string): boolean => /^[\x21-\x7e]+$/.test(email)

/**
 * Makes a user a member of exactly these groups of the domain; of the group `default` if none are named. No mapping can take these
 * memberships back, even if a mapping gave them. @throws AppError `domain_not_found`, `group_not_found`
 */
export async function replaceGroups(
  trx: Db,
  userId: UserId,
  { domain, groups }: { domain: string; groups?: readonly string[] | undefined },
): Promise<void> {
  await requireDomain(trx, domain)
  const ids = await groupIds(trx, domain, groups)
  await keepMemberships(trx, userId, ids)
  await addMembers(trx, ids, userId)
  await keepGroups(trx, userId, ids)
}

const POLICY_REFERENCES = ['users_resource_policy_fkey', 'keypairs_resource_policy_fkey']

/** Runs work that writes the name of a resource policy. @throws AppError `resource_policy_not_found` */
export async function withKnownPolicy<T>(policy: string | undefined, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const isUnknown = POLICY_REFERENCES.some(name => isForeignKeyViolation(error, name))
    throw policy !== undefined && isUnknown ? noSuchPolicy(policy, { cause: error }) : error
  }
}

async function requireDomain(trx: Db, name: string): Promise<void> {
  if (await holdDomain(trx, name)) return
  throw noSuchDomain(name)
}

async function groupIds(trx: Db, domain: string, names: readonly string[] | undefined): Promise<GroupId[]> {
  const found = await findGroups(trx, domain, names ?? [DEFAULT_GROUP])
  const unknown = names?.find(name => !found.some(group => isNamed(group, name)))
  if (unknown !== undefined) {
    throw new AppError('group_not_found', {
      group: unknown,
      ...because('domain_without_project', { domain, project: unknown }),
    })
  }
  return found.map(group => group.id)
}

/** Whether a group has this id, or this name in any letter case. */
export function isNamed(group: Pick<GroupRow, 'id' | 'name'>, name: string): boolean {
  const wanted = name.toLowerCase()
  return isLikeId(wanted) ? group.id === wanted : group.name.toLowerCase() === wanted
}
