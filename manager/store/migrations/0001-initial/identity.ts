/** People, their permissions, and how they sign in. */
export const identity: readonly string[] = [
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
    version bigint not null default 1,
    max_folder_bytes bigint check (max_folder_bytes > 0),
    max_folder_files bigint check (max_folder_files > 0),
    -- Limits on the GPUs of single models.
    gpu_limits jsonb not null default '[]'
  )`,
  `create table users (
    id uuid primary key,
    email text not null,
    name text not null,
    role text not null check (role in ('user', 'domain_admin', 'superadmin')),
    domain text not null default 'default' references domains,
    password_hash text not null,
    active boolean not null default true,
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    email_verified_at timestamptz default now(),
    totp_sealed text,
    totp_confirmed_at timestamptz,
    totp_last_step bigint,
    ssh_public_key text,
    resource_policy text not null default 'default' references resource_policies,
    -- False: nobody knows a password of the account, which a sign-in at a provider made.
    password_set boolean not null default true,
    description text not null default '',
    must_change_password boolean not null default false,
    -- Origin of the password (ADR 59).
    password_from text not null default 'person' check (password_from in ('person', 'superadmin', 'administrator', 'unknown')),
    -- Since when somebody else may have been in the account; null if nobody may have.
    doubt_since timestamptz,
    ssh_key_changed_at timestamptz,
    -- The last time that somebody else got a way into the account (ADR 75).
    handed_at timestamptz,
    -- An access key; it outlives its keypair, so that it can be named.
    ssh_key_set_by_access_key text
  )`,
  // Each sort order of lists has an index. The expressions equal those in `users.ts`.
  'create index users_by_domain on users (lower(domain), id)',
  'create index users_by_name on users (lower(name), id)',
  'create index users_by_role on users (role, id)',
  'create index users_domain on users (domain, id)',
  'create unique index users_email on users (lower(email))',
  `create table groups (
    id uuid primary key,
    domain text not null references domains,
    name text not null,
    description text not null default '',
    active boolean not null default true,
    limits jsonb not null default '{}',
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    max_folder_bytes bigint check (max_folder_bytes > 0),
    max_folder_files bigint check (max_folder_files > 0),
    -- Limits on the GPUs of single models.
    gpu_limits jsonb not null default '[]'
  )`,
  'create unique index groups_name on groups (domain, lower(name))',
  `create table group_members (
    group_id uuid not null references groups on delete cascade,
    user_id uuid not null references users on delete cascade,
    added_at timestamptz not null default now(),
    primary key (group_id, user_id)
  )`,
  'create index group_members_user on group_members (user_id)',
  `create table keypairs (
    access_key text primary key check (access_key ~ '^AKIA[A-Z2-7]{16}$'),
    user_id uuid not null references users,
    sealed_secret text not null,
    active boolean not null default true,
    rate_limit int not null check (rate_limit > 0),
    created_at timestamptz not null default now(),
    last_used_at timestamptz,
    resource_policy text not null default 'default' references resource_policies,
    -- Null: the owner.
    created_by uuid references users on delete set null,
    -- Made by somebody else, and not yet accepted by the owner.
    waits boolean not null default false,
    activated_at timestamptz not null default now(),
    -- Tells its owner what it is for.
    name text not null default '',
    constraint keypairs_waiting_check check (not (waits and active))
  )`,
  'create index keypairs_user on keypairs (user_id, access_key)',
  `create table keypair_nonces (
    access_key text not null references keypairs on delete cascade,
    nonce text not null,
    expires_at timestamptz not null,
    primary key (access_key, nonce)
  )`,
  'create index keypair_nonces_expiry on keypair_nonces (expires_at)',
  `create table keypair_requests (
    access_key text not null references keypairs on delete cascade,
    minute timestamptz not null,
    requests int not null,
    primary key (access_key, minute)
  )`,
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
    ends_at timestamptz not null,
    idle_seconds int not null default 43200,
    -- A sign-in with an access key ends with the keypair.
    keypair text references keypairs on delete cascade,
    -- Scopes of an access token; null for a sign-in, which may do everything that its user may.
    scopes text[],
    -- The following two limit the sessions that an access token launches.
    most_sessions int,
    session_seconds int
  )`,
  'create index logins_expiry on logins (expires_at)',
  'create index logins_keypair on logins (keypair) where keypair is not null',
  'create index logins_user on logins (user_id)',
  `create table login_failures (
    key text primary key,
    failures int not null,
    last_failed_at timestamptz not null default now(),
    blocked_until timestamptz
  )`,
  `create table sign_in_tickets (
    ticket_hash bytea primary key,
    user_id uuid not null references users on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  `create table email_tokens (
    token_hash bytea primary key,
    user_id uuid not null references users on delete cascade,
    purpose text not null check (purpose in ('verify', 'reset')),
    password_hash text,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    -- Origin of the password that the link makes: \`unknown\` if its address may be read by somebody else.
    password_from text not null default 'unknown' check (password_from in ('person', 'superadmin', 'unknown')),
    -- The administrator who passes the link on: it ends with that person's right (ADR 60).
    in_hand_of uuid references users on delete cascade
  )`,
  'create index email_tokens_user on email_tokens (user_id, purpose)',
  `create table recovery_codes (
    user_id uuid not null references users on delete cascade,
    code_hash bytea not null,
    used_at timestamptz,
    primary key (user_id, code_hash)
  )`,
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
  `create table sign_up_requests (
    id uuid primary key,
    -- In lower case.
    email text not null,
    name text not null,
    note text not null,
    domain text not null references domains on delete cascade,
    -- Hash of the token in the link that confirms the address; null once it was used, and where no mail was sent.
    token_hash bytea unique,
    -- Whether administrators see the request.
    waiting boolean not null,
    -- Whether the owner of the address has opened the link.
    confirmed boolean not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  'create index sign_up_requests_email on sign_up_requests (email)',
  // At most one request of an address waits; several may be unconfirmed, because anybody can make them.
  'create unique index sign_up_requests_waiting on sign_up_requests (email) where waiting',
  `create table sign_in_providers (
    id text primary key,
    settings jsonb not null,
    sealed_secret text,
    created_at timestamptz not null default now(),
    version int not null default 1,
    -- Version of the mapping of groups (ADR 45).
    mapping_version int not null default 1
  )`,
  `create table sign_in_identities (
    issuer text not null,
    subject text not null,
    user_id uuid not null references users on delete cascade,
    email text not null,
    -- Memberships and role that the mapping of groups gave at the last sign-in, and may take back.
    given_groups jsonb not null default '[]',
    given_role text,
    role_before text,
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    -- Linked with a password that somebody else may know.
    doubtful boolean not null default false,
    -- The provider whose mapping gave projects and role, which go with it, and the version of the mapping that judged last (ADR 45).
    given_by text,
    given_version int,
    primary key (issuer, subject),
    unique (user_id, issuer)
  )`,
  `create table sign_in_attempts (
    state_hash bytea primary key,
    secret_hash bytea not null,
    -- Set once the browser has come back.
    code_hash bytea unique,
    provider text not null references sign_in_providers on delete cascade,
    sealed text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    -- The oldest attempt of a network makes room (ADR 74).
    network text not null default ''
  )`,
  'create index on sign_in_attempts (network, created_at)',
  `create table visits (
    user_id uuid primary key references users on delete cascade,
    since timestamptz,
    seen timestamptz not null
  )`,
  `create table bootstrap_scripts (
    user_id uuid primary key references users on delete cascade,
    sealed text not null,
    changed_at timestamptz not null default now(),
    -- As in users.
    set_by_access_key text
  )`,
  `create table dotfiles (
    user_id uuid not null references users on delete cascade,
    path text not null,
    mode text not null,
    -- Sealed: dotfiles such as .netrc hold passwords.
    sealed text not null,
    bytes int not null,
    changed_at timestamptz not null default now(),
    -- As in users.
    set_by_access_key text,
    primary key (user_id, path)
  )`,
  `create table messages (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    -- E-mail address of the administrator at that time.
    sender text not null,
    text text not null,
    -- Ids and names of the recipient's sessions that the message is about.
    sessions jsonb not null,
    created_at timestamptz not null default now(),
    -- Kind of a message that Berth itself sends; null: the words of an administrator.
    about text,
    detail text not null default '',
    -- When the reader put it away; a message about the account stays for a while.
    cleared_at timestamptz
  )`,
  'create index messages_user on messages (user_id, id)',
  `create table dismissed_announcements (
    user_id uuid primary key references users on delete cascade,
    -- Id of the announcement: only one is shown at a time, so only the last one is kept.
    announcement text not null
  )`,
  `create table session_templates (
    user_id uuid not null references users on delete cascade,
    name text not null,
    spec jsonb not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    is_default boolean not null default false
  )`,
  'create unique index session_templates_default on session_templates (user_id) where is_default',
  'create unique index session_templates_name on session_templates (user_id, lower(name))',
  `create table image_defaults (
    user_id uuid not null references users on delete cascade,
    image text not null,
    settings jsonb not null,
    changed_at timestamptz not null default now(),
    primary key (user_id, image)
  )`,
  `create table idempotency_keys (
    user_id uuid not null references users on delete cascade,
    key text not null,
    -- The hash of the request and, once there is one, the answer. It may hold a secret that was made, so it is sealed.
    sealed text not null,
    answered boolean not null default false,
    -- Ids of what the request made, written in the transaction that made it.
    created uuid[],
    -- The attempt that may go on; an older attempt finds another value and rolls back.
    claim uuid not null,
    claimed_at timestamptz not null default now(),
    expires_at timestamptz not null,
    primary key (user_id, key)
  )`,
  'create index idempotency_keys_expired on idempotency_keys (expires_at)',
  `create table presets (
    name text primary key,
    slots jsonb not null,
    shmem_bytes bigint,
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    -- The GPUs that sessions of the preset accept; null for any.
    gpu jsonb
  )`,
]
