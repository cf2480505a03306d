import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Since when the GPUs of a session do nothing. Kept with its figures: a list cannot read a week of minutes of every session. */
export const gpuIdle: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw('alter table sessions add column gpu_idle_since timestamptz').execute(db)
    await sql
      .raw(
        `create index sessions_gpu_idle on sessions (gpu_idle_since)
          where status = 'RUNNING' and gpu_idle_since is not null`,
      )
      .execute(db)
  },
}
