import { resolve } from 'node:path'
import { AppError } from '#manager/contract'
import { readConfig } from '../config.ts'
import { createLogger } from '../log.ts'
import { runOffline } from '../offline-program.ts'
import { masterKeyPath } from '../secrets/master-key-file.ts'
import { backup, restore } from './backup.ts'

/**
 * `node manager/backup/main.ts backup|restore FILE`, a child process of the CLI. BERTH_DATA and DATABASE_URL name the
 * database, BERTH_MASTER_KEY_FILE the master key (default DATA/master.key). With `--with-key` the passphrase is read
 * from standard input, never from the command line.
 */
async function main(signal: AbortSignal) {
  const [command, file, option] = process.argv.slice(2)
  if ((command !== 'backup' && command !== 'restore') || !file) throw new AppError('bad_request')
  const config = readConfig(process.env)
  const dataDir = resolve(config.dataDir)
  return await (command === 'backup' ? backup : restore)({
    dataDir,
    databaseUrl: config.databaseUrl,
    file: resolve(file),
    masterKeyFile: config.masterKeyFile ?? masterKeyPath(dataDir),
    passphrase: option === '--with-key' ? await readStandardInput() : undefined,
    log: createLogger(process.env.BERTH_LOG ?? 'error'),
    signal,
  })
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}

if (import.meta.main) runOffline(main)
