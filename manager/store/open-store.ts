import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import { AppError, isAppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Clock, startClock } from './clock.ts'
import { withDiskInMind } from './embedded/no-space.ts'
import { type Embedded, openEmbedded } from './embedded/open-embedded.ts'
import { createGuardedPool, DISK_FULL, type GuardedPool } from './guarded-pool.ts'
import { createHealth } from './health.ts'
import { migrate } from './migrate.ts'
import { type Database, type Db } from './schema.ts'

export interface Store extends AsyncDisposable {
  readonly db: Db
  /**
   * Runs `work` in one transaction. A deadlock or serialisation failure runs it again (three times at most), so it must
   * have no effect but through `trx`; no network in it, and never `store.db` (that would be another connection).
   */
  transaction<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T>
  /** The database's clock, in milliseconds since the epoch: every time that is compared with one of a row is this one's. */
  readonly now: () => number
  /** Whether that clock was set while this process ran. */
  readonly clock: Pick<Clock, 'observe' | 'setForwardSince' | 'lastStep'>
  /** Resolves if the database takes changes. @throws AppError `unavailable`; the database's error where its disk is full */
  readonly check: () => Promise<void>
}

export interface StoreOptions {
  /** An external PostgreSQL; without it the embedded one below `dataDir` is started. */
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  readonly log: Log
  /** False: the tables are looked at as they are. */
  readonly migrate?: boolean
  /** Statements may take as long as they need: for a backup, which nobody waits for in a browser. */
  readonly isPatient?: boolean
  /** A transaction in which nothing is said for so long is ended by the server: its process may hang, and it holds locks. */
  readonly silentMs?: number | undefined
}

/** `server_version_num` of the oldest PostgreSQL that our SQL is written for. */
const OLDEST_SERVER = 150_000
const POOL_SIZE = 10
/**
 * A request has its answer within 10 s, of which its row in the audit log may take 2. The server gives up a statement (one that
 * waits for a lock, say) before we give up the server.
 */
const STATEMENT_TIMEOUT_MS = 6_000
const ANSWER_LIMIT_MS = 7_000
const CONNECT_TIMEOUT_MS = 7_000
const SILENT_TRANSACTION_MS = 30_000
const GOOD_BYE_MS = 2_000

/**
 * Opens the database (starting the embedded one if there is no URL) and brings its tables up to date.
 *
 * @throws AppError `data_version_unsupported`, `unavailable` (does not answer), `config_invalid` (not a database URL)
 */
export async function openStore({
  databaseUrl,
  dataDir,
  log,
  migrate: isMigrated = true,
  isPatient = false,
  silentMs = SILENT_TRANSACTION_MS,
}: StoreOptions): Promise<Store> {
  await using stack = new AsyncDisposableStack()
  const connection =
    databaseUrl === undefined
      ? stack.use(await started(dataDir, log)).connection
      : { connectionString: checkedUrl(databaseUrl) }
  const shared: pg.PoolConfig = {
    ...connection,
    application_name: 'berth-manager',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser: typeParserOf },
  }
  await prepare(shared, { isMigrated, log })
  const pool = createGuardedPool({
    config: {
      ...shared,
      max: POOL_SIZE,
      ...(isPatient ? {} : { statement_timeout: STATEMENT_TIMEOUT_MS }),
      idle_in_transaction_session_timeout: silentMs,
    },
    limitMs: isPatient ? undefined : ANSWER_LIMIT_MS,
    onDiskFull: () => health.noteDiskFull(),
    log,
  })
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  const health = createHealth(() => db)
  stack.defer(() => closeInOrder(db, pool))
  const clock = stack.use(await startClock(db, log))
  const opened = stack.move()
  return {
    db,
    now: () => clock.now(),
    clock,
    check: () => health.check(),
    transaction: work => runTransaction(db, work),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function started(dataDir: string, log: Log): Promise<Embedded> {
  try {
    return await openEmbedded({ dataDir, log })
  } catch (error) {
    throw await withDiskInMind(error, dataDir)
  }
}

/** What may take its time, on connections of its own: a server that recovers, a change of large tables. */
async function prepare(config: pg.PoolConfig, { isMigrated, log }: { isMigrated: boolean; log: Log }): Promise<void> {
  const pool = createGuardedPool({ config: { ...config, max: 2 }, limitMs: undefined, log })
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  try {
    await checkServer(db, log)
    if (isMigrated) await migrate(db, log)
  } finally {
    await closeInOrder(db, pool)
  }
}

async function closeInOrder(db: Kysely<Database>, { connections }: GuardedPool): Promise<void> {
  const closed = Promise.all([...connections].map(client => new Promise(resolve => client.once('end', resolve))))
  await db.destroy()
  // That only says good-bye. A server that is stopped before it has heard it ends the connections as if they were in use.
  await Promise.race([closed, delay(GOOD_BYE_MS, undefined, { ref: false })])
}

function checkedUrl(text: string): string {
  if (!URL.canParse(text) || !/^postgres(ql)?:$/.test(new URL(text).protocol)) {
    throw new AppError('config_invalid', {
      why: 'DATABASE_URL must look like postgresql://user:password@host/database.',
    })
  }
  return text
}

async function checkServer(db: Db, log: Log): Promise<void> {
  const { rows } = await sql<{ number: number; text: string }>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text`
    .execute(db)
    .catch((error: unknown) => {
      const cause = isAppError(error) ? (error.cause ?? error) : error
      if (cause instanceof pg.DatabaseError && cause.code === DISK_FULL) {
        throw new AppError('disk_full', { why: 'The disk of the database is full. Make room on it.' }, { cause })
      }
      throw new AppError('unavailable', { why: `The database does not answer: ${messageOf(cause)}` }, { cause })
    })
  const [version] = rows
  if (!version || version.number < OLDEST_SERVER) {
    throw new AppError('data_version_unsupported', {
      why: `The database is PostgreSQL ${version?.text ?? 'of an unknown version'}; version 15 or newer is needed.`,
    })
  }
  log.info({ version: version.text }, 'database ready')
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message ? error.message : String(error)
}

/** SQLSTATE 40001 serialization_failure, 40P01 deadlock_detected: the same transaction may succeed now. */
const RETRYABLE = new Set(['40001', '40P01'])
const MAX_ATTEMPTS = 3

async function runTransaction<T>(db: Db, work: (trx: Transaction<Database>) => Promise<T>, attempt = 1): Promise<T> {
  try {
    return await db.transaction().execute(work)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (attempt < MAX_ATTEMPTS && typeof code === 'string' && RETRYABLE.has(code)) {
      return runTransaction(db, work, attempt + 1)
    }
    throw error
  }
}

const INT8 = 20

/** int8 as a number: counts, versions and amounts are safe integers. The rest as node-postgres does it. */
const typeParserOf: typeof pg.types.getTypeParser = (oid, format): unknown =>
  isInt8(oid) ? parseSafeInteger : pg.types.getTypeParser(oid, format)

function isInt8(oid: number): boolean {
  return oid === INT8
}

function parseSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is larger than a safe integer`)
  return value
}
