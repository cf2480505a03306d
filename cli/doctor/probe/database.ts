import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type DatabaseFacts } from '../facts.ts'

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

async function askExternal(connectionString: string): Promise<DatabaseFacts> {
  const lost = (error: unknown): DatabaseFacts => ({
    kind: 'external',
    status: 'unreachable',
    // Report only the cause: a URL that cannot be parsed must not be repeated, because it holds the password.
    why: error instanceof Error && 'code' in error ? `${error.message} (${String(error.code)})` : 'no valid address.',
  })
  try {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const askedAt = Date.now()
      const { rows } = await client.query<{ version: string; number: number; now: Date }>(
        `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
           clock_timestamp() as now`,
      )
      const [row] = rows
      if (!row) return lost(undefined)
      const middle = (askedAt + Date.now()) / 2
      const aheadMs = row.now.getTime() - middle
      return { kind: 'external', status: 'reachable', version: row.version, versionNumber: row.number, aheadMs }
    } finally {
      await client.end()
    }
  } catch (error) {
    return lost(error)
  }
}
