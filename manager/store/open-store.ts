import { setTimeout as delay } from 'node:timers/promises'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { type Log } from '../log.ts'
import { type Clock, startClock } from './clock.ts'
import { withDiskInMind } from './embedded/no-space.ts'
import { type Embedded, openEmbedded } from './embedded/open-embedded.ts'
import { ANSWER_LIMIT_MS, STATEMENT_TIMEOUT_MS } from './answer-limits.ts'
import { checkServer, requireOwnSessions } from './check-server.ts'
import { createGuardedPool, type GuardedPool } from './guarded-pool.ts'
import { createHealth } from './health.ts'
import { migrate } from './migrate.ts'
import { type ConnectionConfig, readServers } from './primary-client.ts'
import { type Database, type Db } from './schema.ts'
import { settle } from './session-settings.ts'

export interface Store extends AsyncDisposable {
  readonly db: Db
  /**
   * Runs `work` in one transaction. After a deadlock or serialisation failure it is run again (at most three attempts), so `work` must have
   * no effect except through `trx`. It must not use the network, nor `store.db`, which is another connection.
   */
  transaction<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T>
  /** The database's clock, in milliseconds since the epoch. Compare times of rows with this clock only. */
  readonly now: () => number
  /** Steps of that clock while this process runs. */
  readonly clock: Pick<Clock, 'observe' | 'setForwardSince' | 'lastStep'>
  /** Resolves if the database accepts writes. @throws AppError `unavailable`; the database's error if its disk is full */
  readonly check: () => Promise<void>
}

export interface StoreOptions {
  /** URL of an external PostgreSQL. If it is left out, the embedded one below `dataDir` is started. */
  readonly databaseUrl?: string | undefined
  readonly dataDir: string
  readonly log: Log
  /** False skips the migrations and uses the tables as they are. */
  readonly migrate?: boolean
  /** True removes the time limit for statements: for a backup, for which no browser waits. */
  readonly isPatient?: boolean
  /** The server ends a transaction that has been idle for this long: its process may hang while the transaction holds locks. */
  readonly silentMs?: number | undefined
}

const POOL_SIZE = 10
/** A page sends several requests at once: on a new connection, each would wait until the database has started a process. */
const KEPT_IDLE_MS = 300_000
const SILENT_TRANSACTION_MS = 30_000
const GOOD_BYE_MS = 2_000

/**
 * Opens the database (starts the embedded one if there is no URL) and runs the migrations.
 *
 * @throws AppError `data_version_unsupported`, `unavailable` (does not answer, or takes no writes), `config_invalid` (no database URL, or a pooler
 * without sessions)
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
    databaseUrl === undefined ? stack.use(await started(dataDir, log)).connection : readServers(databaseUrl)
  const shared: ConnectionConfig = {
    ...connection,
    application_name: 'berth-manager',
    connectionTimeoutMillis: ANSWER_LIMIT_MS,
    keepAlive: true,
    types: { getTypeParser: typeParserOf },
  }
  const jitOff = databaseUrl === undefined || !hasOptions(databaseUrl)
  if (databaseUrl !== undefined) await requireOwnSessions(shared)
  await prepare(shared, { isMigrated, jitOff, log })
  const pool = createGuardedPool({
    config: {
      ...shared,
      max: POOL_SIZE,
      idleTimeoutMillis: KEPT_IDLE_MS,
    },
    settle: client => settle(client, { statementMs: isPatient ? undefined : STATEMENT_TIMEOUT_MS, silentMs, jitOff }),
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

/** Checks the server and migrates, on connections without a limit: crash recovery and changes of large tables take long. */
async function prepare(
  config: ConnectionConfig,
  { isMigrated, jitOff, log }: { isMigrated: boolean; jitOff: boolean; log: Log },
): Promise<void> {
  const pool = createGuardedPool({
    config: { ...config, max: 2 },
    settle: client => settle(client, { statementMs: undefined, silentMs: 0, jitOff }),
    limitMs: undefined,
    log,
  })
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
  // `destroy` only sends the terminate messages. If the server stops before it has read them, the connections fail as if they were in use.
  await Promise.race([closed, delay(GOOD_BYE_MS, undefined, { ref: false })])
}

/** Whether the URL has settings of its own for sessions. */
const hasOptions = (databaseUrl: string) => /[?&]options=/.test(databaseUrl)

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

/** Parses int8 as a number: counts, versions and amounts are safe integers. node-postgres parses all other types. */
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
