import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createMutex } from '#base/mutex'
import { every } from '#base/every'
import { type Log } from '../log.ts'
import { isReadOnly, lineOf, readServers } from '../store/primary-client.ts'

export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** A connection to the database outside the pool: its subscriptions and locks belong to this process alone. */
export interface DedicatedConnection extends AsyncDisposable {
  readonly isOpen: boolean
  /**
   * Whether the server has answered something that was sent within SILENT_MS. Before that it may have ended the session, or another server may have taken its place,
   * and its locks may be somebody else's.
   */
  readonly isHeard: boolean
  /** Never waits for a connection. @throws Error while there is none, or if it breaks */
  readonly query: Query
}

export interface DedicatedConnectionDeps {
  readonly databaseUrl: string
  /** The `application_name`, by which other managers find and end the session of a hung process. */
  readonly name: string
  readonly channel: string
  /**
   * Called after a reconnect: notifications were missed meanwhile.
   *
   * @param isElsewhere true if it leads, or may lead, to another server, or to a standby that was promoted, which knows no locks of before
   */
  readonly onReopened: (isElsewhere: boolean) => void
  /** Called when the connection is lost, and with it all locks. */
  readonly onLost: () => void
  readonly onNotification: (payload: string) => void
  readonly log: Log
}

const PROBE_MS = 500
/** The server ends a session that is silent for this long, and releases its locks. */
export const SILENT_MS = 3_000
/** A query that takes longer means that the server is gone. */
const QUERY_TIMEOUT_MS = 5_000
const RETRY_MS = 300

/**
 * Session settings that make the server detect a dead process. The server still sees a connection of a process that is stopped, or whose
 * machine or network is gone, so it is told to expect traffic within SILENT_MS. While the server is writing to the connection, TCP has to
 * detect that.
 */
const SETTLE = `select set_config('idle_session_timeout', '${SILENT_MS}', false),
  set_config('tcp_user_timeout', '${SILENT_MS}', false), set_config('tcp_keepalives_idle', '2', false),
  set_config('tcp_keepalives_interval', '1', false), set_config('tcp_keepalives_count', '3', false)`

/**
 * Connects, and reconnects whenever the connection is lost.
 *
 * Threat model: anybody who may write to our database can send notifications, so their payloads are as trusted as its rows. They hold ids,
 * never secrets, because every role of the database may listen.
 *
 * @throws Error if the first attempt fails
 */
export async function openDedicatedConnection(deps: DedicatedConnectionDeps): Promise<DedicatedConnection> {
  const { log } = deps
  const stop = new AbortController()
  let current: pg.Client | undefined
  let heardAt = Number.NEGATIVE_INFINITY
  /** History on which the server of the last connection wrote; undefined if it did not say. */
  let line: string | undefined
  const mutex = createMutex()

  /** Runs queries one after the other, because the client accepts no second query before the first is answered. */
  const inTurn = (client: pg.Client, text: string, values: readonly unknown[] = []) =>
    mutex(async () => {
      const sentAt = performance.now()
      const answer = await client.query<Record<string, unknown>>(text, [...values])
      heardAt = sentAt
      return answer
    })

  /** Reads would be answered with what is old, and locks would hold beside those at the primary. @throws Error */
  async function requirePrimary(client: pg.Client): Promise<void> {
    if (await isReadOnly({ query: inTurn.bind(undefined, client) as pg.Client['query'] }))
      throw new Error('the server takes no writes')
  }

  async function connect(again: boolean): Promise<{ readonly ended: Promise<void> }> {
    const { Client = pg.Client, ...servers } = readServers(deps.databaseUrl)
    const client = new Client({
      ...servers,
      application_name: deps.name,
      query_timeout: QUERY_TIMEOUT_MS,
      connectionTimeoutMillis: QUERY_TIMEOUT_MS,
      keepAlive: true,
    })
    const lost = Promise.withResolvers<undefined>()
    client.on('error', error => {
      log.warn({ err: error }, 'the connection for notifications and locks broke')
      lost.resolve(undefined)
    })
    client.on('end', () => lost.resolve(undefined))
    client.on('notification', ({ payload }) => deps.onNotification(payload ?? ''))
    const onStop = () => lost.resolve(undefined)
    stop.signal.addEventListener('abort', onStop)
    try {
      await client.connect()
      await client.query(SETTLE)
      await requirePrimary(client)
      await client.query(`listen ${client.escapeIdentifier(deps.channel)}`)
    } catch (error) {
      await close(client)
      throw error
    }
    const before = line
    const { timeline, system } = await lineOf(client)
    // A server that does not say may be another one each time.
    line = system === '' ? undefined : `${system} ${timeline}`
    current = client
    if (again) deps.onReopened(line === undefined || line !== before)
    const probing = every(
      PROBE_MS,
      () => requirePrimary(client),
      error => {
        log.warn({ err: error }, 'the connection for notifications and locks is given up')
        lost.resolve(undefined)
      },
    )
    const ended = lost.promise.then(async () => {
      probing[Symbol.dispose]()
      stop.signal.removeEventListener('abort', onStop)
      current = undefined
      deps.onLost()
      await close(client)
    })
    return { ended }
  }

  // A function, because the value changes during an await.
  const stopping = () => stop.signal.aborted

  async function keep(first: { readonly ended: Promise<void> }): Promise<void> {
    await first.ended
    while (!stopping()) {
      try {
        const { ended } = await connect(true)
        await ended
      } catch (error) {
        log.warn({ err: error }, 'no connection for notifications and locks; trying again')
      }
      await delay(RETRY_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }
  const keeping = keep(await connect(false))

  return {
    get isOpen() {
      return current !== undefined
    },
    get isHeard() {
      return performance.now() - heardAt < SILENT_MS
    },
    async query(text, values = []) {
      if (!current) throw new Error('there is no connection to the database')
      const { rows } = await inTurn(current, text, values)
      return rows
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await keeping
    },
  }
}

/** Closes the client, even a hung one: with a query in flight, the socket is closed. */
async function close(client: pg.Client): Promise<void> {
  await client.end().catch(() => undefined)
}
