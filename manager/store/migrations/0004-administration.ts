import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Tables for administrators: domains, groups, accounts, quotas, registries, lifetimes, the audit log, and the list of
 * manager processes.
 */
export const administration: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // identity
  `create table domains (
    name text primary key,
    description text not null default '',
    active boolean not null default true,
    limits jsonb not null default '{}',
    allowed_registries jsonb not null default 'null',
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  'create unique index domains_name on domains (lower(name))',
  // So far a domain was a mere label that gave no rights. Spellings that differ only by letter case become one domain.
  `insert into domains (name)
    select distinct on (lower(name)) name from (select 'default' as name union select domain from users) as labels
    order by lower(name), name <> 'default', name`,
  `update users set domain = domains.name from domains
    where lower(domains.name) = lower(users.domain) and domains.name <> users.domain`,
  'alter table users add foreign key (domain) references domains',
  'create index users_domain on users (domain, id)',
  `create table groups (
    id uuid primary key,
    domain text not null references domains,
    name text not null,
    description text not null default '',
    active boolean not null default true,
    limits jsonb not null default '{}',
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  'create unique index groups_name on groups (domain, lower(name))',
  `create table group_members (
    group_id uuid not null references groups on delete cascade,
    user_id uuid not null references users on delete cascade,
    added_at timestamptz not null default now(),
    primary key (group_id, user_id)
  )`,
  'create index group_members_user on group_members (user_id)',
  // Every domain starts with the group `default`. All its users are members, so their rights do not change.
  `insert into groups (id, domain, name) select gen_random_uuid(), name, 'default' from domains`,
  `insert into group_members (group_id, user_id)
    select groups.id, users.id from users join groups on groups.domain = users.domain`,
  `create table invitations (
    id uuid primary key,
    token_hash bytea not null unique,
    domain text not null references domains,
    note text not null default '',
    created_by uuid references users,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at timestamptz,
    used_by uuid references users
  )`,
  `create table email_tokens (
    token_hash bytea primary key,
    user_id uuid not null references users on delete cascade,
    purpose text not null check (purpose in ('verify', 'reset')),
    password_hash text,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  'create index email_tokens_user on email_tokens (user_id, purpose)',
  `alter table users
    add column email_verified_at timestamptz default now(),
    add column totp_sealed text,
    add column totp_confirmed_at timestamptz,
    add column totp_last_step bigint,
    add column ssh_public_key text`,
  'update users set email_verified_at = created_at',
  'alter table logins add column idle_seconds int not null default 43200',
  `update logins set idle_seconds = 2592000 where kind = 'token'`,
  `create table recovery_codes (
    user_id uuid not null references users on delete cascade,
    code_hash bytea not null,
    used_at timestamptz,
    primary key (user_id, code_hash)
  )`,
  `create table keypair_requests (
    access_key text not null references keypairs on delete cascade,
    minute timestamptz not null,
    requests int not null,
    primary key (access_key, minute)
  )`,
  `create table keypair_nonces (
    access_key text not null references keypairs on delete cascade,
    nonce text not null,
    expires_at timestamptz not null,
    primary key (access_key, nonce)
  )`,
  'create index keypair_nonces_expiry on keypair_nonces (expires_at)',
  'delete from grants where login_id is null',
  `alter table grants
    add column keypair text references keypairs on delete cascade,
    add check (num_nonnulls(login_id, keypair) = 1)`,

  // quotas
  `create table resource_policies (
    name text primary key,
    limits jsonb not null default '{}',
    max_concurrent_sessions int check (max_concurrent_sessions >= 0),
    max_containers_per_session int check (max_containers_per_session > 0),
    idle_timeout_seconds int check (idle_timeout_seconds > 0),
    max_lifetime_seconds int check (max_lifetime_seconds > 0),
    allowed_storage_hosts jsonb not null default 'null',
    max_folders int check (max_folders >= 0),
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `insert into resource_policies (name) values ('default')`,
  `alter table users add column resource_policy text not null default 'default' references resource_policies`,
  `alter table keypairs add column resource_policy text not null default 'default' references resource_policies`,
  `create table presets (
    name text primary key,
    slots jsonb not null,
    shmem_bytes bigint,
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create table resource_group_access (
    resource_group text not null references resource_groups on delete cascade,
    domain text references domains on delete cascade,
    group_id uuid references groups on delete cascade,
    user_id uuid references users on delete cascade,
    check (num_nonnulls(domain, group_id, user_id) = 1)
  )`,
  `create unique index resource_group_access_once
    on resource_group_access (resource_group, coalesce(domain, group_id::text, user_id::text))`,
  // Rights do not change: every domain gets access to the resource groups that exist.
  `insert into resource_group_access (resource_group, domain)
    select resource_groups.name, domains.name from resource_groups cross join domains`,

  // sessions
  `alter table sessions
    add column domain text not null default 'default' references domains,
    add column group_id uuid references groups,
    add column kind text not null default 'interactive' check (kind in ('interactive', 'batch')),
    add column priority int not null default 0,
    add column depends_on jsonb not null default '[]',
    add column cluster_size int not null default 1 check (cluster_size > 0),
    add column idle_timeout_seconds int,
    add column max_lifetime_seconds int,
    add column expires_at timestamptz,
    add column idle_since timestamptz,
    add column idle_seen_at timestamptz`,
  `update sessions set domain = users.domain, group_id = groups.id
    from users join groups on groups.domain = users.domain where users.id = sessions.owner_id`,
  'create index sessions_domain on sessions (domain, id desc)',
  'create index sessions_name on sessions (name, id desc)',
  `create table session_stats_minutes (
    session_id uuid not null references sessions on delete cascade,
    minute timestamptz not null,
    stats jsonb not null,
    primary key (session_id, minute)
  )`,
  'create index session_stats_minutes_age on session_stats_minutes (minute)',

  // images
  `create table registries (
    name text primary key,
    url text not null,
    projects jsonb not null default '[]',
    username text,
    sealed_password text,
    active boolean not null default true,
    scanned_at timestamptz,
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create table registry_images (
    registry text not null references registries on delete cascade,
    reference text not null,
    digest text not null,
    manifest_digest text not null,
    architecture text not null,
    size_bytes bigint not null,
    labels jsonb not null default '{}',
    scanned_at timestamptz not null default now(),
    primary key (registry, reference)
  )`,
  'create index registry_images_digest on registry_images (digest)',
  'create index registry_images_reference on registry_images (reference)',
  `create table image_settings (
    reference text primary key,
    minimum jsonb not null default '{}',
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  `create table tasks (
    id uuid primary key,
    kind text not null check (kind in ('rescan', 'pull')),
    target text not null,
    status text not null default 'running' check (status in ('running', 'done', 'failed', 'cancelled')),
    error jsonb not null default 'null',
    detail jsonb not null,
    started_by text not null,
    cancel_asked boolean not null default false,
    created_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    ended_at timestamptz,
    version bigint not null default 1
  )`,
  `create unique index tasks_one_rescan on tasks (target) where kind = 'rescan' and status = 'running'`,

  // operation
  `create table audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    actor_id uuid,
    actor text,
    acted_as text,
    domain text,
    action text not null,
    target text,
    result text not null,
    detail jsonb not null default '{}',
    address text
  )`,
  'create index audit_log_actor on audit_log (actor_id, id desc)',
  'create index audit_log_at on audit_log (at)',
  'create index audit_log_target on audit_log (target, id desc)',
  'create index audit_log_domain on audit_log (domain, id desc)',
  `create function refuse_change() returns trigger language plpgsql as $$
    begin raise exception 'the audit log is append-only'; end $$`,
  `create trigger audit_log_append_only before update or delete on audit_log
    for each row execute function refuse_change()`,
  `create table managers (
    id uuid primary key,
    advertise_url text not null,
    version text not null,
    started_at timestamptz not null default now(),
    seen_at timestamptz not null default now()
  )`,
  `create table agent_links (
    agent_id uuid not null references agents on delete cascade,
    manager_id uuid not null references managers on delete cascade,
    since timestamptz not null default now(),
    primary key (agent_id, manager_id)
  )`,
  'create index agent_links_manager on agent_links (manager_id)',
  'alter table agents add column problem text',
]
