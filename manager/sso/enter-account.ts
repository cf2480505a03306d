import { AppError, because, type SignInProviderSettings, type UserId } from '#manager/contract'
import { deleteWaitingKeypairs } from '../store/identity/keypairs.ts'
import { holdDomain } from '../store/identity/domains.ts'
import { addMembers, findGroups, listMemberships, removeMembers } from '../store/identity/groups.ts'
import { deleteEmailTokens, deleteLinksInHand } from '../store/identity/email-tokens.ts'
import {
  findIdentity,
  insertIdentity,
  listIdentities,
  noteGiven,
  noteIdentityUse,
  type SignInIdentityRow,
} from '../store/identity/sign-in-identities.ts'
import { countSuperadmins, lockUser, touchUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { insertAccount, isNamed, isPlainAddress } from '../users/accounts.ts'
import { type AfterCommit, afterCommitOf } from '../users/after-commit.ts'
import { endsWhatOthersKnew, othersMayKnowPassword } from '../users/acting-for.ts'
import { endAccess } from '../users/end-access.ts'
import { endKeypairs } from '../users/end-keypairs.ts'
import { endDoubt } from '../users/end-of-doubt.ts'
import { nextMemberships, nextRole } from '../users/mapped-rights.ts'
import { type News, newsOfOwn, type AccountNotifier } from '../users/account-notifier.ts'
import { type FoundAccount } from './find-account.ts'
import { servesDomain, type Wanted, wantedBy } from './mapping.ts'
import { type Person } from './person.ts'

/** Changes that a sign-in made, for the audit log: names and roles, no secrets. */
export type Told = Readonly<Record<string, string | number>>

export interface Entered extends AfterCommit {
  readonly user: UserRow
  readonly isNew: boolean
  readonly isChanged: boolean
  readonly told: Told
}

/**
 * Locks, links or creates the found account, and gives it the projects and role of the group mapping. Call inside a transaction, under
 * `lockSuperadmins`.
 *
 * @param context `unknownPassword`: hash of a password that nobody knows; throws `sso_expired` if it is needed but missing
 * @throws AppError `user_inactive`, `domain_inactive`, `sso_account_taken`, `domain_not_found`
 */
export async function enterAccount(trx: Db, found: FoundAccount, context: Context): Promise<Entered> {
  const { person, provider, notifier } = context
  const held = await hold(trx, found, context)
  const { user } = held
  if (!user.active) throw new AppError('user_inactive', because('account_deactivated'))
  if (!(await holdDomain(trx, user.domain))?.active) {
    throw new AppError('domain_inactive', because('domain_deactivated', { domain: user.domain }))
  }
  const identity = await link(trx, found, { person, userId: user.id })
  const mapped = await applyMapping(trx, { user, identity, ...context })
  await noteIdentityUse(trx, person, person.email ?? identity.email)
  const how = { known: 'signed in', linkable: 'linked', new: 'created' }[found.kind]
  const news = found.kind === 'linkable' ? [linkedNews(user, provider, person)] : []
  await notifier.write(trx, news)
  return {
    user: mapped.user,
    isNew: found.kind === 'new',
    isChanged: found.kind !== 'known' || held.isChanged || mapped.isChanged,
    told: { account: how, ...mapped.told },
    ...afterCommitOf({ news }, held, mapped),
  }
}

/** Tells a person that an account at a provider can now sign in to theirs, whoever linked it. */
export const linkedNews = (
  user: Pick<UserRow, 'id' | 'email'>,
  provider: Pick<SignInProviderSettings, 'name'>,
  { email, subject }: Pick<Person, 'email' | 'subject'>,
): News => ({
  userId: user.id,
  by: { userId: user.id, email: user.email },
  kind: 'own_identity_linked',
  detail: `${provider.name}: ${email ?? subject}`,
})

/** A password that nobody knows, so it needs no doubt about who knows it. */
const NOBODYS = { password_set: false, password_from: 'person' } as const

interface Context {
  readonly person: Person
  /** Id of the provider, and its `mapping_version`. */
  readonly giver: { readonly provider: string; readonly version: number }
  readonly provider: SignInProviderSettings
  readonly unknownPassword: () => string
  /** By the clock of the database. */
  readonly now: Date
  readonly notifier: Pick<AccountNotifier, 'write'>
}

async function hold(
  trx: Db,
  found: FoundAccount,
  { person, provider, unknownPassword, now, notifier }: Context,
): Promise<AfterCommit & Pick<Entered, 'user' | 'isChanged'>> {
  const unchanged = { ...afterCommitOf(), isChanged: false }
  if (found.kind === 'new') {
    const { email } = found
    // The person cannot choose another address: it is the provider's.
    if (!isPlainAddress(email))
      throw new AppError('bad_request', because('sso_email_letters', { email, provider: provider.name }))
    const name = person.name ?? email.split('@')[0]?.slice(0, 64) ?? email
    const password = { password_hash: unknownPassword(), password_set: false }
    const { domain } = provider
    return { user: await insertAccount(trx, { email, name, domain, role: 'user', ...password }), ...unchanged }
  }
  const user = await lockUser(trx, found.user.id)
  if (!user) throw new AppError('user_not_found')
  if (found.kind === 'known') {
    // Somebody else who knew the password may have linked the account at the provider, so its sign-in does not prove the person.
    if ((await findIdentity(trx, person))?.doubtful !== false) return { user, ...unchanged }
    await deleteLinksInHand(trx, user.id)
    // The last superadmin with a password keeps the password, whatever a provider says.
    const isLast = user.role === 'superadmin' && (await countSuperadmins(trx)) <= 1
    if (!othersMayKnowPassword(user) || isLast) return { user, ...unchanged }
  } else {
    // The owner of the address is here now, so links that somebody else may hold end.
    await deleteEmailTokens(trx, user.id)
    if (user.email_verified_at !== null && !othersMayKnowPassword(user)) return { user, ...unchanged }
  }
  // A stranger may have signed up with this address and their own password, or an administrator may have created the account.
  const ended = await endAccess(trx, user)
  await deleteWaitingKeypairs(trx, user.id)
  const over = othersMayKnowPassword(user) ? [newsOfOwn(user, 'own_password_ended')] : []
  await notifier.write(trx, over)
  // Ends the keypairs that were created or activated while somebody else may have known the password; nothing more has to end for a known
  // account.
  const end = await endDoubt(trx, notifier, user, user)
  const remains = found.kind === 'known' ? [] : await endKeypairs(trx, user.id)
  await notifier.write(trx, remains)
  const email_verified_at = user.email_verified_at ?? now
  const nobodys = { ...NOBODYS, password_hash: unknownPassword(), must_change_password: false }
  const change = { ...nobodys, email_verified_at }
  const changed = (await updateUser(trx, user.id, change)) ?? user
  return { user: changed, isChanged: true, ...afterCommitOf({ ended, news: over }, end, { news: remains }) }
}

async function link(
  trx: Db,
  found: FoundAccount,
  { person, userId }: { person: Person; userId: UserId },
): Promise<SignInIdentityRow> {
  if (found.kind !== 'known') {
    const { issuer, subject } = person
    // False if the same person signs in twice at the same time: the other transaction has linked the subject.
    if (!(await insertIdentity(trx, { issuer, subject, userId, email: found.email, owns: true }))) {
      throw new AppError('sso_account_taken', because('sso_account_other', { email: found.email }))
    }
  }
  const identity = await findIdentity(trx, person)
  if (identity?.user_id !== userId) throw new AppError('sso_expired', because('sso_start_again'))
  return identity
}

/** Changes that the mapping makes. */
type Mapped = Omit<Entered, 'isNew'>

const NOTHING: Wanted = { projects: [], role: null }

async function applyMapping(trx: Db, context: MappingContext): Promise<Mapped> {
  const { user, identity, person, provider, giver } = context
  const { groupsClaim, mapping } = provider
  const wanted = groupsClaim === null ? NOTHING : wantedBy(mapping, person.groups)
  if (groupsClaim !== null && servesDomain(provider, user.domain)) return give(trx, wanted, context)
  const isSomewhere = wanted.projects.length > 0 || wanted.role !== null
  const told: Told = isSomewhere ? { mappingSkipped: `for the domain ${provider.domain}` } : {}
  // Another provider of the same issuer may serve the domain, and give rights that this one must not take away.
  const gives = identity.given_by === null || identity.given_by === giver.provider
  if (!gives) return { user, isChanged: false, told, ...afterCommitOf() }
  const taken = await give(trx, NOTHING, context)
  return { ...taken, told: { ...taken.told, ...told } }
}

type MappingContext = Context & { readonly user: UserRow; readonly identity: SignInIdentityRow }

async function give(
  trx: Db,
  wanted: Wanted,
  { user, identity, giver, unknownPassword, notifier }: MappingContext,
): Promise<Mapped> {
  const others = (await listIdentities(trx, user.id)).filter(({ issuer }) => issuer !== identity.issuer)
  const groups = await findGroups(trx, user.domain, wanted.projects)
  const current = await listMemberships(trx, user.id, user.domain)
  const { add, remove, given } = nextMemberships({
    current: current.map(({ id }) => id),
    mine: identity.given_groups,
    others: others.flatMap(one => one.given_groups),
    wanted: groups.map(({ id }) => id),
  })
  await addMembers(trx, add, user.id)
  await removeMembers(trx, user.id, remove)
  const before = { role: user.role, givenRole: identity.given_role, roleBefore: identity.role_before }
  const state = { role: user.role, mine: identity, others }
  const mapped = nextRole(state, wanted.role)
  // Somebody else may have linked this account at the provider. A higher role would end the doubt about the password and leave that person
  // inside, and a role given by another linked account would outlive it.
  const isDoubtful = identity.doubtful && mapped.givenRole !== null
  const next = isDoubtful ? nextRole(state, null) : mapped
  // The last superadmin with a password keeps the role, whatever a provider says.
  const isLast =
    user.role === 'superadmin' && next.role !== 'superadmin' && user.password_set && (await countSuperadmins(trx)) <= 1
  const role = isLast ? before : next
  const { givenRole, roleBefore } = role
  await noteGiven(trx, identity, { givenGroups: given, givenRole, roleBefore, givenBy: giver })
  const changesRole = role.role !== user.role
  const ended = changesRole ? await endAccess(trx, user) : []
  // As after a change by an admin: people who managed the account until now may know its secrets.
  const remains = changesRole ? await endKeypairs(trx, user.id) : []
  await notifier.write(trx, remains)
  const ends = endsWhatOthersKnew(user, { ...user, role: role.role })
  if (ends) await deleteWaitingKeypairs(trx, user.id)
  const isKnown = ends && othersMayKnowPassword(user)
  const password = isKnown ? { ...NOBODYS, password_hash: unknownPassword() } : {}
  const isChanged = changesRole || add.length > 0 || remove.length > 0
  const changed = changesRole
    ? await updateUser(trx, user.id, { role: role.role, ...password })
    : isChanged
      ? await touchUser(trx, user.id)
      : undefined
  const end = ends ? await endDoubt(trx, notifier, user, changed ?? user) : undefined
  const names = (ids: readonly string[]) =>
    [...current, ...groups]
      .filter(({ id }, index, all) => ids.includes(id) && all.findIndex(one => one.id === id) === index)
      .map(({ name }) => name)
      .join(', ')
  const missing = wanted.projects.filter(name => !groups.some(group => isNamed(group, name)))
  const told: Told = {
    ...(add.length > 0 ? { projectsAdded: names(add) } : {}),
    ...(remove.length > 0 ? { projectsRemoved: names(remove) } : {}),
    ...(missing.length > 0 ? { projectsUnknown: missing.join(', ').slice(0, 500) } : {}),
    ...(changesRole ? { roleBefore: user.role, role: role.role } : {}),
    ...(isLast ? { roleKept: 'last superadmin with a password' } : {}),
    ...(isDoubtful ? { roleKept: 'linked while somebody else might know the password' } : {}),
  }
  const afterCommit = afterCommitOf({ ended, hasLeftProjects: remove.length > 0, news: remains }, end)
  return { user: end?.user ?? changed ?? user, isChanged, told, ...afterCommit }
}
