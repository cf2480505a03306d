import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { TIMELINE_SQL, urlsOfServers } from '#manager/contract'
import { type DatabaseFacts, type DatabaseServer } from '../facts.ts'

const TIMEOUT_MS = 5_000

/** Examines the cluster as files, because a doctor must not start a database; an external database is queried. */
export async function probeDatabase(data: string, databaseUrl: string | undefined): Promise<DatabaseFacts> {
  return databaseUrl ? await askExternal(databaseUrl) : await probeCluster(join(data, 'db', 'cluster'))
}

async function probeCluster(cluster: string): Promise<DatabaseFacts> {
  try {
    const version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim()
    const { mode } = await stat(cluster)
    return { kind: 'embedded', version, mode: mode & 0o777, readable: true }
  } catch (error) {
    const denied = error instanceof Error && 'code' in error && error.code === 'EACCES'
    return { kind: 'embedded', version: undefined, mode: undefined, readable: !denied }
  }
}

type External = Extract<DatabaseFacts, { kind: 'external' }>

/** Asks each server that the URL names. @returns what the one said that takes writes, else that of one that answers */
async function askExternal(databaseUrl: string): Promise<External> {
  const urls = urlsOfServers(databaseUrl) ?? []
  const asked = await Promise.all(urls.map(askServer))
  const found = asked.map(({ facts }) => facts)
  const answering = found.filter(one => one.status === 'reachable')
  const why = found.map(one => (one.status === 'unreachable' ? one.why : '')).join('; ')
  const best = answering.find(one => !one.isReadOnly) ?? answering[0]
  if (!best) return unreachable(why || NO_ADDRESS)
  return urls.length > 1 ? { ...best, servers: asked.map(({ server }) => server) } : best
}

// The cause says nothing of a URL that cannot be parsed, because it holds the password.
const NO_ADDRESS = 'no valid address.'
const unreachable = (why: string): External => ({ kind: 'external', status: 'unreachable', why })

interface Answer {
  readonly version: string
  readonly number: number
  readonly now: Date
  readonly isReadOnly: boolean
  readonly waitsForStandby: boolean
  readonly isFed: boolean
}

/** Answer of one server about the database, and about itself. */
interface Asked {
  readonly facts: External
  readonly server: DatabaseServer
}

async function askServer(connectionString: string): Promise<Asked> {
  const away = (at: string, why: string): Asked => ({ facts: unreachable(why), server: { at, role: 'away', why } })
  let at = ''
  try {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS })
    client.on('error', () => undefined)
    at = `${client.host}:${client.port}`
    try {
      await client.connect()
      const askedAt = Date.now()
      const { rows } = await client.query<Answer>(
        `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
           clock_timestamp() as now, current_setting('transaction_read_only')::bool as "isReadOnly",
           exists (select from pg_stat_activity
             where wait_event = 'SyncRep' and state_change < clock_timestamp() - interval '2 seconds') as "waitsForStandby",
           exists (select from pg_stat_wal_receiver) as "isFed"`,
      )
      const [row] = rows
      if (!row) return away(at, NO_ADDRESS)
      const { version, number: versionNumber, isReadOnly, waitsForStandby, isFed } = row
      const aheadMs = row.now.getTime() - (askedAt + Date.now()) / 2
      return {
        facts: { kind: 'external', status: 'reachable', version, versionNumber, aheadMs, isReadOnly, waitsForStandby },
        server: isReadOnly
          ? { at, role: 'standby', isFed }
          : { at, role: 'primary', timeline: await timelineOf(client) },
      }
    } finally {
      await client.end()
    }
  } catch (error) {
    return away(at, error instanceof Error && 'code' in error ? `${error.message} (${String(error.code)})` : NO_ADDRESS)
  }
}

/** A service that offers PostgreSQL may keep it from its users. */
async function timelineOf(client: pg.Client): Promise<number> {
  const { rows } = await client
    .query<{ timeline: number }>(`select ${TIMELINE_SQL} as timeline`)
    .catch(() => ({ rows: [] }))
  return rows[0]?.timeline ?? 0
}
