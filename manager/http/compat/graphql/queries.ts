import {
  type ApiClient,
  AppError,
  GroupId,
  isAppError,
  type Keypair,
  type Session,
  SESSION_STATUSES,
  type SessionStatus,
} from '#manager/contract'
import { findKeypair, findSession, findUser } from '../find.ts'
import { tellFolder } from '../tell-folder.ts'
import { tellSession } from '../tell-session.ts'
import { type GraphqlContext } from './context.ts'
import { type ListArguments, readFilter, readOrder, readSlice, sliceOf } from './pages.ts'
import {
  tellAgent,
  tellDomain,
  tellGroup,
  tellImage,
  tellKeypair,
  tellPolicy,
  tellPreset,
  tellScalingGroup,
  tellUser,
} from './tell.ts'

interface Named {
  readonly name?: string | null
}
interface SessionListArguments extends ListArguments {
  readonly status?: string | null
  readonly access_key?: string | null
  readonly domain_name?: string | null
  readonly group_id?: string | null
  readonly project_id?: string | null
}
interface UserListArguments extends Partial<ListArguments> {
  readonly status?: string | null
  readonly is_active?: boolean | null
  readonly domain_name?: string | null
  readonly group_id?: string | null
}

/** Resolvers of the queries. Each asks the API as the sender, which decides what the sender sees. */
export const QUERIES = {
  keypair: ownKeypair,
  async keypair_list(
    args: ListArguments & { email?: string | null; is_active?: boolean | null },
    { calls: { api } }: GraphqlContext,
  ) {
    const order = { access_key: 'key', email: 'email', created_at: 'created', last_used: 'used', rate_limit: 'rate' }
    const { email = args.email, access_key } = readFilter(args.filter, ['email', 'access_key'])
    const sort = readOrder(args.order, order)
    const search = email ?? access_key
    const admin = await isAdmin(api)
    const page = await readSlice(args, part =>
      api.listKeypairs({
        query: {
          ...part,
          ...flag('active', args.is_active),
          ...(search ? { search } : {}),
          ...(sort ? { sort: sort as never } : {}),
        },
      }),
    )
    return { ...page, items: page.items.map(item => tellKeypair(item, { isAdmin: admin })) }
  },
  async keypairs(args: { email?: string | null; is_active?: boolean | null }, context: GraphqlContext) {
    return (await QUERIES.keypair_list({ limit: 1_000, offset: 0, ...args }, context)).items
  },

  async compute_session(
    { id, sess_id }: { id?: string | null; sess_id?: string | null },
    { calls: { api } }: GraphqlContext,
  ) {
    return orNull('session_not_found', async () => tellSession(await findSession(api, id ?? sess_id ?? '')))
  },
  compute_session_list: sessionList,

  vfolder_list: folderList,
  vfolder_own_list: folderList,

  async agent({ agent_id }: { agent_id: string }, { calls: { api } }: GraphqlContext) {
    const { items } = await api.listAgents()
    const agent = items.find(({ id, name }) => id === agent_id || name === agent_id)
    return agent ? tellAgent(agent) : null
  },
  agents: async (args: { scaling_group?: string | null; status?: string | null }, { calls: { api } }: GraphqlContext) =>
    (await agentsOf(api, args)).map(tellAgent),
  async agent_list(
    args: ListArguments & { scaling_group?: string | null; status?: string | null },
    { calls: { api } }: GraphqlContext,
  ) {
    const page = sliceOf(await agentsOf(api, args), args)
    return { ...page, items: page.items.map(tellAgent) }
  },

  async images(_args: unknown, { calls: { api } }: GraphqlContext) {
    const { items } = await api.listImages()
    return items.map(tellImage)
  },
  async image({ reference }: { reference: string }, { calls: { api } }: GraphqlContext) {
    const { items } = await api.listImages()
    const image = items.find(item => item.reference === reference || item.aliases.includes(reference))
    return image ? tellImage(image) : null
  },

  async user({ email }: { email?: string | null }, { calls: { api } }: GraphqlContext) {
    const { user } = await api.me()
    if (!email || email === user.email) return tellUser(user)
    return orNull('user_not_found', async () => tellUser(await findUser(api, email)))
  },
  user_from_uuid: ({ user_id }: { user_id: string }, { calls: { api } }: GraphqlContext) =>
    orNull('user_not_found', async () => tellUser(await findUser(api, user_id))),
  user_list: (args: ListArguments & UserListArguments, { calls: { api } }: GraphqlContext) => userList(api, args),
  users: async (args: UserListArguments, { calls: { api } }: GraphqlContext) =>
    (await userList(api, { limit: 1_000, offset: 0, ...args })).items,

  async group({ id }: { id: string }, { calls: { api } }: GraphqlContext) {
    return (await groupsOf(api)).find(group => group.id === id) ?? null
  },
  groups: (args: { domain_name?: string | null; is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    groupsOf(api, args),
  groups_by_name: async (args: { name: string; domain_name?: string | null }, { calls: { api } }: GraphqlContext) =>
    (await groupsOf(api, args)).filter(({ name }) => name === args.name),
  async domain({ name }: Named, { calls: { api } }: GraphqlContext) {
    const wanted = name ?? (await api.me()).user.domain
    return (await domainsOf(api)).find(domain => domain.name === wanted) ?? null
  },
  domains: async ({ is_active }: { is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    (await domainsOf(api)).filter(domain => is_active == null || domain.is_active === is_active),

  keypair_resource_policies: (_args: unknown, { calls: { api } }: GraphqlContext) => policiesOf(api),
  async keypair_resource_policy({ name }: Named, { calls: { api } }: GraphqlContext) {
    return (await policiesOf(api)).find(policy => policy.name === (name ?? 'default')) ?? null
  },
  resource_presets: async (_args: unknown, { calls: { api } }: GraphqlContext) =>
    (await api.listPresets({ query: { fits: 'false' } })).items.map(tellPreset),
  async resource_preset({ name }: Named, { calls: { api } }: GraphqlContext) {
    const preset = (await api.listPresets({ query: { fits: 'false' } })).items.find(item => item.name === name)
    return preset ? tellPreset(preset) : null
  },

  scaling_groups: (args: { is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    scalingGroupsOf(api, args),
  scaling_groups_for_domain: (args: { is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    scalingGroupsOf(api, args),
  scaling_groups_for_user_group: (args: { is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    scalingGroupsOf(api, args),
  scaling_groups_for_keypair: (args: { is_active?: boolean | null }, { calls: { api } }: GraphqlContext) =>
    scalingGroupsOf(api, args),
  async scaling_group({ name }: Named, { calls: { api } }: GraphqlContext) {
    return (await scalingGroupsOf(api, {})).find(group => group.name === name) ?? null
  },

  async storage_volume_list(args: ListArguments, { calls: { api } }: GraphqlContext) {
    return sliceOf(await volumesOf(api), args)
  },
  async storage_volume({ id }: { id?: string | null }, { calls: { api } }: GraphqlContext) {
    return (await volumesOf(api)).find(volume => volume.id === id) ?? null
  },
}

const flag = <K extends string>(key: K, value: boolean | null | undefined) =>
  (value == null ? {} : { [key]: String(value) }) as Partial<Record<K, string>>

/** Reads a single thing, for which the original answers null instead of an error if it is not there. */
async function orNull<T>(code: string, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (isAppError(error) && error.code === code) return null
    throw error
  }
}

async function isAdmin(api: ApiClient): Promise<boolean> {
  return (await api.me()).user.role !== 'user'
}

/** The keypair that signs; in web mode, the first one that is active. People without any get an empty one, so that clients go on. */
async function ownKeypair({ access_key }: { access_key?: string | null }, { calls: { api }, sender }: GraphqlContext) {
  const { user } = await api.me()
  const isOwner = user.role !== 'user'
  const projects = user.groups.map(({ name }) => name)
  const wanted = access_key ?? (sender.kind === 'keypair' ? sender.accessKey : undefined)
  if (wanted !== undefined) {
    const found: Keypair | null = await orNull('keypair_not_found', () => findKeypair(api, wanted))
    return found && tellKeypair(found, { isAdmin: isOwner, projects })
  }
  const { items } = await api.listKeypairs({ query: { owner: user.id, limit: 100 } })
  const own = items.find(({ active }) => active)
  if (own) return tellKeypair(own, { isAdmin: isOwner, projects })
  return {
    user_id: user.email,
    user: user.id,
    access_key: '',
    secret_key: '',
    is_active: false,
    is_admin: isOwner,
    projects,
  }
}

const isStatus = (name: string): name is SessionStatus => (SESSION_STATUSES as readonly string[]).includes(name)

/**
 * Sessions in the states that clients name; those that Berth has not are ignored. With the own access key, these are all own sessions: what
 * was launched on the page is there as well.
 */
async function sessionList(args: SessionListArguments, { calls: { api }, sender }: GraphqlContext) {
  const names = args.status?.split(',').map(name => name.trim().toUpperCase()) ?? []
  const status = names.filter(isStatus)
  if (names.length > 0 && status.length === 0) return { items: [], total_count: 0 }
  const key = args.access_key
  const isOwn = key != null && (sender.kind !== 'keypair' || key === sender.accessKey)
  const sort = readOrder(args.order, {
    name: 'name',
    status: 'status',
    created_at: 'created',
    terminated_at: 'ended',
    image: 'image',
  })
  const { name } = readFilter(args.filter, ['name'])
  const group = args.group_id ?? args.project_id
  const page = await readSlice<Session>(args, part =>
    api.listSessions({
      query: {
        ...part,
        ...(status.length > 0 ? { status: status.join(',') } : {}),
        ...(isOwn ? { mine: 'true' } : key == null ? {} : { accessKey: key }),
        ...(group == null ? {} : { group: readGroup(group) }),
        ...(args.domain_name == null ? {} : { domain: args.domain_name }),
        ...(name === undefined ? {} : { search: name }),
        ...(sort === undefined ? {} : { sort: sort as never }),
      },
    }),
  )
  return { ...page, items: page.items.map(tellSession) }
}

function readGroup(text: string): GroupId {
  const id = GroupId.safeParse(text)
  if (id.success) return id.data
  throw new AppError('group_not_found')
}

async function folderList(args: ListArguments & { group_id?: string | null }, { calls: { api } }: GraphqlContext) {
  const { name } = readFilter(args.filter, ['name', 'status'])
  const [{ items }, { user }] = await Promise.all([api.listFolders(), api.me()])
  const all = items
    .filter(folder => args.group_id == null || folder.group?.id === args.group_id)
    .filter(folder => name === undefined || folder.name.includes(name))
    .map(folder => tellFolder(folder, user.id))
  return sliceOf(all, args)
}

async function agentsOf(
  api: ApiClient,
  { scaling_group, status }: { scaling_group?: string | null; status?: string | null },
) {
  const { items } = await api.listAgents()
  const wanted = { ALIVE: 'CONNECTED', LOST: 'LOST', TERMINATED: 'REVOKED' }[status?.toUpperCase() ?? 'ALIVE']
  return items.filter(
    agent => agent.status === wanted && (scaling_group == null || agent.resourceGroup === scaling_group),
  )
}

async function userList(api: ApiClient, args: ListArguments & UserListArguments) {
  const { email, username } = readFilter(args.filter, ['email', 'username', 'full_name'])
  const sort = readOrder(args.order, {
    email: 'email',
    username: 'email',
    full_name: 'name',
    created_at: 'created',
    role: 'role',
  })
  const active = args.is_active ?? (args.status == null ? undefined : args.status.toLowerCase() === 'active')
  const search = email ?? username
  const page = await readSlice(args, part =>
    api.listUsers({
      query: {
        ...part,
        ...flag('active', active),
        ...(args.domain_name == null ? {} : { domain: args.domain_name }),
        ...(args.group_id == null ? {} : { group: readGroup(args.group_id) }),
        ...(search === undefined ? {} : { search }),
        ...(sort === undefined ? {} : { sort: sort as never }),
      },
    }),
  )
  return { ...page, items: page.items.map(tellUser) }
}

async function hostNames(api: ApiClient): Promise<string[]> {
  return (await api.listStorageHosts()).items.map(({ name }) => name)
}

async function groupsOf(
  api: ApiClient,
  { domain_name, is_active }: { domain_name?: string | null; is_active?: boolean | null } = {},
) {
  const [{ items }, hosts] = await Promise.all([
    api.listGroups({
      query: { ...(domain_name == null ? {} : { domain: domain_name }), ...flag('active', is_active) },
    }),
    hostNames(api),
  ])
  return items.map(group => tellGroup(group, hosts))
}

async function domainsOf(api: ApiClient) {
  const [{ items }, hosts] = await Promise.all([api.listDomains(), hostNames(api)])
  return items.map(domain => tellDomain(domain, hosts))
}

async function policiesOf(api: ApiClient) {
  const [{ items }, hosts] = await Promise.all([api.listResourcePolicies(), hostNames(api)])
  return items.map(policy => tellPolicy(policy, hosts))
}

async function scalingGroupsOf(api: ApiClient, { is_active }: { is_active?: boolean | null }) {
  const { items } = await api.listResourceGroups()
  return items.map(tellScalingGroup).filter(group => is_active == null || group.is_active === is_active)
}

async function volumesOf(api: ApiClient) {
  const { items } = await api.listStorageHosts()
  return items.map(({ name, space }) => ({
    id: name,
    backend: 'vfs',
    path: '',
    fsprefix: '',
    capabilities: ['vfolder'],
    hardware_metadata: '{}',
    performance_metric: '{}',
    usage: JSON.stringify(
      space ? { used_bytes: space.usedBytes, capacity_bytes: space.usedBytes + space.freeBytes } : {},
    ),
  }))
}
