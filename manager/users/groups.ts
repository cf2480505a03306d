import { defined } from '#base/defined'
import {
  AppError,
  because,
  DEFAULT_GROUP,
  formatGpuLimits,
  formatSlots,
  parseGpuLimits,
  type Group,
  type GroupChange,
  GroupId,
  type GroupSort,
  type GroupSpec,
  LIMITED_BY,
  readSort,
  type Removed,
  type UserId,
} from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { holdDomain } from '../store/identity/domains.ts'
import { keepGroups } from '../store/identity/sign-in-identities.ts'
import {
  addMembers,
  countGroups,
  type CountedGroupRow,
  findGroup,
  type GroupFilter,
  type VisibleGroups,
  insertGroup,
  listGroups,
  removeMembers,
  settingsOf,
  updateGroup,
} from '../store/identity/groups.ts'
import { noSuchDomain } from '../store/missing.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { countSessionsOf, deleteGroup, lockGroup, removeAllMembers } from '../store/identity/removal.ts'
import { type Db } from '../store/schema.ts'
import { isUniqueViolation } from '../store/violations.ts'
import { touchUser, type UserRow } from '../store/identity/users.ts'
import { administers, type Caller, isSuperadmin, managesAccount } from './authorize.ts'
import { baseUnits } from './domains.ts'
import { countFoldersOf } from '../store/storage/folders.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { folders, liveSessions, purgeSessions, requireEmpty } from './removal.ts'

/**
 * Groups (projects), which superadmins and the admins of their domain create, change and delete. For a caller who may not see a group, it
 * does not exist.
 */
export interface Groups {
  /**
   * Lists the caller's own groups; for an admin those of the domain, for a superadmin all.
   *
   * @throws AppError `bad_request` for a wrong cursor
   */
  list(caller: Caller, query: GroupQuery): Promise<{ items: Group[]; nextCursor: string | null; total: number }>
  /** @throws AppError `domain_not_found`, `group_exists` */
  create(caller: Caller, spec: GroupSpec): Promise<Group>
  /** A key that is left out keeps its value. @throws AppError `group_not_found`, `group_exists` */
  update(caller: Caller, id: GroupId, change: GroupChange): Promise<Group>
  /**
   * Adds a member; a membership from the mapping of a sign-in provider becomes permanent. @throws AppError `group_not_found`,
   * `user_not_found` (also for a user of another domain)
   */
  addMember(caller: Caller, id: GroupId, userId: UserId): Promise<void>
  /**
   * Deletes an empty group; with `purge` its members and the records of its ended sessions are deleted too.
   *
   * @throws AppError `group_not_found`, `group_in_use` (also for the project `default`, which is deleted with its domain)
   */
  remove(caller: Caller, id: GroupId, options: { purge?: boolean | undefined }): Promise<Removed>
  /** Sessions that run in the group continue. @throws as `addMember` */
  removeMember(caller: Caller, id: GroupId, userId: UserId): Promise<void>
}

