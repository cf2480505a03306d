/** Sessions, their kernels and their history. Amounts are base units. */
export const sessions: readonly string[] = [
  // Vacuumed early, because index-only scans work only for pages that a vacuum has seen.
  `create table sessions (
    id uuid primary key,
    name text not null,
    owner_id uuid not null references users,
    status text not null,
    reason jsonb not null,
    resource_group text not null,
    image text not null,
    image_digest text,
    requested jsonb not null,
    shmem_bytes bigint not null,
    environ jsonb not null default '{}',
    startup_command text,
    apps jsonb not null default '[]',
    attempt int not null default 0,
    failed_agents jsonb not null default '[]',
    created_at timestamptz not null default now(),
    status_at timestamptz not null default now(),
    started_at timestamptz,
    ended_at timestamptz,
    version bigint not null default 1,
    -- No cascade: it must stay known who made a session, so a keypair that made one cannot be deleted.
    keypair text references keypairs,
    domain text not null default 'default' references domains,
    group_id uuid references groups,
    kind text not null default 'interactive' check (kind in ('interactive', 'batch')),
    priority int not null default 0,
    depends_on jsonb not null default '[]',
    cluster_size int not null default 1 check (cluster_size > 0),
    idle_timeout_seconds int,
    max_lifetime_seconds int,
    expires_at timestamptz,
    idle_since timestamptz,
    idle_seen_at timestamptz,
    -- Kernel whose home directory this session takes over.
    files_of uuid,
    -- If the user named no amount of shared memory, the image on the agent that runs the session decides.
    shmem_from_image boolean not null default false,
    run_image_command boolean not null default false,
    starts_at timestamptz,
    tags jsonb not null default '[]',
    note text not null default '',
    interruptible boolean not null default false,
    -- Time at which the session is stopped to make room; null while no interruption is announced.
    interrupt_at timestamptz,
    -- Number of runs that were interrupted.
    interruptions int not null default 0,
    -- Whether the sums of usage contain the session. A report adds the others one by one.
    usage_summed boolean not null default false,
    -- Since when the GPUs do nothing. Kept here, because a list cannot read a week of minutes of every session.
    gpu_idle_since timestamptz,
    -- For searches, which would otherwise make three texts of every session.
    words text not null
      generated always as (lower(name || E'\\n' || image || E'\\n' || resource_group)) stored,
    -- Address of the administrator who launched the session for its owner. An address, because it must outlive the account.
    launched_by text,
    -- Since when others could use it: members, visitors of published apps (ADR 67).
    used_by_others_at timestamptz,
    -- The GPUs that the session accepts; null for any.
    gpu jsonb,
    -- Choices for the job in Slurm, and its end by the time limit.
    slurm jsonb,
    slurm_ends_at timestamptz,
    -- Access token that launched it, which may have ended since.
    token_id uuid,
    -- Whether the kernels are on one agent or on several.
    cluster_mode text not null default 'single-host' check (cluster_mode in ('single-host', 'multi-host')),
    -- Number of the network between the hosts of the kernels.
    cluster_network int check (cluster_network between 0 and 4095)
  ) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.01)`,
  // Each sort order of lists has an index. The expressions equal those in `session-order.ts`.
  `create index sessions_by_end on sessions (coalesce(ended_at, 'infinity'), id)`,
  'create index sessions_by_image on sessions (lower(image), id)',
  'create index sessions_by_name on sessions (lower(name), id)',
  'create index sessions_by_resource_group on sessions (resource_group, id)',
  'create index sessions_by_status on sessions (status, id)',
  // Two sessions that hold resources never have the same network.
  `create unique index sessions_cluster_network on sessions (cluster_network)
    where cluster_network is not null
      and status in ('SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  'create index sessions_domain on sessions (domain, id desc)',
  'create index sessions_ended on sessions (ended_at) where ended_at is not null',
  // The condition is a part of `hasFailed` in `session-list.ts`.
  `create index sessions_failed on sessions (id desc) where ((status = 'ERROR') or ((status = 'TERMINATED') and (kind = 'batch') and ((reason ->> 'code') = 'exited')))`,
  // At most one session takes over a home. A session that ended before it ran has returned the home.
  `create unique index sessions_files_of on sessions (files_of) where ((files_of is not null) and ((started_at is not null) or status not in ('TERMINATED', 'CANCELLED', 'ERROR')))`,
  `create index sessions_gpu_idle on sessions (gpu_idle_since) where (status = 'RUNNING') and (gpu_idle_since is not null)`,
  'create index sessions_interrupt on sessions (resource_group) where interrupt_at is not null',
  'create index sessions_interrupted on sessions (id) where interruptions > 0',
  'create index sessions_keypair on sessions (keypair) where keypair is not null',
  `create index sessions_live on sessions (resource_group, status, created_at) where status in ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  `create unique index sessions_live_name on sessions (owner_id, name) where status in ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  'create index sessions_name on sessions (name, id desc)',
  'create index sessions_not_summed on sessions (ended_at) where not usage_summed',
  'create index sessions_owner on sessions (owner_id, id desc)',
  // The time of the last run, without an end while it runs. Queries need the same expression to use the index.
  `create index sessions_ran on sessions using gist (tstzrange(started_at, greatest(started_at, coalesce(ended_at, 'infinity')), '[]')) where started_at is not null`,
  // Most sessions have no tags and are not in the index.
  `create index sessions_tags on sessions using gin (tags jsonb_path_ops) where tags <> '[]'`,
  'create index sessions_token on sessions (token_id) where token_id is not null',
  'create index sessions_words on sessions (words) include (owner_id, domain, status)',
  `create table kernels (
    id uuid primary key,
    session_id uuid not null references sessions on delete cascade,
    role text not null,
    status text not null,
    agent_id uuid references agents,
    attempt int not null default 0,
    container_id text,
    exit_code int,
    slots jsonb not null,
    start_by timestamptz,
    log_tail text,
    -- When the kernel released its resources: a kernel beside the main one may finish long before its session.
    ended_at timestamptz,
    -- Kernel of an earlier run whose home this kernel continues with; that kernel is in past_kernels.
    files_of uuid
  )`,
  `create index kernels_occupying on kernels (agent_id) where status in ('SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  'create index kernels_session on kernels (session_id)',
  `create table kernel_devices (
    kernel_id uuid not null references kernels on delete cascade,
    agent_id uuid not null references agents,
    uuid text not null,
    slot text not null check (slot in ('cuda.device', 'cuda.shares')),
    amount bigint not null check (amount > 0),
    primary key (kernel_id, uuid)
  )`,
  'create index kernel_devices_device on kernel_devices (agent_id, uuid)',
  // Kernels of interrupted runs.
  `create table past_kernels (
    kernel_id uuid primary key,
    session_id uuid not null references sessions on delete cascade,
    agent_id uuid references agents,
    attempt int not null,
    container_id text,
    exit_code int,
    log_tail text,
    -- Devices that the run held, as in kernel_devices.
    devices jsonb not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    -- The kernel's part of the CPU time that the session used in that run; null if that is not known.
    cpu_seconds float8,
    stats jsonb
  )`,
  'create index past_kernels_session on past_kernels (session_id)',
  `create table session_events (
    id bigint generated always as identity primary key,
    session_id uuid not null references sessions on delete cascade,
    kernel_id uuid,
    at timestamptz not null default now(),
    from_status text,
    to_status text not null,
    reason jsonb not null,
    actor text
  )`,
  'create index session_events_session on session_events (session_id, id)',
  `create table session_shares (
    session_id uuid not null references sessions on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- The project of the session. A share goes with the membership, whatever ends it.
    group_id uuid not null,
    permission text not null check (permission in ('view', 'use')),
    shared_at timestamptz not null default now(),
    -- When the right was given, or changed last.
    changed_at timestamptz not null default now(),
    primary key (session_id, user_id),
    foreign key (group_id, user_id) references group_members on delete cascade
  )`,
  'create index session_shares_member on session_shares (user_id, group_id)',
  `create table session_stats_minutes (
    session_id uuid not null references sessions on delete cascade,
    minute timestamptz not null,
    stats jsonb not null,
    -- Marks the last minute of a session, which is kept: retention skips it.
    settled boolean not null default false,
    primary key (session_id, minute)
  )`,
  'create index session_stats_minutes_age on session_stats_minutes (minute) where not settled',
  `create table interruptions (
    resource_group text primary key,
    session_id uuid not null references sessions on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    at timestamptz not null
  )`,
  `create table reservations (
    resource_group text primary key,
    session_id uuid not null references sessions on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    devices jsonb not null,
    created_at timestamptz not null default now()
  )`,
  // Allocations of sessions at engines other than Berth.
  `create table allocations (
    session_id uuid primary key references sessions on delete cascade,
    run int not null,
    name text not null,
    asked_at timestamptz not null default now(),
    -- Grant of the engine on which the session was placed.
    granted jsonb,
    -- The engine's user; null: the user who runs the manager.
    engine_user text
  )`,
  // All users as whom allocations were ever requested: an allocation has the user of its last request only, and earlier requests may be
  // granted after it.
  'create table engine_users (name text primary key)',
  'alter table sessions add foreign key (files_of) references kernels on delete set null',
]
