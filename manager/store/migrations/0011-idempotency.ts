import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Idempotency keys, for retries after a lost answer. Also drops an index that duplicated the primary key of `sessions`. */
export const idempotency: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
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
  'drop index sessions_newest',
]
