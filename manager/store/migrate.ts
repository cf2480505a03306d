import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { AppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { isLastOfDevelopment, isOtherDevelopment, LAST_OF_DEVELOPMENT } from './migrations/development.ts'
import { MIGRATIONS } from './migrations/index.ts'
import { type Db } from './schema.ts'

/**
 * Runs the pending migrations. Kysely's migrator holds a lock (`pg_advisory_xact_lock`) and one transaction for all
 * steps: managers that start together migrate once, and a failed step is rolled back. The migrator begins by reading the columns of all
 * tables twice, a sixth of the processor time of a start, so it is left out where nothing is pending.
 *
 * @throws AppError `data_version_unsupported` for tables of a newer Berth, or of one from before 0.1.0
 */
export async function migrate(db: Db, log: Log): Promise<void> {
  const { rows: tables } = await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
  if (tables.length > 0 && (await db.transaction().execute(checkVersion)) === 'current') return
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve({ ...MIGRATIONS }) } })
  const { error, results } = await migrator.migrateToLatest()
  for (const result of results ?? []) log.info({ migration: result.migrationName, status: result.status }, 'migration')
  if (error) throw error instanceof Error ? error : new Error('The migration failed', { cause: error })
}

/**
 * Refuses tables that cannot be migrated to the current version. Those of the last development version equal the tables of
 * `0001-initial`: only their list of migrations is replaced.
 *
 * @returns `pending` if migrations have to run
 */
async function checkVersion(trx: Db): Promise<'current' | 'pending'> {
  // Other managers that start now wait here.
  await sql`lock table kysely_migration in exclusive mode`.execute(trx)
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(trx)
  const names = rows.map(({ name }) => name)
  if (isLastOfDevelopment(names)) {
    await sql`delete from kysely_migration`.execute(trx)
    await sql`insert into kysely_migration (name, timestamp) values ('0001-initial', now()::text)`.execute(trx)
    return 'pending'
  }
  if (isOtherDevelopment(names)) {
    throw new AppError('data_version_unsupported', {
      why:
        `The database was written by a Berth from before 0.1.0 (${names.at(-1) ?? ''}). ` +
        `Start the last of these once, with the tables of ${LAST_OF_DEVELOPMENT}, or begin with another database.`,
    })
  }
  const unknown = names.filter(name => !Object.hasOwn(MIGRATIONS, name))
  if (unknown.length > 0) {
    throw new AppError('data_version_unsupported', {
      why: `The database was written by a newer Berth (${unknown.join(', ')}). Start that version, or restore a backup.`,
    })
  }
  return Object.keys(MIGRATIONS).every(name => names.includes(name)) ? 'current' : 'pending'
}
