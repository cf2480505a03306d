import {
  type ApiClient,
  DEFAULT_GROUP,
  type Domain,
  type Group,
  type ResourceGroup,
  type ResourcePolicy,
} from '#manager/contract'

/** Things that refer to one thing, and the page that lists them. */
export interface Holder {
  readonly kind: 'users' | 'keypairs' | 'projects' | 'agents' | 'sessions'
  readonly count: number
  readonly to: string
}

type Api = Pick<ApiClient, 'listUsers' | 'listGroups' | 'listSessions'>
const named = encodeURIComponent

export const holdersOfPolicy = ({ name, users, keypairs }: ResourcePolicy): readonly Holder[] => [
  { kind: 'users', count: users, to: `/admin/users?state=all&policy=${named(name)}` },
  { kind: 'keypairs', count: keypairs, to: `/admin/credentials?state=all&q=${named(name)}` },
]

export const holdersOfProject = ({ id, members }: Group): readonly Holder[] => [
  { kind: 'users', count: members, to: `/admin/users?state=all&group=${id}` },
]

export async function holdersOfGroup(
  api: Api,
  { name, agents = 0 }: ResourceGroup,
  signal: AbortSignal,
): Promise<readonly Holder[]> {
  const { total } = await api.listSessions({ query: { resourceGroup: name, status: 'live', limit: 1 }, signal })
  return [
    { kind: 'agents', count: agents, to: `/admin/agents?group=${named(name)}` },
    { kind: 'sessions', count: total, to: `/admin/sessions?group=${named(name)}` },
  ]
}

/** The project `default` is deleted with its domain, so it does not count. */
export async function holdersOfDomain(
  api: Api,
  { name: domain }: Domain,
  signal: AbortSignal,
): Promise<readonly Holder[]> {
  const [users, projects, sessions] = await Promise.all([
    api.listUsers({ query: { domain, limit: 1 }, signal }),
    api.listGroups({ query: { domain }, signal }),
    api.listSessions({ query: { domain, status: 'live', limit: 1 }, signal }),
  ])
  const others = projects.items.filter(({ name }) => name !== DEFAULT_GROUP).length
  return [
    { kind: 'users', count: users.total, to: `/admin/users?state=all&domain=${named(domain)}` },
    { kind: 'projects', count: others, to: `/admin/projects?domain=${named(domain)}` },
    { kind: 'sessions', count: sessions.total, to: `/admin/sessions?domain=${named(domain)}` },
  ]
}
