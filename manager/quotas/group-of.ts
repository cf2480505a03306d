import { defined } from '#base/defined'
import { isLikeId } from '#base/shapes'
import { AppError, because, DEFAULT_GROUP } from '#manager/contract'
import { type GroupRow, listMemberships } from '../store/identity/groups.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'

/**
 * The group (project) of a new session of the caller: the one of the caller's groups with this name. Without a name, it is
 * their only active group, or the one named `default`.
 *
 * @param wanted id or name, in any letter case
 * @throws AppError `group_not_found`, `group_inactive`
 */
export async function requireGroupOf(db: Db, caller: Caller, wanted?: string): Promise<GroupRow> {
  const groups = await listMemberships(db, caller.userId, caller.domain)
  const group = wanted === undefined ? usual(groups) : named(groups, wanted)
  if (!group) {
    const names = groups.map(({ name }) => name).join(', ')
    if (groups.length === 0) throw new AppError('group_not_found', because('member_of_no_project'))
    const why =
      wanted === undefined
        ? because('choose_project', { projects: names })
        : because('not_member_of_project', { project: wanted, projects: names })
    throw new AppError('group_not_found', { ...defined({ name: wanted }), ...why })
  }
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
