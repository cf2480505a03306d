import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sign-ins of programs that may do a part of what their owner may. */
const STATEMENTS: readonly string[] = [
  `alter table logins
    -- Scopes of an access token; null for a sign-in, which may do everything that its user may.
    add column scopes text[],
    add column most_sessions int,
    add column session_seconds int`,
  `alter table sessions
    -- Access token that launched it, which may have ended since.
    add column token_id uuid`,
  'create index sessions_token on sessions (token_id) where token_id is not null',
]

export const accessTokens: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}
