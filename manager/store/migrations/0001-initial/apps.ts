/** Tunnels: grants, published apps, and apps opened in other browsers. */
export const apps: readonly string[] = [
  `create table published_apps (
    id uuid primary key,
    -- Label of the host name, where apps are published at names.
    name text not null unique,
    -- Set where apps are published at ports.
    port int unique,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    user_id uuid not null references users on delete cascade,
    password_hash text,
    addresses jsonb not null default '[]',
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    visits bigint not null default 0,
    last_visit_at timestamptz
  )`,
  'create index published_apps_session on published_apps (session_id)',
  'create index published_apps_user on published_apps (user_id)',
  `create table ended_published_apps (
    id uuid primary key,
    name text not null,
    port int,
    why text not null,
    ended_at timestamptz not null default now()
  )`,
  'create index ended_published_apps_name on ended_published_apps (name)',
  'create index ended_published_apps_port on ended_published_apps (port, ended_at) where port is not null',
  // A trigger, because a link ends in many ways: it is withdrawn, its session or account is deleted, or its time is over.
  `create function berth_end_published_app() returns trigger language plpgsql as $$
    begin
      insert into ended_published_apps (id, name, port, ended_at, why)
        values (old.id, old.name, old.port, least(now(), old.expires_at), case
          when old.expires_at <= now() then 'expired'
          when exists (select from sessions where id = old.session_id
            and status not in ('TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR')) then 'withdrawn'
          else 'app_ended' end)
        on conflict (id) do nothing;
      return null;
    end $$`,
  `create trigger published_apps_end after delete on published_apps for each row
    execute function berth_end_published_app()`,
  `create table own_apps (
    id uuid primary key,
    -- Label of the host name, where apps are at names; part of the cookie's name everywhere.
    name text not null unique,
    -- Set where apps are at ports. A port of a published app is never used here too.
    port int unique,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    user_id uuid not null references users on delete cascade,
    expires_at timestamptz not null,
    unique (session_id, app, user_id)
  )`,
  `create table own_app_tickets (
    ticket_hash bytea primary key,
    own_app uuid not null references own_apps on delete cascade,
    login_id uuid not null references logins on delete cascade,
    expires_at timestamptz not null,
    -- Hash of the cookie of the console's sign-in; null if the ticket was asked for without one.
    browser_hash bytea
  )`,
  'create index own_app_tickets_app on own_app_tickets (own_app)',
  'create index own_app_tickets_login on own_app_tickets (login_id)',
  // The last holder of each port of apps: a port is not given to another person for some time.
  `create table app_ports (
    port int primary key,
    -- Outlives the account: the next holder is another person.
    user_id uuid not null,
    left_at timestamptz not null,
    -- Whether the app was another person's, or one that others could reach: its page rests for the person who left the port, too.
    of_other boolean not null default false,
    -- Outlives the session. The session that left the port has it again at once: its page can do nothing there that the session cannot.
    session_id uuid
  )`,
  `create table closed_app_ports (
    -- Computer and port, as in console_certificates.
    console text not null,
    port int not null,
    seen_at timestamptz not null,
    primary key (console, port)
  )`,
  `create table grants (
    id uuid primary key,
    grant_hash bytea not null unique,
    user_id uuid not null references users on delete cascade,
    login_id uuid references logins on delete cascade,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    keypair text references keypairs on delete cascade,
    published_app uuid references published_apps on delete cascade,
    constraint grants_credential check (num_nonnulls(login_id, keypair, published_app) = 1)
  )`,
  'create index grants_expiry on grants (expires_at)',
  // For the end of a sign-in, which deletes its grants.
  'create index grants_login on grants (login_id)',
  'create index grants_session on grants (session_id)',
  // A trigger, because an app's address is freed in many ways: when its session ends, its account is deleted, or its time is over.
  `create function berth_leave_app_port() returns trigger language plpgsql as $$
    begin
      insert into app_ports (port, user_id, left_at, of_other, session_id)
        values (old.port, old.user_id, least(now(), old.expires_at),
          -- A session that is deleted already may have been anybody's.
          not exists (select from sessions where id = old.session_id and owner_id = old.user_id
            and launched_by is null and used_by_others_at is null), old.session_id)
        on conflict (port) do update
          set user_id = excluded.user_id, left_at = excluded.left_at, of_other = excluded.of_other,
            session_id = excluded.session_id;
      return null;
    end $$`,
  ...['own_apps', 'published_apps'].map(
    table =>
      `create trigger ${table}_leave_port after delete on ${table} for each row when (old.port is not null)
        execute function berth_leave_app_port()`,
  ),
]
