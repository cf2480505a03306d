import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * A hash of what an agent says of an image: a list groups the copies of a thousand agents by it, where comparing the descriptions
 * themselves takes most of the time. SHA-256, because an agent must not be able to make two descriptions look alike.
 */
export const imageDescriptions: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  'alter table agent_images add column described bytea',
  `update agent_images set described = sha256(convert_to(image::text, 'UTF8'))`,
  'alter table agent_images alter column described set not null',
  // Also for those who look for a digest alone.
  'drop index agent_images_digest',
  'create index agent_images_alike on agent_images (digest, described, agent_id)',
]
