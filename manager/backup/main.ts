import { resolve } from 'node:path'
import { AppError, ERRORS, toWireError } from '#manager/contract'
import { readConfig } from '../config.ts'
import { createLogger } from '../log.ts'
import { masterKeyPath } from '../secrets/master-key-file.ts'
import { backup, restore } from './backup.ts'

/**
 * `node manager/backup/main.ts backup|restore FILE`, a child process of the CLI. BERTH_DATA and DATABASE_URL name the
 * database, BERTH_MASTER_KEY_FILE the master key (default DATA/master.key). With `--with-key` the passphrase is read
 * from standard input, never from the command line. Prints one line of JSON on stdout: the outcome, or `{"error":…}`
 * with exit code 1. A signal stops it in order, without that line.
 */
async function main(signal: AbortSignal): Promise<void> {
  const [command, file, option] = process.argv.slice(2)
  if ((command !== 'backup' && command !== 'restore') || !file) throw new AppError('bad_request')
  const config = readConfig(process.env)
  const dataDir = resolve(config.dataDir)
  const outcome = await (command === 'backup' ? backup : restore)({
    dataDir,
    databaseUrl: config.databaseUrl,
    file: resolve(file),
    masterKeyFile: config.masterKeyFile ?? masterKeyPath(dataDir),
    passphrase: option === '--with-key' ? await readStandardInput() : undefined,
    log: createLogger(process.env.BERTH_LOG ?? 'error'),
    signal,
  })
  process.stdout.write(`${JSON.stringify(outcome)}\n`)
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

if (import.meta.main) {
  const interrupt = new AbortController()
  // A signal may arrive more than once: from the terminal, and from the CLI, which waits for us.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort())
  main(interrupt.signal).catch((error: unknown) => {
    process.exitCode = 1
    if (interrupt.signal.aborted) return
    const { code, message, detail } = toWireError(error)
    if (code === 'internal')
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.stdout.write(`${JSON.stringify({ error: { code, message: message || ERRORS[code].title, detail } })}\n`)
  })
}
