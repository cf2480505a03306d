import { type ApiClient, AppError, type Group, UserId } from '#manager/contract'

/** Finds a user by e-mail address, or by id. @throws AppError `user_not_found` */
export async function findUserId(api: ApiClient, reference: string): Promise<UserId> {
  const id = UserId.safeParse(reference)
  if (id.success) return id.data
  const { items } = await api.listUsers({ query: { search: reference, limit: 500 } })
  const user = items.find(one => one.email.toLowerCase() === reference.toLowerCase())
  if (!user) throw new AppError('user_not_found', { why: `There is no user "${reference}".` })
  return user.id
}

/**
 * The id of a project: one of the caller's own by this name, else as `findGroup`.
 * @throws AppError `group_not_found`
 */
export async function projectId(api: ApiClient, reference: string): Promise<Group['id']> {
  const { user } = await api.me()
  const own = user.groups.find(({ name }) => name.toLowerCase() === reference.toLowerCase())
  return (own ?? (await findGroup(api, reference))).id
}

/** Finds a project by id, by `domain/name`, or by a name that only one domain has. @throws AppError `group_not_found` */
export async function findGroup(api: ApiClient, reference: string): Promise<Group> {
  const wanted = reference.toLowerCase()
  const { items } = await api.listGroups({ query: { search: reference } })
  const found = items.filter(group =>
    [group.id, group.name.toLowerCase(), `${group.domain}/${group.name}`.toLowerCase()].includes(wanted),
  )
  const [group] = found
  if (group && found.length === 1) return group
  const why = group
    ? `Several domains have a project "${reference}". Name one of: ${found.map(one => `${one.domain}/${one.name}`).join(', ')}.`
    : `There is no project "${reference}".`
  throw new AppError('group_not_found', { name: reference, why })
}
