/**
 * Schema of what the adapter answers. Types of input are scalars that take any object, because each version of the clients sends other
 * fields; resolvers check what they read. Fields that Berth has no value for are null.
 */
export const SCHEMA = /* GraphQL */ `
  scalar UUID
  scalar DateTime
  scalar JSON
  scalar JSONString
  scalar BigInt
  scalar ImageLoadFilter
  scalar UserInput
  scalar ModifyUserInput
  scalar PurgeUserInput
  scalar KeyPairInput
  scalar ModifyKeyPairInput
  scalar GroupInput
  scalar ModifyGroupInput
  scalar DomainInput
  scalar ModifyDomainInput
  scalar CreateKeyPairResourcePolicyInput
  scalar ModifyKeyPairResourcePolicyInput
  scalar CreateScalingGroupInput
  scalar ModifyScalingGroupInput
  scalar CreateResourcePresetInput
  scalar ModifyResourcePresetInput

  type Query {
    keypair(domain_name: String, access_key: String): KeyPair
    keypairs(domain_name: String, email: String, is_active: Boolean): [KeyPair]
    keypair_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      domain_name: String
      email: String
      is_active: Boolean
    ): KeyPairList
    compute_session(id: UUID, domain_name: String, access_key: String, sess_id: String): ComputeSession
    compute_session_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      domain_name: String
      group_id: UUID
      project_id: UUID
      access_key: String
      status: String
    ): ComputeSessionList
    vfolder_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      domain_name: String
      group_id: UUID
      access_key: String
    ): VirtualFolderList
    vfolder_own_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      domain_name: String
      access_key: String
    ): VirtualFolderList
    agent(agent_id: String!): Agent
    agents(scaling_group: String, status: String): [Agent]
    agent_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      scaling_group: String
      status: String
    ): AgentList
    image(reference: String!, architecture: String, id: String): Image
    images(
      is_installed: Boolean
      is_operation: Boolean
      filters: [ImageLoadFilter]
      load_filters: [ImageLoadFilter]
      image_filters: [ImageLoadFilter]
    ): [Image]
    user(domain_name: String, email: String): User
    user_from_uuid(domain_name: String, user_id: UUID): User
    users(domain_name: String, group_id: UUID, is_active: Boolean, status: String): [User]
    user_list(
      limit: Int!
      offset: Int!
      filter: String
      order: String
      domain_name: String
      group_id: UUID
      is_active: Boolean
      status: String
    ): UserList
    group(id: UUID!, domain_name: String): Group
    groups(domain_name: String, is_active: Boolean, type: [String]): [Group]
    groups_by_name(name: String!, domain_name: String): [Group]
    domain(name: String): Domain
    domains(is_active: Boolean): [Domain]
    keypair_resource_policy(name: String): KeyPairResourcePolicy
    keypair_resource_policies: [KeyPairResourcePolicy]
    resource_preset(name: String): ResourcePreset
    resource_presets: [ResourcePreset]
    scaling_group(name: String): ScalingGroup
    scaling_groups(name: String, is_active: Boolean): [ScalingGroup]
    scaling_groups_for_domain(domain: String!, is_active: Boolean): [ScalingGroup]
    scaling_groups_for_user_group(user_group: String!, is_active: Boolean): [ScalingGroup]
    scaling_groups_for_keypair(access_key: String!, is_active: Boolean): [ScalingGroup]
    storage_volume(id: String): StorageVolume
    storage_volume_list(limit: Int!, offset: Int!, filter: String, order: String): StorageVolumeList
  }

  type Mutation {
    create_user(email: String!, props: UserInput!): UserResult
    modify_user(email: String!, props: ModifyUserInput!): UserResult
    delete_user(email: String!): Result
    create_keypair(user_id: String, props: KeyPairInput!): KeyPairResult
    modify_keypair(access_key: String!, props: ModifyKeyPairInput!): Result
    delete_keypair(access_key: String!): Result
    create_group(name: String!, props: GroupInput!): GroupResult
    modify_group(gid: UUID!, props: ModifyGroupInput!): GroupResult
    create_domain(name: String!, props: DomainInput!): DomainResult
    modify_domain(name: String!, props: ModifyDomainInput!): DomainResult
    alias_image(alias: String!, target: String!, architecture: String): Result
    dealias_image(alias: String!): Result
    rescan_images(registry: String, project: String): RescanResult
  }

  type Result {
    ok: Boolean
    msg: String
  }
  type UserResult {
    ok: Boolean
    msg: String
    user: User
  }
  type KeyPairResult {
    ok: Boolean
    msg: String
    keypair: KeyPair
  }
  type GroupResult {
    ok: Boolean
    msg: String
    group: Group
  }
  type DomainResult {
    ok: Boolean
    msg: String
    domain: Domain
  }
  type RescanResult {
    ok: Boolean
    msg: String
    task_id: String
  }

  type KeyPairList {
    items: [KeyPair]
    total_count: Int
  }
  type ComputeSessionList {
    items: [ComputeSession]
    total_count: Int
  }
  type VirtualFolderList {
    items: [VirtualFolder]
    total_count: Int
  }
  type AgentList {
    items: [Agent]
    total_count: Int
  }
  type UserList {
    items: [User]
    total_count: Int
  }
  type StorageVolumeList {
    items: [StorageVolume]
    total_count: Int
  }

  type UserInfo {
    email: String
    full_name: String
  }
  type KeyPair {
    id: ID
    user_id: String
    user: UUID
    full_name: String
    access_key: String
    secret_key: String
    is_active: Boolean
    is_admin: Boolean
    resource_policy: String
    created_at: DateTime
    last_used: DateTime
    rate_limit: Int
    num_queries: Int
    rolling_count: Int
    concurrency_used: Int
    concurrency_limit: Int
    ssh_public_key: String
    projects: [String]
    user_info: UserInfo
  }

  type ComputeSessionRef {
    id: UUID
    name: String
  }
  type ComputeSession {
    id: ID
    session_id: UUID
    main_kernel_id: UUID
    tag: String
    name: String
    type: String
    image: String
    registry: String
    architecture: String
    cluster_template: String
    cluster_mode: String
    cluster_size: Int
    priority: Int
    domain_name: String
    group_name: String
    group_id: UUID
    project_id: UUID
    agent: String
    agents: [String]
    agent_ids: [String]
    user_email: String
    full_name: String
    user_id: UUID
    access_key: String
    created_user_email: String
    created_user_id: UUID
    status: String
    status_changed: DateTime
    status_info: String
    status_data: JSONString
    status_history: JSONString
    created_at: DateTime
    terminated_at: DateTime
    starts_at: DateTime
    scheduled_at: DateTime
    startup_command: String
    result: String
    commit_status: String
    abusing_reports: [JSONString]
    idle_checks: JSONString
    resource_opts: JSONString
    scaling_group: String
    service_ports: JSONString
    mounts: [String]
    vfolder_mounts: [String]
    container_id: String
    bootstrap_script: String
    callback_url: String
    occupied_slots: JSONString
    occupying_slots: JSONString
    requested_slots: JSONString
    num_queries: BigInt
    inference_metrics: JSONString
    containers: [ComputeContainer]
    dependencies: [ComputeSessionRef]
  }
  type ComputeContainer {
    id: ID
    kernel_id: UUID
    session_id: UUID
    role: String
    hostname: String
    cluster_role: String
    cluster_idx: Int
    local_rank: Int
    cluster_hostname: String
    image: String
    registry: String
    architecture: String
    status: String
    status_info: String
    status_data: JSONString
    status_changed: DateTime
    created_at: DateTime
    terminated_at: DateTime
    starts_at: DateTime
    agent: String
    agent_id: String
    agent_addr: String
    container_id: String
    resource_opts: JSONString
    occupied_slots: JSONString
    occupying_slots: JSONString
    live_stat: JSONString
    last_stat: JSONString
    preopen_ports: [Int]
    abusing_report: JSONString
  }

  type VirtualFolder {
    id: ID
    host: String
    quota_scope_id: String
    name: String
    user: UUID
    user_email: String
    group: UUID
    group_name: String
    creator: String
    unmanaged_path: String
    usage_mode: String
    permission: String
    ownership_type: String
    max_files: Int
    max_size: BigInt
    created_at: DateTime
    last_used: DateTime
    num_files: Int
    cur_size: BigInt
    cloneable: Boolean
    status: String
    is_owner: Boolean
    type: String
  }

  type Agent {
    id: ID
    status: String
    status_changed: DateTime
    region: String
    architecture: String
    scaling_group: String
    schedulable: Boolean
    available_slots: JSONString
    occupied_slots: JSONString
    addr: String
    public_host: String
    first_contact: DateTime
    lost_at: DateTime
    live_stat: JSONString
    version: String
    compute_plugins: JSONString
    hardware_metadata: JSONString
    local_config: JSONString
    cpu_cur_pct: Float
    mem_cur_bytes: Float
    mem_slots: Int
    cpu_slots: Float
    gpu_slots: Float
    used_mem_slots: Int
    used_cpu_slots: Float
    used_gpu_slots: Float
  }

  type KVPair {
    key: String
    value: String
  }
  type ResourceLimit {
    key: String
    min: String
    max: String
  }
  type Image {
    id: ID
    name: String
    namespace: String
    base_image_name: String
    humanized_name: String
    project: String
    tag: String
    registry: String
    architecture: String
    is_local: Boolean
    digest: String
    size_bytes: BigInt
    labels: [KVPair]
    aliases: [String]
    resource_limits: [ResourceLimit]
    supported_accelerators: [String]
    installed: Boolean
    installed_agents: [String]
    hash: String
    status: String
  }

  type UserGroup {
    id: UUID
    name: String
  }
  type User {
    id: ID
    uuid: UUID
    username: String
    email: String
    # Always null; a client asks for it.
    password: String
    need_password_change: Boolean
    full_name: String
    description: String
    is_active: Boolean
    status: String
    status_info: String
    created_at: DateTime
    modified_at: DateTime
    domain_name: String
    role: String
    resource_policy: String
    allowed_client_ip: [String]
    totp_activated: Boolean
    sudo_session_enabled: Boolean
    main_access_key: String
    groups: [UserGroup]
  }

  type Group {
    id: UUID
    name: String
    description: String
    is_active: Boolean
    created_at: DateTime
    modified_at: DateTime
    domain_name: String
    total_resource_slots: JSONString
    allowed_vfolder_hosts: JSONString
    integration_id: String
    resource_policy: String
    type: String
    scaling_groups: [String]
  }
  type Domain {
    name: String
    description: String
    is_active: Boolean
    created_at: DateTime
    modified_at: DateTime
    total_resource_slots: JSONString
    allowed_vfolder_hosts: JSONString
    allowed_docker_registries: [String]
    integration_id: String
    scaling_groups: [String]
  }
  type KeyPairResourcePolicy {
    name: String
    created_at: DateTime
    default_for_unspecified: String
    total_resource_slots: JSONString
    max_session_lifetime: Int
    max_concurrent_sessions: Int
    max_concurrent_sftp_sessions: Int
    max_containers_per_session: Int
    idle_timeout: BigInt
    allowed_vfolder_hosts: JSONString
    max_vfolder_count: Int
    max_vfolder_size: BigInt
    max_quota_scope_size: BigInt
    max_pending_session_count: Int
    max_pending_session_resource_slots: JSONString
  }
  type ResourcePreset {
    name: String
    resource_slots: JSONString
    shared_memory: BigInt
  }
  type ScalingGroup {
    name: String
    description: String
    is_active: Boolean
    is_public: Boolean
    created_at: DateTime
    wsproxy_addr: String
    driver: String
    driver_opts: JSONString
    scheduler: String
    scheduler_opts: JSONString
    use_host_network: Boolean
  }
  type StorageVolume {
    id: ID
    backend: String
    fsprefix: String
    path: String
    capabilities: [String]
    hardware_metadata: JSONString
    performance_metric: JSONString
    usage: JSONString
  }
`
