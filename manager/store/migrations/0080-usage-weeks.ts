import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sums of usage by week, beside those by day: a report of months reads a fraction of the rows; `quotas/usage-days.ts` keeps them. */
export const usageWeeks: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const SUMS = [
  ...['begun', 'cpu_seconds', 'mem_byte_seconds', 'gpu_seconds', 'cpu_used_seconds', 'cpu_measured_seconds'],
  ...['gpu_used_seconds', 'gpu_measured_seconds', 'mem_used_byte_seconds', 'mem_measured_byte_seconds'],
]

const STATEMENTS = [
  // A week of UTC, named by its Monday. `sessions` and `begun` are as in `usage_days`.
  `create table usage_weeks (
    dimension text not null,
    week date not null,
    domain text not null,
    key text not null,
    sessions int not null,
    begun int not null,
    ${SUMS.slice(1)
      .map(column => `${column} float8 not null`)
      .join(', ')},
    primary key (dimension, week, domain, key)
  )`,
  // A session that ran in a week ran on its first day or began on a later one.
  `insert into usage_weeks (dimension, week, domain, key, sessions, ${SUMS.join(', ')})
    select dimension, date_trunc('week', day::timestamp)::date as week, domain, key,
      sum(case when extract(isodow from day) = 1 then sessions else begun end),
      ${SUMS.map(column => `sum(${column})`).join(', ')}
    from usage_days group by 1, 2, 3, 4`,
]
