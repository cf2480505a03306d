import { sql } from 'kysely'
import pg from 'pg'
import { AppError, because, becauseOf, isAppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { ANSWER_LIMIT_MS } from './answer-limits.ts'
import { DISK_FULL } from './guarded-pool.ts'
import { type ConnectionConfig } from './primary-client.ts'
import { type Db } from './schema.ts'

/** `server_version_num` of the oldest supported PostgreSQL. */
const OLDEST_SERVER = 150_000

interface ServerFacts {
  readonly number: number
  readonly text: string
  readonly isReadOnly: boolean
}

/**
 * Checks that the server can hold our data.
 *
 * @throws AppError `data_version_unsupported`, `unavailable` (does not answer, or takes no writes), `disk_full`
 */
export async function checkServer(db: Db, log: Log): Promise<void> {
  const { rows } = await sql<ServerFacts>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text,
      current_setting('transaction_read_only')::bool as "isReadOnly"`
    .execute(db)
    .catch((error: unknown) => {
      throw noAnswer(error)
    })
  const [version] = rows
  if (!version || version.number < OLDEST_SERVER) {
    throw new AppError('data_version_unsupported', {
      why: `The database is PostgreSQL ${version?.text ?? 'of an unknown version'}; version 15 or newer is needed.`,
    })
  }
  if (version.isReadOnly) throw new AppError('unavailable', because('database_read_only'))
  log.info({ version: version.text }, 'database ready')
}

/** How often both connections are asked. A pooler gives the session that was used last, most often at once. */
const TURNS = 3

/**
 * Refuses a pooler that gives a session of the server to another client after each transaction, such as PgBouncer with `pool_mode = transaction`: settings,
 * notifications and the locks between managers belong to a session. Two connections that are open at the same time have two sessions, and keep them.
 *
 * @throws AppError `config_invalid`, `unavailable`
 */
export async function requireOwnSessions({ Client = pg.Client, ...config }: ConnectionConfig): Promise<void> {
  // A pooler that has no session left for the second connection lets its statements wait.
  const limited = { query_timeout: ANSWER_LIMIT_MS, ...config }
  const [one, other] = [new Client(limited), new Client(limited)] as const
  const clients = [one, other]
  for (const client of clients) client.on('error', () => undefined) // the queries report the same error
  try {
    await Promise.all(clients.map(client => client.connect()))
    const sessions = clients.map(() => new Set<number>())
    for (let turn = 0; turn < TURNS; turn++) {
      for (const [index, client] of clients.entries()) {
        const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
        sessions[index]?.add(rows[0]?.pid ?? 0)
      }
    }
    const [first, second] = sessions.map(pids => [...pids])
    if (first?.length !== 1 || second?.length !== 1 || first[0] === second[0])
      throw new AppError('config_invalid', because('database_pooled'))
  } catch (error) {
    throw isAppError(error) ? error : noAnswer(error)
  } finally {
    for (const client of clients) void client.end().catch(() => undefined)
  }
}

function noAnswer(error: unknown): AppError {
  if (isAppError(error) && SAID.has(becauseOf(error)?.cause ?? '')) return error
  const cause = isAppError(error) ? (error.cause ?? error) : error
  if (cause instanceof pg.DatabaseError && cause.code === DISK_FULL)
    return new AppError('disk_full', because('database_disk_full'), { cause })
  return new AppError('unavailable', { why: `The database does not answer: ${messageOf(cause)}` }, { cause })
}

/** Causes that say more than the text of the error behind them. */
const SAID: ReadonlySet<string> = new Set(['database_no_primary', 'database_old_primary', 'database_read_only'])

function messageOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : String(error)
}
