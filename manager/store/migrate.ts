import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { AppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { type Db } from './schema.ts'

/**
 * Runs the pending migrations. Kysely's migrator holds a lock (`pg_advisory_xact_lock`) and one transaction for all
 * steps: managers that start together migrate once, and a failed step is rolled back.
 *
 * @throws AppError `data_version_unsupported` for tables of a newer Berth
 */
export async function migrate(db: Db, log: Log): Promise<void> {
  await refuseNewerTables(db)
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) } })
  const { error, results } = await migrator.migrateToLatest()
  for (const result of results ?? []) log.info({ migration: result.migrationName, status: result.status }, 'migration')
  if (error) throw error instanceof Error ? error : new Error('The migration failed', { cause: error })
}

async function refuseNewerTables(db: Db): Promise<void> {
  const { rows: tables } = await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
  if (tables.length === 0) return
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  const unknown = rows.map(row => row.name).filter(name => !Object.hasOwn(MIGRATIONS, name))
  if (unknown.length > 0) {
    throw new AppError('data_version_unsupported', {
      why: `The database was written by a newer Berth (${unknown.join(', ')}). Start that version, or restore a backup.`,
    })
  }
}
