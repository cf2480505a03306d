import pg from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, because, TIMELINE_SQL, urlsOfServers } from '#manager/contract'

/** A server that does not answer within this time is passed over. */
const ASK_LIMIT_MS = 3_000
/** Time that the other servers have to answer once one has said that it takes writes: there may be a second one. */
const OTHERS_MS = 300

/** Options of node-postgres. */
export interface ConnectionConfig extends Omit<pg.PoolConfig, 'Client'> {
  readonly Client?: typeof pg.Client
}

/**
 * Reads DATABASE_URL. If it names several servers, each new connection goes to the one that takes writes at that time: after a failover the others are
 * standbys, or away. If two take writes, the old primary has come back without being fenced: the one on the newer timeline is used, and this process
 * never goes back to an older timeline. A manager that starts while only the old primary answers cannot know; whatever promotes a standby has to fence the old one.
 *
 * @throws AppError `config_invalid`; the text of the URL is not repeated, because it holds a password
 */
export function readServers(databaseUrl: string): ConnectionConfig {
  const urls = urlsOfServers(databaseUrl)
  if (!urls?.every(url => URL.canParse(url))) throw new AppError('config_invalid', because('database_url_invalid'))
  const [connectionString, ...others] = urls
  return { connectionString, ...(others.length > 0 ? { Client: clientOfPrimary(databaseUrl, urls) } : {}) }
}

interface Primary {
  readonly host: string
  readonly port: number
  /** Grows with each promotion of a standby; 0 if the server does not say. */
  readonly timeline: number
  /** Id of the cluster, equal on a primary and its standbys. */
  readonly system: string
}

/** The last primary of each DATABASE_URL that this process has connected to. */
const lastPrimaries = new Map<string, Primary>()

function clientOfPrimary(databaseUrl: string, urls: readonly string[]): typeof pg.Client {
  /** Shared by the connections that are opened at the same time. */
  let finding: Promise<Primary> | undefined
  const find = () => (finding ??= findNewestPrimary(databaseUrl, urls).finally(() => (finding = undefined)))

  return class extends pg.Client {
    override connect(): Promise<this>
    override connect(callback: (error?: Error) => void): void
    override connect(callback?: (error?: Error) => void): Promise<this> | undefined {
      const connected = this.#connectToPrimary()
      if (!callback) return connected
      connected.then(() => callback(), callback)
      return undefined
    }

    async #connectToPrimary(): Promise<this> {
      const { host, port } = await find()
      Object.assign(this, { host, port })
      await super.connect()
      return this
    }
  }
}

/** @throws AppError `unavailable` (no primary, or only one that was replaced), Error if no server answers */
async function findNewestPrimary(databaseUrl: string, urls: readonly string[]): Promise<Primary> {
  const before = lastPrimaries.get(databaseUrl)
  const found = await findPrimary(urls)
  if (before && before.system === found.system && found.timeline < before.timeline)
    throw new AppError('unavailable', because('database_old_primary'), { cause: tooOld(found, before) })
  // A server that did not say, because it was busy, must not let the old one in.
  if (!before || found.system !== '') lastPrimaries.set(databaseUrl, found)
  return found
}

const tooOld = (found: Primary, before: Primary) =>
  new Error(
    `${found.host}:${found.port} takes writes on timeline ${found.timeline}, ${before.host}:${before.port} did on ${before.timeline}`,
  )

/** Says of a server that answers that it is not the primary. */
class StandbyError extends Error {}

/** Asks all servers at once. @throws AppError `unavailable` if only standbys answer, Error if none answers; it says of each why it was passed over */
async function findPrimary(urls: readonly string[]): Promise<Primary> {
  const asked = urls.map(requireWritable)
  try {
    const first = await Promise.any(asked)
    const writable = [first]
    const others = asked.map(async one => void writable.push(await one))
    await Promise.race([Promise.allSettled(others), delay(OTHERS_MS, undefined, { ref: false })])
    return writable.reduce((newest, one) => (one.timeline > newest.timeline ? one : newest))
  } catch (error) {
    const each = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error]
    const texts = each.map(one => (one instanceof Error ? one.message : String(one)))
    const cause = new Error(`no server of DATABASE_URL takes writes (${texts.join('; ')})`, { cause: error })
    if (!each.some(one => one instanceof StandbyError)) throw cause
    throw new AppError('unavailable', because('database_no_primary'), { cause })
  }
}

async function requireWritable(connectionString: string): Promise<Primary> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: ASK_LIMIT_MS,
    query_timeout: ASK_LIMIT_MS,
  })
  client.on('error', () => undefined) // `connect` and `query` report the same error
  const { host, port } = client
  try {
    await client.connect()
    if (await isReadOnly(client)) throw new StandbyError(`${host}:${port}: it takes no writes, as a standby`)
    return { host, port, ...(await lineOf(client)) }
  } catch (error) {
    if (error instanceof StandbyError) throw error
    throw new Error(`${host}:${port}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    // Not awaited: a server that hangs never answers.
    void client.end().catch(() => undefined)
  }
}

type Asked = Pick<pg.Client, 'query'>

/** Whether the server is a standby, or was set to refuse writes. */
export async function isReadOnly(client: Asked): Promise<boolean> {
  const { rows } = await client.query<{ value: string }>(`select current_setting('transaction_read_only') as value`)
  return rows[0]?.value === 'on'
}

/** The line of history on which a primary writes. A service that offers PostgreSQL may keep it from its users. */
export async function lineOf(client: Asked): Promise<Pick<Primary, 'timeline' | 'system'>> {
  const { rows } = await client
    .query<{ timeline: number; system: string }>(
      `select ${TIMELINE_SQL} as timeline,
         (select system_identifier::text from pg_control_system()) as system`,
    )
    .catch(() => ({ rows: [] }))
  return rows[0] ?? { timeline: 0, system: '' }
}
