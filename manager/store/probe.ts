import pg from 'pg'
import { type Because, because, becauseOf } from '#manager/contract'
import { type ConnectionConfig, isReadOnly } from './primary-client.ts'

/** A write that leaves nothing in a table. Its commit has to reach the disk, like that of every change. */
export const PROBE = `select pg_logical_emit_message(true, 'berth', 'probe')`

const PROBE_LIMIT_MS = 3_000
/** Commits that have waited for a synchronous standby for two seconds; a role sees those of its own sessions. */
const WAITING_COMMITS = `select from pg_stat_activity
  where wait_event = 'SyncRep' and state_change < clock_timestamp() - interval '2 seconds' limit 1`

/**
 * Asks on a connection of its own whether the database can be used.
 *
 * It writes nothing while other commits wait for a synchronous standby: its own would wait as well, and a session of the database that waits so does not notice
 * that its client has gone. A probe every second would soon hold all sessions that the server allows.
 *
 * @returns why it cannot be used; undefined if it can
 */
export async function probeDatabase({ Client = pg.Client, ...config }: ConnectionConfig): Promise<Because | undefined> {
  const limits = { connectionTimeoutMillis: PROBE_LIMIT_MS, query_timeout: PROBE_LIMIT_MS }
  const client = new Client({ ...config, ...limits })
  client.on('error', () => undefined) // `connect` and `query` below report the same error
  try {
    await client.connect()
    const { rowCount } = await client.query(WAITING_COMMITS)
    if (rowCount !== 0) return because('database_standby_silent')
    if (await isReadOnly(client)) return because('database_read_only')
    await client.query(PROBE)
    return undefined
  } catch (error) {
    // The choice of a server knows more than that none answers.
    return becauseOf(error) ?? because('database_away')
  } finally {
    // Not awaited: if a query is in flight, `end` closes the socket.
    void client.end().catch(() => undefined)
  }
}
