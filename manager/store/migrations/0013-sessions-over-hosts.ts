import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions whose kernels are on several agents, and the numbers of the networks between their hosts. */
export const sessionsOverHosts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions
      add column cluster_mode text not null default 'single-host' check (cluster_mode in ('single-host', 'multi-host')),
      add column cluster_network int check (cluster_network between 0 and 4095)`.execute(db)
    // Two sessions that hold resources never have the same network.
    await sql`create unique index sessions_cluster_network on sessions (cluster_network)
      where cluster_network is not null
        and status in ('SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING')`.execute(db)
  },
}
