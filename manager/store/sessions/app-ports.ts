import { sql } from 'kysely'
import { type Db } from '../schema.ts'

/** Number of the advisory lock under which an app gets a port. */
const PORTS_LOCK = 7_206_200

/**
 * Runs `work` while no other manager gives a port to an app: published apps and apps of people share one range, and are in two
 * tables.
 */
export async function whilePortsStay<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async trx => {
    await sql`select pg_advisory_xact_lock(${PORTS_LOCK})`.execute(trx)
    return await work(trx)
  })
}

/** Ports of the range that have an app, also those of apps that have ended and are not deleted yet. */
export async function takenPorts(db: Db): Promise<ReadonlySet<number>> {
  const rows = await db
    .selectFrom('published_apps')
    .select('port')
    .unionAll(db.selectFrom('own_apps').select('port'))
    .execute()
  return new Set(rows.flatMap(({ port }) => port ?? []))
}
