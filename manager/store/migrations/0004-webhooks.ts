import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

const STATEMENTS: readonly string[] = [
  `create table webhooks (
    id uuid primary key,
    name text not null,
    -- Null: events of the whole installation.
    group_id uuid references groups on delete cascade,
    -- Person whose rights are read when an event is sent; null: the account was deleted.
    owner_id uuid references users on delete set null,
    form text not null check (form in ('json', 'text')),
    events text[] not null,
    waiting_minutes int not null,
    -- Sealed with the contexts webhook-url:<id> and webhook-secret:<id>.
    sealed_url text not null,
    address text not null,
    sealed_secret text not null,
    sealed_old_secret text,
    old_secret_until timestamptz,
    active boolean not null default true,
    off_reason text check (off_reason in ('person', 'owner', 'failing', 'gone')),
    failing_since timestamptz,
    -- Whether the owner was told that deliveries fail since then.
    failing_told boolean not null default false,
    -- The manager that sends its events now, for as long as it renews this.
    lease uuid,
    leased_until timestamptz,
    created_at timestamptz not null default now(),
    check (active = (off_reason is null)))`,
  'create index webhooks_group on webhooks (group_id)',
  'create index webhooks_owner on webhooks (owner_id)',
  `create table webhook_deliveries (
    id uuid primary key,
    webhook_id uuid not null references webhooks on delete cascade,
    event text not null,
    -- Subject of an event that is told once only.
    subject text,
    payload jsonb not null,
    status text not null default 'waiting' check (status in ('waiting', 'delivered', 'failed')),
    attempts int not null default 0,
    created_at timestamptz not null default now(),
    -- Null unless it waits.
    next_at timestamptz,
    attempted_at timestamptz,
    fault text,
    response_status int,
    duration_ms int,
    answer text,
    check ((status = 'waiting') = (next_at is not null)))`,
  `create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_at) where status = 'waiting'`,
  'create index webhook_deliveries_log on webhook_deliveries (webhook_id, id)',
  'create index webhook_deliveries_subject on webhook_deliveries (webhook_id, subject) where subject is not null',
]

/** Webhooks, and the outbox of their events. */
export const webhooks: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}
