import {
  type Agent,
  type Domain,
  type Group,
  type Image,
  type Keypair,
  type Preset,
  type ResourceGroup,
  type ResourcePolicy,
  type Role,
  SLOT_NAMES,
  parseAmount,
  type User,
} from '#manager/contract'
import { slotsText } from '../amounts.ts'
import { imageParts } from '../tell-session.ts'

const ROLES: Readonly<Record<Role, string>> = { user: 'user', domain_admin: 'admin', superadmin: 'superadmin' }
const BERTH_ROLES: Readonly<Record<string, Role>> = { user: 'user', admin: 'domain_admin', superadmin: 'superadmin' }
export const readRole = (role: string): Role | undefined => BERTH_ROLES[role.toLowerCase()]

/** The secret key is in no answer: Berth shows it once, to the person who makes the keypair. */
export function tellKeypair(
  keypair: Keypair,
  { isAdmin, projects = [] }: { isAdmin: boolean; projects?: readonly string[] },
) {
  return {
    id: keypair.accessKey,
    user_id: keypair.email,
    user: keypair.userId,
    full_name: keypair.email,
    access_key: keypair.accessKey,
    secret_key: '',
    is_active: keypair.active,
    is_admin: isAdmin,
    resource_policy: keypair.resourcePolicy,
    created_at: keypair.createdAt,
    last_used: keypair.lastUsedAt,
    rate_limit: keypair.rateLimit,
    num_queries: 0,
    rolling_count: 0,
    concurrency_used: 0,
    concurrency_limit: 0,
    projects,
    user_info: { email: keypair.email, full_name: keypair.email },
  }
}

export function tellUser(user: User) {
  return {
    id: user.id,
    uuid: user.id,
    username: user.email,
    email: user.email,
    need_password_change: user.mustChangePassword,
    full_name: user.name,
    description: user.description,
    is_active: user.active,
    status: user.active ? 'active' : 'inactive',
    status_info: '',
    created_at: user.createdAt,
    domain_name: user.domain,
    role: ROLES[user.role],
    resource_policy: user.resourcePolicy,
    allowed_client_ip: [],
    totp_activated: user.secondFactor,
    sudo_session_enabled: false,
    groups: user.groups,
  }
}

/** @param hosts names of the storage hosts, which Berth does not limit by project */
export function tellGroup(group: Group, hosts: readonly string[]) {
  return {
    id: group.id,
    name: group.name,
    description: group.description,
    is_active: group.active,
    created_at: group.createdAt,
    domain_name: group.domain,
    total_resource_slots: slotsText(group.limits),
    allowed_vfolder_hosts: hostRights(hosts),
    type: 'GENERAL',
  }
}

export function tellDomain(domain: Domain, hosts: readonly string[]) {
  return {
    name: domain.name,
    description: domain.description,
    is_active: domain.active,
    created_at: domain.createdAt,
    total_resource_slots: slotsText(domain.limits),
    allowed_vfolder_hosts: hostRights(hosts),
    allowed_docker_registries: domain.allowedRegistries ?? [],
  }
}

const RIGHTS = [
  'create-vfolder',
  'modify-vfolder',
  'delete-vfolder',
  'mount-in-session',
  'upload-file',
  'download-file',
]
const hostRights = (hosts: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(hosts.map(host => [host, RIGHTS])))

export function tellPolicy(policy: ResourcePolicy, hosts: readonly string[]) {
  return {
    name: policy.name,
    created_at: policy.createdAt,
    default_for_unspecified: 'UNLIMITED',
    total_resource_slots: slotsText(policy.limits),
    max_session_lifetime: policy.maxLifetimeSeconds ?? 0,
    max_concurrent_sessions: policy.maxConcurrentSessions ?? 1_000_000,
    max_concurrent_sftp_sessions: 0,
    max_containers_per_session: policy.maxContainersPerSession ?? 1,
    idle_timeout: policy.idleTimeoutSeconds ?? 0,
    allowed_vfolder_hosts: hostRights(policy.allowedStorageHosts ?? hosts),
    max_vfolder_count: policy.maxFolders ?? 0,
    max_vfolder_size: policy.maxFolderBytes ?? 0,
    max_quota_scope_size: policy.maxFolderBytes ?? -1,
  }
}

export const tellPreset = ({ name, slots, shmem }: Preset) => ({
  name,
  resource_slots: slotsText(slots),
  shared_memory: shmem === null ? null : (parseAmount('mem', shmem) ?? null),
})

export function tellScalingGroup(group: ResourceGroup) {
  return {
    name: group.name,
    description: group.description,
    is_active: group.active,
    is_public: true,
    created_at: group.createdAt,
    wsproxy_addr: '',
    driver: group.engine === 'berth' ? 'static' : group.engine,
    driver_opts: '{}',
    scheduler: group.sequencer,
    scheduler_opts: JSON.stringify({
      allowed_session_types: ['interactive', 'batch'],
      agent_selection_strategy: group.selector,
    }),
    use_host_network: false,
  }
}

export function tellImage(image: Image) {
  const { registry, name, tag } = imageParts(image.reference)
  return {
    id: image.digest,
    name,
    namespace: name,
    base_image_name: name.split('/').at(-1),
    humanized_name: image.title,
    project: name.split('/')[0],
    tag,
    registry,
    architecture: image.architecture ?? 'x86_64',
    is_local: image.registry === null,
    digest: image.digest,
    size_bytes: image.sizeBytes,
    labels: [],
    aliases: image.aliases,
    resource_limits: SLOT_NAMES.flatMap(key => {
      const min = image.minimum[key]
      return min === undefined ? [] : [{ key, min, max: null }]
    }),
    supported_accelerators: ['*'],
    installed: image.holders > 0,
    installed_agents: image.agentIds ?? [],
    hash: image.digest,
    status: 'ALIVE',
  }
}

/** Value of `live_stat` of a host: clients read its `node`, which has no figures of its own in Berth. */
const NO_FIGURES = JSON.stringify({ node: {}, devices: {} })

export function tellAgent(
  agent: Pick<
    Agent,
    'id' | 'name' | 'status' | 'resourceGroup' | 'schedulable' | 'capacity' | 'occupied' | 'version' | 'lastSeenAt'
  >,
) {
  return {
    id: agent.name,
    status: { CONNECTED: 'ALIVE', LOST: 'LOST', REVOKED: 'TERMINATED' }[agent.status],
    status_changed: agent.lastSeenAt,
    region: 'local',
    architecture: 'x86_64',
    scaling_group: agent.resourceGroup,
    schedulable: agent.schedulable,
    available_slots: slotsText(agent.capacity),
    occupied_slots: slotsText(agent.occupied),
    addr: agent.name,
    public_host: agent.name,
    first_contact: agent.lastSeenAt,
    lost_at: agent.status === 'LOST' ? agent.lastSeenAt : null,
    live_stat: NO_FIGURES,
    version: agent.version,
    compute_plugins: '{}',
    hardware_metadata: '{}',
    local_config: '{}',
    cpu_cur_pct: 0,
    mem_cur_bytes: 0,
  }
}
