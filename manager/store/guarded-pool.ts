import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { type PostgresPool, type PostgresPoolClient, type PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { untilAborted } from '#base/within'
import { AppError, type Because, because, becauseOf } from '#manager/contract'
import { type Log } from '../log.ts'
import { ANSWER_LIMIT_MS } from './answer-limits.ts'
import { currentWork } from './on-behalf.ts'
import { createPermits } from './pool-permits.ts'
import { type ConnectionConfig, isReadOnly } from './primary-client.ts'
import { probeDatabase } from './probe.ts'

export interface GuardedPoolOptions {
  readonly config: ConnectionConfig
  /** Settles a new connection, before its first statement. */
  readonly settle?: (client: pg.PoolClient) => Promise<void>
  /** Limit for a statement; after it we give up waiting. Undefined for work that may take any time. */
  readonly limitMs: number | undefined
  /** Limit for the wait for a free connection. */
  readonly waitMs?: number
  /** Called when the database refused a statement because its disk is full. */
  readonly onDiskFull?: () => void
  readonly log: Log
}

export interface GuardedPool extends PostgresPool {
  /** All open connections, in use or idle. */
  readonly connections: ReadonlySet<pg.PoolClient>
}

const PROBE_MS = 1_000

/** As of node-postgres. */
const DEFAULT_MOST = 10

/**
 * A manager's connection pool, with three guarantees that node-postgres does not give.
 *
 * 1. Every failure of the connection (not of the statement) is `unavailable` with its cause.
 * 2. No request waits for a database that hangs (a stopped server, a network that swallows packets, a disk that does not
 *    write). The first statement without an answer closes the pool for all: waiting and new requests are refused at once,
 *    until a probe on a connection of its own is answered. Older connections are not used again.
 * 3. Whoever waits for a connection gets one in turn with all others who wait, and has at most half of the connections at a time
 *    (`on-behalf.ts`). Otherwise 250 slow calls of one person would come before the next call of everybody else.
 *
 * A commit that was cut off may have happened, so a retry needs an idempotency key.
 */
export function createGuardedPool({
  config,
  settle,
  limitMs,
  waitMs = ANSWER_LIMIT_MS,
  onDiskFull,
  log,
}: GuardedPoolOptions): GuardedPool {
  const pool = new pg.Pool(config)
  const guards = new WeakMap<pg.PoolClient, Guard>()
  const connections = new Set<pg.PoolClient>()
  /** Requests that wait for a connection. */
  const waiting = new Set<AbortController>()
  const permitFor = createPermits(config.max ?? DEFAULT_MOST)
  const stop = new AbortController()
  let probing: Promise<void> | undefined
  /** Why requests are refused while `probing`. */
  let problem: Because = AWAY

  pool.on('connect', client => {
    connections.add(client)
    const guard = new Guard(client, { limitMs, onSilent, onReadOnly, onDiskFull })
    guards.set(client, guard)
    client.once('end', () => {
      connections.delete(client)
      guard.lost ??= new Error('the connection to the database has ended')
    })
    // The pool replaces a broken connection (server restart) at the next query. An unhandled `error` event would end
    // the process.
    client.on('error', (error: Error) => {
      guard.lost ??= error
      log.warn({ err: error }, 'database connection lost')
    })
    guard.settled = settled(client).catch((error: unknown) => void (guard.lost ??= error))
  })
  pool.on('error', () => undefined) // error of an idle connection, already logged above

  async function settled(client: pg.PoolClient): Promise<void> {
    await settle?.(client)
    // A proxy may lead to a standby for a moment, and reads would be answered with what is old.
    if (await isReadOnly(client)) throw new AppError('unavailable', because('database_read_only'))
  }

  function onSilent(): void {
    if (probing || stop.signal.aborted) return
    log.error({ limitMs }, 'the database does not answer; requests are refused until it does')
    probing = untilAnswered().finally(() => (probing = undefined))
    for (const wait of waiting) wait.abort(noAnswer())
    // Idle connections may hang as well.
    closeIdle()
  }

  /** Other connections to the same server would serve what is old. */
  function onReadOnly(error: unknown): void {
    for (const client of connections) {
      const guard = guards.get(client)
      if (guard) guard.lost ??= error
    }
    closeIdle()
  }

  /** Takes each idle connection out of the pool and closes it. */
  function closeIdle(): void {
    for (let idle = pool.idleCount; idle > 0; idle--) {
      pool.connect().then(
        client => client.release(true),
        () => undefined,
      )
    }
  }

  async function untilAnswered(): Promise<void> {
    for (;;) {
      const found = await probeDatabase(config)
      if (stop.signal.aborted || !found) break
      if (found.cause !== problem.cause) log.error({ cause: found.cause }, 'the database cannot be used')
      problem = found
      await delay(PROBE_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
    problem = AWAY
    if (!stop.signal.aborted) log.info({}, 'the database answers again')
  }

  async function connect(): Promise<PostgresPoolClient> {
    if (probing) throw new AppError('unavailable', problem)
    const work = currentWork()
    const wait = new AbortController()
    waiting.add(wait)
    const before = performance.eventLoopUtilization()
    const refuse = () => wait.abort(new AppError('unavailable', whoIsBusy(before)))
    const timer = setTimeout(refuse, waitMs)
    try {
      const leave = await permitFor(work, wait.signal)
      clearTimeout(timer)
      const guard = await connectNow(wait.signal).catch((error: unknown) => {
        leave()
        throw error
      })
      if (guard.lost !== undefined) {
        guard.release()
        leave()
        throw noAnswer(guard.lost)
      }
      if (work) work.connections++
      guard.onRelease = () => {
        if (work) work.connections--
        leave()
      }
      return guard
    } finally {
      clearTimeout(timer)
      waiting.delete(wait)
    }
  }

  async function connectNow(refused: AbortSignal): Promise<Guard> {
    const connecting = pool.connect()
    try {
      const guard = guards.get(await untilAborted(connecting, refused))
      if (!guard) throw new Error('the connection has no guard')
      await guard.settled
      return guard
    } catch (error) {
      if (refused.aborted)
        void connecting.then(
          client => client.release(),
          () => undefined,
        )
      throw isAboutDisk(error) ? error : noAnswer(error)
    }
  }

  return {
    connections,
    options: config,
    connect,
    async end() {
      stop.abort()
      await Promise.all([pool.end(), probing])
    },
  }
}

interface GuardDeps {
  readonly limitMs: number | undefined
  readonly onSilent: () => void
  /** The server has become a standby. */
  readonly onReadOnly: (error: unknown) => void
  readonly onDiskFull: (() => void) | undefined
}

/** A connection, as Kysely uses it. */
class Guard implements PostgresPoolClient {
  /** Why this connection takes no more statements; undefined while it works. */
  lost: unknown
  /** Resolves when the connection is settled, or lost. */
  settled: Promise<void> | undefined
  readonly #client: pg.PoolClient
  readonly #deps: GuardDeps
  onRelease: () => void = () => undefined

  constructor(client: pg.PoolClient, deps: GuardDeps) {
    this.#client = client
    this.#deps = deps
  }

  // The two forms of the interface: statements, and cursors. No code here uses cursors.
  query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query(): never
  async query<R>(text?: string, values: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (text === undefined) throw new Error('cursors are not supported')
    if (this.lost !== undefined) throw noAnswer(this.lost)
    const { promise: silent, reject } = Promise.withResolvers<never>()
    const { limitMs } = this.#deps
    let isAnswered = false
    const giveUp = () => {
      if (isAnswered) return
      this.lost = new Error(`a statement was not answered within ${limitMs} ms`)
      this.#deps.onSilent()
      reject(noAnswer(this.lost))
    }
    // A stall of this process also delays answers: arrived answers are read before the database counts as silent.
    const timer = limitMs === undefined ? undefined : setTimeout(() => setImmediate(giveUp), limitMs)
    try {
      const answer = this.#client.query(text, [...values])
      return (await Promise.race([answer, silent])) as unknown as PostgresQueryResult<R>
    } catch (error) {
      if (isAboutDisk(error)) this.#deps.onDiskFull?.()
      if (isOfStandby(error)) {
        const readOnly = new AppError('unavailable', because('database_read_only'), { cause: error })
        this.#deps.onReadOnly(readOnly)
        throw readOnly
      }
      // An error of the statement is passed on unchanged. An error of the connection becomes `unavailable`.
      throw !isLost(this) || isAboutDisk(error) ? error : noAnswer(error)
    } finally {
      isAnswered = true
      clearTimeout(timer)
    }
  }

  release(discard = false): void {
    this.#client.release(discard || this.lost !== undefined)
    this.onRelease()
  }
}

/** A function, because `lost` changes while an answer is awaited (TypeScript would assume that it does not). */
const isLost = ({ lost }: Guard): boolean => lost !== undefined

function noAnswer(cause?: unknown): AppError {
  if (cause instanceof AppError) return cause
  return new AppError('unavailable', AWAY, { cause })
}

const AWAY = because('database_away')

/** A process that hardly ever waits for anything keeps its connections waiting, and a larger database would not help. */
const BUSY_SHARE = 0.9

function whoIsBusy(before: ReturnType<typeof performance.eventLoopUtilization>): Because {
  const { utilization } = performance.eventLoopUtilization(before)
  return because(utilization > BUSY_SHARE ? 'manager_busy' : 'database_busy')
}

/** Whether work was refused because it had waited too long for a connection: nothing of it has reached the database. */
export function isRefusedAsBusy(error: unknown): boolean {
  const cause = becauseOf(error)?.cause
  return cause === 'database_busy' || cause === 'manager_busy'
}

/** SQLSTATE disk_full. */
export const DISK_FULL = '53100'

function isAboutDisk(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === DISK_FULL
}

/** SQLSTATE read_only_sql_transaction: after a failover the server that took writes may go on as a standby. */
function isOfStandby(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '25006'
}
