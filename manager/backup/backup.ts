import { createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { AppError } from '#manager/contract'
import { openStore } from '../store/open-store.ts'
import { forgetBackups } from '../store/operation/backups.ts'
import { requeueStarting, writePause } from '../store/operation/pause.ts'
import { endOneTimeThings } from '../store/operation/restored.ts'
import { type Db } from '../store/schema.ts'
import {
  inSnapshot,
  readCounters,
  readMigrationNames,
  readRows,
  readShapes,
  refill,
} from '../store/operation/snapshot.ts'
import { decode, encode, type Entry, FORMAT_VERSION, type Header } from './format.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { TOTP_PERIOD_SECONDS } from '../users/totp-codes.ts'
import { openToRead, type Source } from './open-database.ts'
import { openKey, sealKey } from './sealed-key.ts'

export interface BackupOptions extends Source {
  readonly file: string
  readonly masterKeyFile: string
  /** Passphrase of the master key. Without it the key is left out (backup), or must not be in the file (restore). */
  readonly passphrase: string | undefined
  /** Aborts the work: no partial result is left, and a database that was started here stops. */
  readonly signal?: AbortSignal | undefined
  /** Called for each row with the number of rows so far (backup only). */
  readonly onRows?: ((rows: number) => void) | undefined
}

export interface Outcome {
  readonly file: string
  readonly rows: number
  readonly tables: number
  readonly withKey: boolean
}

/**
 * Writes the database to one file: complete or absent, never over an existing one.
 *
 * Threat model: the file holds password hashes, names and addresses of users, variables of sessions and ends of logs in plain text, so it
 * is 0600. It holds no sign-ins. It holds the master key and the key of Berth's certificate only encrypted under a passphrase.
 * @throws AppError `bad_request` (file exists), `not_found`, `config_invalid` (no master key); the signal's reason
 */
export async function backup({
  file,
  masterKeyFile,
  passphrase,
  signal,
  onRows,
  ...source
}: BackupOptions): Promise<Outcome> {
  if (await stat(file).catch(() => undefined)) throw new AppError('bad_request', { why: `${file} already exists.` })
  const masterKey = passphrase === undefined ? null : await sealKey(await readKey(masterKeyFile), passphrase, 'master')
  const ownKey =
    passphrase === undefined ? undefined : await readFile(tlsKeyPath(source.dataDir)).catch(() => undefined)
  const tlsKey = ownKey && passphrase !== undefined ? await sealKey(ownKey, passphrase, 'tls') : undefined
  await using store = await openToRead(source)
  const partial = `${file}.partial-${process.pid}`
  try {
    const counts = await inSnapshot(store.db, async trx => {
      const tables = await readShapes(trx)
      const schema = await readMigrationNames(trx)
      const createdAt = new Date(store.now()).toISOString()
      const header: Header = {
        berthBackup: FORMAT_VERSION,
        createdAt,
        schema,
        tables,
        masterKey,
        ...(tlsKey ? { tlsKey } : {}),
      }
      let rows = 0
      const entries = async function* (): AsyncGenerator<Entry> {
        for await (const entry of readEntries(trx, header)) {
          signal?.throwIfAborted()
          if ('row' in entry) {
            rows++
            onRows?.(rows)
          }
          yield entry
        }
      }
      const out = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true })
      await pipeline(Readable.from(encode(header, entries())), createGzip(), out)
      return { rows, tables: tables.length }
    })
    await rename(partial, file)
    await keepName(dirname(file))
    const withKey = masterKey !== null
    // The backup is complete already: a failure here (an old schema without the table, or a database that went away)
    // does not affect it.
    await insertAuditRows(store.db, [toAuditRow({ action: 'backup', result: 'ok', detail: { withKey } })]).catch(
      () => undefined,
    )
    return { file, ...counts, withKey }
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Syncs the new name to the disk, because older backups may be deleted next. Not every file system supports or needs that. */
async function keepName(directory: string): Promise<void> {
  const handle = await open(directory).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

async function* readEntries(trx: Db, { tables }: Header): AsyncGenerator<Entry> {
  for (const [number, { name }] of tables.entries())
    for await (const row of readRows(trx, name)) yield { row: [number, row] }
  for (const counter of await readCounters(trx)) yield { counter }
}

const BATCH = 500

/**
 * Fills an unused database from a file, in one transaction.
 * @throws AppError `backup_damaged`, `data_version_unsupported`, `database_not_empty`, `bad_request` (passphrase); the signal's reason
 */
export async function restore(options: BackupOptions): Promise<Outcome> {
  const { file, masterKeyFile, passphrase, signal, ...source } = options
  // Read the file before opening the database, which would create one: a wrong file must leave nothing behind.
  const { header, entries: all } = await readBackup(file)
  for await (const _ of all) signal?.throwIfAborted() // read to its end, which has the checksum
  const keys = await keysOf(header, { master: masterKeyFile, tls: tlsKeyPath(source.dataDir) }, passphrase)
  await using store = await openStore({ ...source, isPatient: true })
  await checkSchema(store.db, header)
  const rows = await refill(store.db, async into => {
    const { entries } = await readBackup(file)
    let count = 0
    let batch: string[] = []
    let current = 0
    const flush = async () => {
      const table = header.tables[current]
      if (!table)
        throw new AppError('backup_damaged', { why: 'The file has rows of a table that its header does not name.' })
      if (batch.length > 0) await into.insert(table, batch)
      count += batch.length
      batch = []
    }
    for await (const entry of entries) {
      signal?.throwIfAborted()
      if ('counter' in entry) {
        await into.setCounter(entry.counter)
        continue
      }
      const [table, row] = entry.row
      if (table !== current || batch.length >= BATCH) await flush()
      current = table
      batch.push(row)
    }
    if (batch.length > 0) await flush()
    // The running sessions differ from those at the time of the backup: agents report first, and the admin decides when
    // to resume.
    await requeueStarting(into.trx)
    await writePause(into.trx, 'restored')
    await endOneTimeThings(into.trx, TOTP_PERIOD_SECONDS)
    await forgetBackups(into.trx)
    // This is the last step that may fail; the transaction is committed right after it.
    for (const { path, key } of keys) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(path, key, { mode: 0o600, flag: 'wx', flush: true })
    }
    return count
  })
  return { file, rows, tables: header.tables.length, withKey: header.masterKey !== null }
}

async function readBackup(file: string): Promise<Awaited<ReturnType<typeof decode>>> {
  const bytes = await readFile(file).catch((error: unknown) => {
    const why = `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
    throw new AppError('bad_request', { why }, { cause: error })
  })
  return await decode(linesOf(bytes))
}

/** Unpacks the lines while reading; a truncated stream makes the iteration throw. */
async function* linesOf(bytes: Buffer): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of Readable.from([bytes]).pipe(createGunzip()).setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** The keys to write. @returns without keys that the backup lacks, or that this computer has already */
async function keysOf(
  { masterKey, tlsKey }: Header,
  paths: Readonly<Record<'master' | 'tls', string>>,
  passphrase: string | undefined,
): Promise<{ path: string; key: Buffer }[]> {
  if (masterKey === null) return []
  if (passphrase === undefined)
    throw new AppError('bad_request', { why: 'The backup holds a master key: add --with-key and give its passphrase.' })
  const missing: { path: string; key: Buffer }[] = []
  for (const [purpose, sealed] of [['master', masterKey] as const, ...(tlsKey ? [['tls', tlsKey] as const] : [])]) {
    const path = paths[purpose]
    const key = await openKey(sealed, passphrase, purpose)
    const present = await readFile(path).catch(() => undefined)
    if (present === undefined) missing.push({ path, key })
    else if (!present.equals(key))
      throw new AppError('bad_request', { why: `${path} holds another key than the backup. Move it away first.` })
  }
  return missing
}

/** Key of the certificate that Berth made for itself (`proxy/web/tls/own-certificate.ts`). */
const tlsKeyPath = (dataDir: string) => join(dataDir, 'tls', 'own-key.pem')

async function checkSchema(db: Db, header: Header): Promise<void> {
  const [schema, tables] = [await readMigrationNames(db), await readShapes(db)]
  if (JSON.stringify([schema, tables]) === JSON.stringify([header.schema, header.tables])) return
  throw new AppError('data_version_unsupported', {
    why:
      `The backup was made with the tables of ${header.schema.at(-1) ?? 'no version'}; this Berth has ` +
      `${schema.at(-1) ?? 'none'}. Restore it with the version that made it, then update.`,
  })
}

async function readKey(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new AppError('config_invalid', { why: `There is no master key at ${path}.` }, { cause: error })
  }
}
