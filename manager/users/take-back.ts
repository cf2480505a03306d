import { type GroupId, inShort, type Role } from '#manager/contract'
import { listMemberships, removeMembers } from '../store/identity/groups.ts'
import {
  deleteIdentity,
  listIdentities,
  noteGiven,
  type SignInIdentityRow,
} from '../store/identity/sign-in-identities.ts'
import { countSuperadmins, touchUser, updateUser, type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { endAccess } from './end-access.ts'
import { endKeypairs } from './end-keypairs.ts'
import { nextMemberships, nextRole } from './mapped-rights.ts'
import { type News, newsOfOwn } from './account-notifier.ts'

/** Rights from a mapping of groups that an account lost. */
export interface TakenBack {
  /** The account afterwards. */
  readonly user: UserRow
  /** Names of projects. */
  readonly projects: readonly string[]
  /** The previous role, if it changed. */
  readonly role: Role | null
  /** News of remaining things that were set with keypairs that ended with the role. */
  readonly remains: readonly News[]
  /** Sign-ins that ended: `Logins.tellEnd` announces them after the commit. */
  readonly ended: readonly string[]
}

/** Rights that a mapping can still give. */
export interface Left {
  readonly groups: readonly GroupId[]
  readonly roles: readonly Role[]
}
export const NOTHING_LEFT: Left = { groups: [], roles: [] }

/**
 * Takes back only rights that linked accounts at providers gave by a mapping: rights that an administrator gave by hand stay, and so do
 * rights from other linked accounts. The last superadmin with a password stays one.
 *
 * Threat: somebody who wants to keep a project or a role unlinks the account at the provider, so that the provider is never asked again. So
 * rights from a mapping are taken back by every action after which the provider could not take them back.
 *
 * @param user locked; call under `lockSuperadmins` if one of the linked accounts may have given a role
 */
export async function takeBack(
  trx: Db,
  user: UserRow,
  identities: readonly SignInIdentityRow[],
  left: Left = NOTHING_LEFT,
): Promise<TakenBack> {
  let taken: TakenBack = { user, projects: [], role: null, remains: [], ended: [] }
  for (const { issuer } of identities) {
    const next = await takeBackOne(trx, taken.user, issuer, left)
    taken = {
      user: next.user,
      projects: [...taken.projects, ...next.projects],
      role: taken.role ?? next.role,
      remains: [...taken.remains, ...next.remains],
      ended: [...taken.ended, ...next.ended],
    }
  }
  return taken
}

/** An account has at most one linked account of each issuer. */
async function takeBackOne(trx: Db, user: UserRow, issuer: string, left: Left): Promise<TakenBack> {
  const all = await listIdentities(trx, user.id)
  const mine = all.find(one => one.issuer === issuer)
  const nothing = { user, projects: [], role: null, remains: [], ended: [] }
  if (!mine || (mine.given_groups.length === 0 && mine.given_role === null)) return nothing
  const others = all.filter(one => one !== mine)
  const current = await listMemberships(trx, user.id)
  const ids = current.map(({ id }) => id)
  const { remove, given } = nextMemberships({
    current: ids,
    mine: mine.given_groups,
    others: others.flatMap(one => one.given_groups),
    wanted: mine.given_groups.filter(id => left.groups.includes(id) && ids.includes(id)),
  })
  // A doubtful linked account gives no role, so it cannot preserve one either.
  const canKeep = !mine.doubtful && mine.given_role !== null && left.roles.includes(mine.given_role)
  const next = nextRole({ role: user.role, mine, others }, canKeep ? mine.given_role : null)
  const isLast =
    user.role === 'superadmin' && next.role !== 'superadmin' && user.password_set && (await countSuperadmins(trx)) <= 1
  const role = isLast ? user.role : next.role
  await removeMembers(trx, user.id, remove)
  const { givenRole, roleBefore } = isLast ? { givenRole: mine.given_role, roleBefore: mine.role_before } : next
  await noteGiven(trx, mine, { givenGroups: given, givenRole, roleBefore })
  const changesRole = role !== user.role
  if (!changesRole && remove.length === 0) return nothing
  const ended = changesRole ? await endAccess(trx, user) : []
  // Same as for a change by an administrator.
  const remains = changesRole ? await endKeypairs(trx, user.id) : []
  const changed = changesRole ? await updateUser(trx, user.id, { role }) : await touchUser(trx, user.id)
  const projects = current.filter(({ id }) => remove.includes(id)).map(({ name }) => name)
  return { user: changed ?? user, projects, role: changesRole ? user.role : null, remains, ended }
}

/** Unlinks accounts at providers, and takes back the rights that they gave. @param user as for `takeBack` */
export async function unlinkIdentities(
  trx: Db,
  user: UserRow,
  identities: readonly SignInIdentityRow[],
): Promise<TakenBack> {
  const taken = await takeBack(trx, user, identities)
  for (const identity of identities) await deleteIdentity(trx, identity)
  return taken
}

/** Unlinks accounts that somebody else may have linked. No mapping gives a role by those, so no lock of superadmins is needed. */
export async function unlinkDoubtful(trx: Db, user: UserRow): Promise<TakenBack & { readonly unlinked: number }> {
  const doubtful = (await listIdentities(trx, user.id)).filter(one => one.doubtful)
  return { ...(await unlinkIdentities(trx, user, doubtful)), unlinked: doubtful.length }
}

/** Messages to the person about rights that were taken back. */
export function newsOfTaken({ user, projects, role, remains }: TakenBack): readonly News[] {
  const names = [...(role === null ? [] : [role]), ...projects]
  if (names.length === 0) return []
  return [{ ...newsOfOwn(user, 'own_mapping_ended'), detail: inShort(names, names.length) }, ...remains]
}

/** Detail of the entry in the audit log. */
export function toldOfTaken({ user, projects, role }: TakenBack): Readonly<Record<string, string>> {
  return {
    ...(projects.length > 0 ? { projectsRemoved: projects.join(', ').slice(0, 500) } : {}),
    ...(role === null ? {} : { roleBefore: role, role: user.role }),
  }
}
