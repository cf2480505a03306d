import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** GPUs and memory that sessions used, beside what they held: in the sums by day, and of runs that were interrupted. */
export const usageMeasured: Migration = {
  async up(db: Kysely<unknown>) {
    const columns = ['gpu_used_seconds', 'gpu_measured_seconds', 'mem_used_byte_seconds', 'mem_measured_byte_seconds']
    const added = columns.map(column => `add column ${column} float8 not null default 0`)
    await sql.raw(`alter table usage_days ${added.join(', ')}`).execute(db)
    await sql.raw('alter table past_kernels add column stats jsonb').execute(db)
  },
}
