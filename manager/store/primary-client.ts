import pg from 'pg'
import { AppError, because, urlsOfServers } from '#manager/contract'

/** A server that does not answer within this time is passed over. */
const ASK_LIMIT_MS = 3_000

/** Options of node-postgres. */
export interface ConnectionConfig extends Omit<pg.PoolConfig, 'Client'> {
  readonly Client?: typeof pg.Client
}

/**
 * Reads DATABASE_URL. If it names several servers, each new connection goes to the one that takes writes at that time: after a failover the others are
 * standbys, or away. Two servers that both take writes are a split brain, which this choice cannot see: whatever promotes a standby has to fence the old primary.
 *
 * @throws AppError `config_invalid`; the text of the URL is not repeated, because it holds a password
 */
export function readServers(databaseUrl: string): ConnectionConfig {
  const urls = urlsOfServers(databaseUrl)
  if (!urls?.every(url => URL.canParse(url))) throw new AppError('config_invalid', because('database_url_invalid'))
  const [connectionString, ...others] = urls
  return { connectionString, ...(others.length > 0 ? { Client: clientOfPrimary(urls) } : {}) }
}

interface Place {
  readonly host: string
  readonly port: number
}

function clientOfPrimary(urls: readonly string[]): typeof pg.Client {
  /** Shared by the connections that are opened at the same time. */
  let finding: Promise<Place> | undefined
  const find = () => (finding ??= findPrimary(urls).finally(() => (finding = undefined)))

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
      Object.assign(this, await find())
      await super.connect()
      return this
    }
  }
}

/** Asks all servers at once. @throws Error that says of each server why it was passed over */
async function findPrimary(urls: readonly string[]): Promise<Place> {
  try {
    return await Promise.any(urls.map(requireWritable))
  } catch (error) {
    const each = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error]
    const texts = each.map(one => (one instanceof Error ? one.message : String(one)))
    throw new Error(`no server of DATABASE_URL takes writes (${texts.join('; ')})`, { cause: error })
  }
}

async function requireWritable(connectionString: string): Promise<Place> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: ASK_LIMIT_MS,
    query_timeout: ASK_LIMIT_MS,
  })
  client.on('error', () => undefined) // `connect` and `query` report the same error
  const { host, port } = client
  try {
    await client.connect()
    if (await isReadOnly(client)) throw new Error('it takes no writes, as a standby')
    return { host, port }
  } catch (error) {
    throw new Error(`${host}:${port}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  } finally {
    // Not awaited: a server that hangs never answers.
    void client.end().catch(() => undefined)
  }
}

/** Whether the server is a standby, or was set to refuse writes. */
async function isReadOnly(client: Pick<pg.Client, 'query'>): Promise<boolean> {
  const { rows } = await client.query<{ value: string }>(`select current_setting('transaction_read_only') as value`)
  return rows[0]?.value === 'on'
}
