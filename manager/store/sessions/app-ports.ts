import { sql } from 'kysely'
import { type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { deleteEndedOwnApps } from './own-apps.ts'
import { deleteEnded } from './published-apps.ts'

/** The last holder of a port that no app uses now. */
export interface LastHeld {
  readonly userId: UserId
  readonly leftAt: Date
  /** Whether others could create the pages of the app: in their own session, one that they used, or one whose command they chose. */
  readonly ofOther: boolean
  /** Null if the port was freed before this was recorded. */
  readonly sessionId: SessionId | null
}

export interface PortsKnown {
  /** Ports in use by an app, with its user, and ports at which no console listens, with null. */
  readonly taken: ReadonlyMap<number, UserId | null>
  readonly left: ReadonlyMap<number, LastHeld>
}

/** Number of the advisory lock under which an app gets a port. */
const PORTS_LOCK = 7_206_200

/**
 * Runs `work` while no other manager assigns a port to an app: published apps and apps of people share one range, and are in two tables.
 * Ended apps of both tables are deleted first, which frees their names and ports.
 */
export async function whilePortsStay<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async trx => {
    await sql`select pg_advisory_xact_lock(${PORTS_LOCK})`.execute(trx)
    await deleteEndedOwnApps(trx)
    await deleteEnded(trx)
    return await work(trx)
  })
}

/** State of the ports of the range; call it within `whilePortsStay`. */
export async function knownPorts(db: Db): Promise<PortsKnown & { readonly closed: ReadonlySet<number> }> {
  const held = await db
    .selectFrom('published_apps')
    .select(['port', 'user_id'])
    .unionAll(db.selectFrom('own_apps').select(['port', 'user_id']))
    .execute()
  const closed = await db
    .selectFrom('closed_app_ports')
    .select('port')
    .where('seen_at', '>', sql<Date>`now() - ${STALE_MS} * interval '1 millisecond'`)
    .execute()
  const left = await db.selectFrom('app_ports').selectAll().execute()
  return {
    taken: new Map([
      ...closed.map(({ port }) => [port, null] as const),
      ...held.flatMap(({ port, user_id: userId }) => (port === null ? [] : [[port, userId] as const])),
    ]),
    closed: new Set(closed.map(({ port }) => port)),
    left: new Map(
      left.map(({ port, user_id: userId, left_at: leftAt, of_other: ofOther, session_id: sessionId }) => [
        port,
        { userId, leftAt, ofOther, sessionId },
      ]),
    ),
  }
}

/** A console reports every hour; its last report stays valid for this long. */
const STALE_MS = 2 * 3_600_000

/** Replaces the ports of the range at which a console does not listen. */
export async function replaceClosedPorts(db: Db, consoleName: string, ports: readonly number[]): Promise<void> {
  await db.transaction().execute(async trx => {
    await trx.deleteFrom('closed_app_ports').where('console', '=', consoleName).execute()
    if (ports.length === 0) return
    await trx
      .insertInto('closed_app_ports')
      .values(ports.map(port => ({ console: consoleName, port, seen_at: sql<Date>`now()` })))
      .execute()
  })
}
