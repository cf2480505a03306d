import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

const STATEMENTS: readonly string[] = [
  `alter table scim_groups
    add column domain text references domains on update cascade on delete cascade,
    add column display_name text`,
  'update scim_groups set domain = g.domain, display_name = g.name from groups g where g.id = group_id',
  'alter table scim_groups alter column domain set not null, alter column display_name set not null',
  'create unique index scim_groups_name on scim_groups (domain, lower(display_name)) where not hidden',
]

/** Names of groups as clients of SCIM say them ("Data Science Team"), beside those of the projects. */
export const namesOfScimGroups: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}
