import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sums of usage by hour and domain, from which histories of all sessions are added up; `quotas/usage-days.ts` keeps them. */
export const usageHours: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const SUMS = [
  ...['cpu_seconds', 'mem_byte_seconds', 'gpu_seconds', 'cpu_used_seconds', 'cpu_measured_seconds'],
  ...['gpu_used_seconds', 'gpu_measured_seconds', 'mem_used_byte_seconds', 'mem_measured_byte_seconds'],
  ...['read_bytes', 'written_bytes', 'received_bytes', 'sent_bytes'],
]

const STATEMENTS = [
  // An hour of UTC, of which the days of every time zone with whole hours consist. `sessions` and `begun` are as in `usage_days`.
  `create table usage_hours (
    hour timestamptz not null,
    domain text not null,
    sessions int not null,
    begun int not null,
    ${SUMS.map(column => `${column} float8 not null`).join(', ')},
    primary key (hour, domain)
  )`,
  // The sessions that are summed by day already: their days are made anew, now with hours.
  `insert into usage_recounts (first_day, last_day)
    select first, (now() at time zone 'UTC')::date from (select min(day) as first from usage_days) oldest where first is not null`,
]
