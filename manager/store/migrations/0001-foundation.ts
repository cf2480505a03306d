import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Identity, agents, sessions and grants. PostgreSQL 15 level: no functions of later versions, no extensions.
 *
 * Plain SQL, because a migration is history: it must not change when the `Database` interface does.
 */
export const foundation: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table settings (key text primary key, value jsonb not null)`,

  // identity
  `create table users (
    id uuid primary key,
    email text not null,
    name text not null,
    role text not null check (role in ('user', 'domain_admin', 'superadmin')),
    domain text not null default 'default',
    password_hash text not null,
    active boolean not null default true,
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create unique index users_email on users (lower(email))`,
  `create table logins (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    token_hash bytea not null unique,
    kind text not null check (kind in ('browser', 'token')),
    label text,
    address text not null,
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    expires_at timestamptz not null,
    ends_at timestamptz not null
  )`,
  `create index logins_user on logins (user_id)`,
  `create index logins_expiry on logins (expires_at)`,
  `create table sign_in_tickets (
    ticket_hash bytea primary key,
    user_id uuid not null references users on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create table login_failures (
    key text primary key,
    failures int not null,
    last_failed_at timestamptz not null default now(),
    blocked_until timestamptz
  )`,

  // agents
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
    row_version bigint not null default 1
  )`,
  `create table join_tokens (
    token_hash bytea primary key,
    resource_group text not null,
    created_by uuid references users on delete set null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    used_by uuid
  )`,
  `create table agent_images (
    agent_id uuid not null references agents on delete cascade,
    digest text not null,
    image jsonb not null,
    seen_at timestamptz not null default now(),
    primary key (agent_id, digest)
  )`,
  `create index agent_images_digest on agent_images (digest)`,

  // sessions; amounts are base units
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
    version bigint not null default 1
  )`,
  `create unique index sessions_live_name on sessions (owner_id, name)
    where status in ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  `create index sessions_live on sessions (resource_group, status, created_at)
    where status in ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  `create index sessions_newest on sessions (id desc)`,
  `create index sessions_owner on sessions (owner_id, id desc)`,
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
    log_tail text
  )`,
  `create index kernels_session on kernels (session_id)`,
  `create index kernels_occupying on kernels (agent_id)
    where status in ('SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`,
  `create table kernel_devices (
    kernel_id uuid not null references kernels on delete cascade,
    agent_id uuid not null references agents,
    uuid text not null,
    slot text not null check (slot in ('cuda.device', 'cuda.shares')),
    amount bigint not null check (amount > 0),
    primary key (kernel_id, uuid)
  )`,
  `create index kernel_devices_device on kernel_devices (agent_id, uuid)`,
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
  `create index session_events_session on session_events (session_id, id)`,

  // tunnels
  `create table grants (
    id uuid primary key,
    grant_hash bytea not null unique,
    user_id uuid not null references users on delete cascade,
    login_id uuid references logins on delete cascade,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create index grants_session on grants (session_id)`,
  `create index grants_expiry on grants (expires_at)`,
]
