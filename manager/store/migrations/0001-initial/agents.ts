/** Managers, agents, and the groups in which agents are. */
export const agents: readonly string[] = [
  `create table managers (
    id uuid primary key,
    advertise_url text not null,
    version text not null,
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    clock_ahead_ms bigint not null default 0
  )`,
  `create table agents (
    id uuid primary key,
    name text not null,
    resource_group text not null default 'default',
    public_key text not null,
    status text not null check (status in ('CONNECTED', 'LOST', 'REVOKED')),
    schedulable boolean not null default true,
    capacity jsonb not null default '{}',
    devices jsonb not null default '[]',
    network_isolation text not null default 'partial' check (network_isolation in ('full', 'partial')),
    network_isolation_reason text,
    version text not null default '',
    engine_version text not null default '',
    joined_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    row_version bigint not null default 1,
    problem text,
    -- Digest of the image list that the agent reported last: with the same list, nothing is written.
    images_digest text,
    -- How each GPU is given out, by its UUID: the mode that the agent reported first, until an admin sets another.
    device_modes jsonb not null default '{}',
    problem_by jsonb,
    network_isolation_reason_by jsonb,
    -- Whether superadmins were told that no session can start here, so that all managers tell each fault once.
    fault_told boolean not null default false,
    -- As the agent reports it; null for agents of an older version.
    program jsonb,
    -- Update that is wanted, in progress or failed.
    program_update jsonb,
    -- How the host leaves, or has left (ADR 91); null for one that stays.
    removal jsonb
  )`,
  // The program that agents get.
  `create table agent_target (
    one boolean primary key default true check (one),
    version text not null,
    digest text not null
  )`,
  `create table agent_links (
    agent_id uuid not null references agents on delete cascade,
    manager_id uuid not null references managers on delete cascade,
    since timestamptz not null default now(),
    -- Manager that relays the connection of an agent which cannot dial this manager.
    via uuid,
    primary key (agent_id, manager_id)
  )`,
  'create index agent_links_manager on agent_links (manager_id)',
  `create table agent_images (
    agent_id uuid not null references agents on delete cascade,
    digest text not null,
    image jsonb not null,
    seen_at timestamptz not null default now(),
    described bytea not null,
    primary key (agent_id, digest)
  )`,
  // Also used by queries for a digest alone.
  'create index agent_images_alike on agent_images (digest, described, agent_id)',
  `create table join_tokens (
    token_hash bytea primary key,
    resource_group text not null,
    created_by uuid references users on delete set null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    used_by uuid,
    -- Existing agent that the agent joining with this token replaces.
    replaces uuid references agents on delete cascade,
    -- The manager makes the ids of agents: each join string comes with one.
    agent_id uuid,
    -- Sign-in or keypair with which it was made, which may have ended since; both null for one of this computer's own agent.
    login_id uuid,
    keypair text
  )`,
  `create table resource_groups (
    name text primary key,
    description text not null default '',
    sequencer text not null default 'fifo' check (sequencer in ('fifo', 'lifo', 'drf')),
    selector text not null default 'concentrated' check (selector in ('concentrated', 'dispersed', 'round-robin')),
    options jsonb not null default '{}',
    active boolean not null default true,
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    notice text not null default '',
    engine text not null default 'berth' check (engine in ('berth', 'slurm'))
  )`,
  `create table resource_group_access (
    resource_group text not null references resource_groups on delete cascade,
    domain text references domains on delete cascade,
    group_id uuid references groups on delete cascade,
    user_id uuid references users on delete cascade,
    constraint resource_group_access_check check (num_nonnulls(domain, group_id, user_id) = 1)
  )`,
  'create unique index resource_group_access_once on resource_group_access (resource_group, coalesce(domain, group_id::text, user_id::text))',
]
