import { sql } from 'kysely'
import { type Db } from '../schema.ts'

/** Version of the PostgreSQL server, such as `18.1 (Debian 18.1-1)`. */
export async function readServerVersion(db: Db): Promise<string> {
  const { rows } = await sql<{ server_version: string }>`show server_version`.execute(db)
  return rows[0]?.server_version ?? ''
}
