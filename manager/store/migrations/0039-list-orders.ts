import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** An index for each order in which lists of sessions and users are read page by page. */
export const listOrders: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

// The expressions are those of `session-order.ts` and `users.ts`. By owner: the index of addresses, then `sessions_owner`.
const STATEMENTS = [
  'create index sessions_by_name on sessions (lower(name), id)',
  'create index sessions_by_status on sessions (status, id)',
  'create index sessions_by_image on sessions (lower(image), id)',
  'create index sessions_by_resource_group on sessions (resource_group, id)',
  `create index sessions_by_end on sessions (coalesce(ended_at, timestamptz 'infinity'), id)`,
  'create index users_by_name on users (lower(name), id)',
  'create index users_by_role on users (role, id)',
  'create index users_by_domain on users (lower(domain), id)',
]
