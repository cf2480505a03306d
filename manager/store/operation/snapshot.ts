import { sql } from 'kysely'
import { AppError } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface TableShape {
  readonly name: string
  readonly columns: string[]
}

export interface Counter {
  readonly table: string
  readonly column: string
  readonly value: string
}

/** Tables about running processes: managers, and the agents connected to them. */
const OF_PROCESSES = ['managers', 'agent_links'] as const
/**
 * Tables that a backup leaves out: short-lived rows and credentials. After a restore nobody is signed in, and no ticket, token or grant
 * that was used or revoked after the backup works again.
 */
const PASSING: readonly string[] = [
  'logins',
  'sign_in_tickets',
  'sign_in_attempts',
  'login_failures',
  'idempotency_keys',
  'email_tokens',
  'join_tokens',
  'grants',
  'published_apps',
  'ended_published_apps',
  'own_apps',
  'own_app_tickets',
  'closed_app_ports',
  'console_certificates',
  'diagnoses',
  'downloads',
  'tasks',
  'webhook_deliveries',
  ...OF_PROCESSES,
]
const BATCH = 500

/** Sets text formats that do not depend on the server's settings, and removes the time limits (tables may be large). */
async function settle(trx: Db): Promise<void> {
  for (const [name, value] of Object.entries({
    timezone: 'UTC',
    datestyle: 'ISO, YMD',
    intervalstyle: 'postgres',
    bytea_output: 'hex',
    extra_float_digits: '3',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  }))
    await sql`select set_config(${name}, ${value}, true)`.execute(trx)
}

/** Calls `work` in a read-only transaction that sees one snapshot of the database. */
export async function inSnapshot<T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async trx => {
      await settle(trx)
      return await work(trx)
    })
}

export async function readMigrationNames(db: Db): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
  return rows.map(row => row.name)
}

/** Every table that a backup contains, ordered by name. Read from the catalogue, so that new tables are included. */
export async function readShapes(db: Db): Promise<TableShape[]> {
  const { rows } = await sql<TableShape>`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
      and c.relname not like 'kysely\\_%' and c.relname <> all(${PASSING})
    group by c.relname order by c.relname`.execute(db)
  return rows
}

/** The rows of a table in the text form of PostgreSQL, read in batches. Call it inside `inSnapshot`. */
export async function* readRows(trx: Db, table: string): AsyncGenerator<string> {
  await sql`declare backup no scroll cursor for select t::text as row from ${sql.table(table)} t`.execute(trx)
  for (;;) {
    const { rows } = await sql<{ row: string }>`fetch ${sql.lit(BATCH)} from backup`.execute(trx)
    for (const { row } of rows) yield row
    if (rows.length < BATCH) break
  }
  await sql`close backup`.execute(trx)
}

/** The highest value of every identity column, 0 for an empty table. */
export async function readCounters(trx: Db): Promise<Counter[]> {
  const { rows } = await sql<Omit<Counter, 'value'>>`
    select table_name as table, column_name as column from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES' and table_name <> all(${PASSING})`.execute(trx)
  const counters: Counter[] = []
  for (const { table, column } of rows) {
    const { rows: values } = await sql<{ value: string }>`
      select coalesce(max(${sql.ref(column)}), 0)::text as value from ${sql.table(table)}`.execute(trx)
    counters.push({ table, column, value: values[0]?.value ?? '0' })
  }
  return counters
}

export interface Refill {
  /** The transaction, for further changes that a restored database needs. */
  readonly trx: Db
  insert(table: TableShape, rows: readonly string[]): Promise<void>
  setCounter(counter: Counter): Promise<void>
}

/**
 * Replaces the rows that the migrations put into an unused database, in one transaction: if `work` throws, nothing
 * changes. Foreign keys are checked at the end, so the order of tables and rows does not matter.
 * @throws AppError `database_not_empty`
 */
export async function refill<T>(db: Db, work: (into: Refill) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async trx => {
    await settle(trx)
    await sql`lock table users in access exclusive mode`.execute(trx)
    const { rows: users } = await sql`select 1 from users limit 1`.execute(trx)
    if (users.length > 0)
      throw new AppError('database_not_empty', {
        why: 'A backup can be restored only into a new data directory or an empty database.',
      })
    for (const { name } of await readShapes(trx)) await sql`truncate ${sql.table(name)} cascade`.execute(trx)
    const { rows: keys } = await sql<{ table: string; name: string }>`
      select conrelid::regclass::text as table, conname as name from pg_constraint
      where contype = 'f' and not condeferrable and connamespace = current_schema()::regnamespace`.execute(trx)
    const alterKeys = async (timing: string) => {
      for (const { table, name } of keys)
        await sql`alter table ${sql.table(table)} alter constraint ${sql.ref(name)} ${sql.raw(timing)}`.execute(trx)
    }
    await alterKeys('deferrable initially deferred')
    const result = await work({
      trx,
      async insert({ name, columns }, rows) {
        const names = sql.join(columns.map(column => sql.ref(column)))
        const fields = sql.join(columns.map(column => sql`(r.v).${sql.ref(column)}`))
        await sql`insert into ${sql.table(name)} (${names}) overriding system value
          select ${fields} from (select t::${sql.table(name)} as v from unnest(${[...rows]}::text[]) as t) r`.execute(
          trx,
        )
      },
      async setCounter({ table, column, value }) {
        const next = sql`pg_get_serial_sequence(${table}, ${column})`
        await sql`select setval(${next}, greatest(${value}::bigint, 1), ${value}::bigint > 0)`.execute(trx)
      },
    })
    await sql`set constraints all immediate`.execute(trx)
    await alterKeys('not deferrable')
    return result
  })
}
