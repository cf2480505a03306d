import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'
import { agents } from './agents.ts'
import { apps } from './apps.ts'
import { firstRows } from './first-rows.ts'
import { identity } from './identity.ts'
import { images } from './images.ts'
import { operation } from './operation.ts'
import { sessions } from './sessions.ts'
import { storage } from './storage.ts'
import { usage } from './usage.ts'

/**
 * All tables of 0.1.0. PostgreSQL 15 level: no functions of later versions, no extensions.
 *
 * Plain SQL, because a migration is history: it must not change when the `Database` interface does.
 */
export const initial: Migration = {
  async up(db: Kysely<unknown>) {
    // Each table refers only to those before it.
    const statements = [...[identity, agents, sessions, images, storage, apps, usage, operation], firstRows].flat()
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
