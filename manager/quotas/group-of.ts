import { isLikeId } from '#base/shapes'
import { AppError, because, DEFAULT_GROUP } from '#manager/contract'
import { findGroups, type GroupRow, listMemberships } from '../store/identity/groups.ts'
import { type Db } from '../store/schema.ts'
import { administers, type Caller, isSuperadmin } from '../users/authorize.ts'

/**
 * The group (project) for a new session of the caller: the caller's group with this name. Without a name, it is their only active group, or
 * the one named `default`.
 *
 * @param wanted id or name, in any letter case
 * @throws AppError `group_needed` (a choice among several), `group_not_found`, `group_inactive`
 */
export async function requireGroupOf(db: Db, caller: Caller, wanted?: string): Promise<GroupRow> {
  const groups = await listMemberships(db, caller.userId, caller.domain)
  const group = wanted === undefined ? usual(groups) : named(groups, wanted)
  if (!group) {
    const names = groups.map(({ name }) => name).join(', ')
    if (groups.length === 0) throw new AppError('group_not_found', because('member_of_no_project'))
    if (wanted === undefined) throw new AppError('group_needed', because('choose_project', { projects: names }))
    const why = because('not_member_of_project', { project: wanted, projects: names })
    throw new AppError('group_not_found', { name: wanted, ...why })
  }
  return requireActive(group)
}

/**
 * The group that will own a folder. Administrators may name any group that they administer, whether they are members or not; of groups with
 * the same name, their own takes precedence.
 *
 * @param wanted id or name, in any letter case
 * @throws AppError `group_not_found`, `group_inactive`, `forbidden` for everybody else
 */
export async function requireGroupOfAdmin(db: Db, caller: Caller, wanted: string): Promise<GroupRow> {
  const own = named(await listMemberships(db, caller.userId, caller.domain), wanted)
  if (own && administers(caller, own.domain)) return requireActive(own)
  if (!administers(caller, caller.domain)) {
    await requireGroupOf(db, caller, wanted)
    throw new AppError('forbidden', because('only_admin_project_folders'))
  }
  const [group, ...others] = await findGroups(db, isSuperadmin(caller) ? undefined : caller.domain, [wanted])
  if (group && others.length === 0) return requireActive(group)
  const why = because(group ? 'project_in_several_domains' : 'no_project_of_admin', { project: wanted })
  throw new AppError('group_not_found', { name: wanted, ...why })
}

function requireActive(group: GroupRow): GroupRow {
  if (group.active) return group
  throw new AppError('group_inactive', {
    name: group.name,
    ...because('project_deactivated', { project: group.name }),
  })
}

function usual(groups: readonly GroupRow[]): GroupRow | undefined {
  const active = groups.filter(group => group.active)
  if (active.length === 1) return active[0]
  return active.find(group => group.name === DEFAULT_GROUP) ?? (active.length === 0 ? groups[0] : undefined)
}

function named(groups: readonly GroupRow[], wanted: string): GroupRow | undefined {
  const text = wanted.toLowerCase()
  return groups.find(({ id, name }) => (isLikeId(text) ? id === text : name.toLowerCase() === text))
}