export interface GroupQuery extends Omit<GroupFilter, 'visible'> {
  readonly mine?: boolean | undefined
  readonly sort?: GroupSort | undefined
  /** Undefined: no limit. */
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

export interface GroupsDeps {
  readonly store: Store
  readonly notifier: AccountNotifier
  readonly events: EventPublisher
  readonly onLimitsChanged?: () => void
  /** Called when the limit for the folders of a project has changed. */
  readonly onFolderLimitsChanged?: () => void
  /** Called when users have left a project. */
  readonly onMembersLeft?: (userIds: readonly UserId[]) => void
}

export function createGroups({
  store,
  notifier,
  events,
  onLimitsChanged,
  onFolderLimitsChanged,
  onMembersLeft,
}: GroupsDeps): Groups {
  async function managed(caller: Caller, id: GroupId, db: Db = store.db): Promise<CountedGroupRow> {
    const group = await findGroup(db, id)
    if (!group || !administers(caller, group.domain)) throw new AppError('group_not_found', { groupId: id })
    return group
  }

  async function changeMember(
    caller: Caller,
    { id, userId }: { id: GroupId; userId: UserId },
    change: (trx: Db) => Promise<void>,
  ): Promise<void> {
    const { member: user, news } = await store.transaction(async trx => {
      const group = await managed(caller, id, trx)
      // Increments the version and locks the row, so that nobody moves the user to another domain meanwhile.
      const member = await touchUser(trx, userId)
      if (!member || !mayBeMember(caller, group, member)) throw new AppError('user_not_found', { userId })
      await change(trx)
      const news = [{ userId, by: caller, kind: 'projects_changed' as const, detail: group.name }]
      await notifier.write(trx, news)
      return { member, news }
    })
    events.publish({ topic: 'user', id: userId, version: user.version }, { userId, domain: user.domain })
    await notifier.announce(news)
  }

  return {
    async list(caller, { mine = false, sort = 'domain', limit, cursor, ...wanted }) {
      const filter = { ...wanted, visible: visibleGroups(caller, mine) }
      const page = {
        limit: limit && limit + 1,
        after: cursor === undefined ? undefined : parseCursor(cursor),
        ...readSort(sort),
      }
      const [rows, total] = await Promise.all([
        listGroups(store.db, { ...filter, ...page }),
        countGroups(store.db, filter),
      ])
      const items = rows.slice(0, limit).map(toView)
      const nextCursor = rows.length > items.length ? (items.at(-1)?.id ?? null) : null
      return { items, nextCursor, total }
    },

    async create(caller, { domain = caller.domain, name, limits, gpuLimits, ...settings }) {
      const id = newId(GroupId)
      const created = await store.transaction(async trx => {
        const known = administers(caller, domain) && (await holdDomain(trx, domain))
        if (!known) throw noSuchDomain(domain)
        return insertGroup(trx, { id, domain, name, ...settings, ...stored({ limits, gpuLimits }) })
      })
      if (!created) throw existing(domain, name)
      return toView({ ...created, members: 0 })
    },

    async update(caller, id, { limits, gpuLimits, ...change }) {
      const group = await managed(caller, id)
      try {
        await updateGroup(store.db, id, { ...change, ...stored({ limits, gpuLimits }) })
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        throw existing(group.domain, change.name ?? group.name, error)
      }
      const limited = limitedBy({ limits, gpuLimits, ...change })
      if (limited.has('folders')) onFolderLimitsChanged?.()
      if (limited.has('sessions')) onLimitsChanged?.()
      return toView(await managed(caller, id))
    },

    async remove(caller, id, { purge = false }) {
      const { active, name, domain } = await managed(caller, id)
      if (name === DEFAULT_GROUP) {
        throw new AppError('group_in_use', {
          name,
          ...because('default_project_stays'),
        })
      }
      const sessions = purge && !active ? await purgeSessions(store, { groupId: id }) : 0
      const members = await store.transaction(async trx => {
        await lockGroup(trx, id)
        const group = await managed(caller, id, trx)
        const count = await countSessionsOf(trx, { groupId: id })
        const contents = {
          holds: [...liveSessions(count), ...folders(await countFoldersOf(trx, { groupId: id }))],
          purgeable: { members: group.members, records: count.ended },
        }
        requireEmpty('group_in_use', name, contents, { purge, active: group.active })
        const gone = await removeAllMembers(trx, id)
        await deleteGroup(trx, id)
        return gone
      })
      for (const { id: userId, domain: of, version } of members) {
        events.publish({ topic: 'user', id: userId, version }, { userId, domain: of })
      }
      onMembersLeft?.(members.map(member => member.id))
      return { name: `${domain}/${name}`, members: members.length, sessions }
    },

    addMember: (caller, id, userId) =>
      changeMember(caller, { id, userId }, async trx => {
        await addMembers(trx, [id], userId)
        await keepGroups(trx, userId, [id])
      }),
    async removeMember(caller, id, userId) {
      await changeMember(caller, { id, userId }, trx => removeMembers(trx, userId, [id]))
      onMembersLeft?.([userId])
    },
  }
}

const stored = ({ limits, gpuLimits }: Pick<GroupChange, 'limits' | 'gpuLimits'>) => ({
  limits: baseUnits(limits),
  gpuLimits: gpuLimits && parseGpuLimits(gpuLimits),
})

const limitedBy = (change: GroupChange) =>
  new Set(Object.keys(defined(change)).map(key => LIMITED_BY[key as keyof GroupChange]))

/** @returns undefined if the caller sees all groups */
function visibleGroups(caller: Caller, mine: boolean): VisibleGroups | undefined {
  if (mine || caller.role === 'user') return { member: caller.userId }
  return isSuperadmin(caller) ? undefined : { domain: caller.domain }
}

function parseCursor(cursor: string): GroupId {
  const parsed = GroupId.safeParse(cursor)
  if (!parsed.success) throw new AppError('bad_request', because('cursor_wrong'))
  return parsed.data
}

/** Admins may also add themselves: the admin of a domain works in its groups. */
function mayBeMember(caller: Caller, group: CountedGroupRow, user: UserRow): boolean {
  return user.domain === group.domain && managesAccount(caller, user)
}

function existing(domain: string, name: string, cause?: unknown): AppError {
  const why = because('domain_has_project', { domain, project: name })
  return new AppError('group_exists', { domain, name, ...why }, { cause })
}

function toView(row: CountedGroupRow): Group {
  const { id, domain, name, limits, members, created_at, version } = row
  return {
    id,
    domain,
    name,
    ...settingsOf(row),
    limits: formatSlots(limits),
    gpuLimits: formatGpuLimits(row.gpu_limits),
    members,
    createdAt: created_at.toISOString(),
    version,
  }
}
