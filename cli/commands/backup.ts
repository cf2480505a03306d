import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { type Command } from 'commander'
import { AppError } from '#manager/contract'
import { environmentOf } from '../config/berth-toml/parse.ts'
import { readSettings } from '../config/berth-toml/read.ts'
import { dataDirectory } from '../config/directories.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput } from '../output.ts'
import { programFile } from '../program-file.ts'
import { serverError } from '../server-error.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { giveTo, type Owner, ownerOf, takeFrom } from './as-owner.ts'
import { addBackupFlags, type BackupFlags } from './backup-flags.ts'

interface Outcome {
  readonly file: string
  readonly rows: number
  readonly tables: number
  readonly withKey: boolean
}

/** `berth backup` and `berth restore`: the database of this computer (or of DATABASE_URL) as one file. */
export function addBackupCommands(program: Command): void {
  addBackupFlags(
    program
      .command('backup <file>')
      .description(
        'Write the database to a new file. A running Berth keeps running. Without --with-key, also keep a copy of DATA/master.key: the backup cannot be used without it. The backup does not have the homes of sessions.',
      ),
  ).action(async (file: string, flags: BackupFlags) => {
    const outcome = await run('backup', file, flags)
    createOutput(flags.json ?? false).data(
      outcome,
      () => `${outcome.rows} rows in ${outcome.file}${outcome.withKey ? ', with its keys' : ''}.`,
    )
  })
  addBackupFlags(
    program
      .command('restore <file>')
      .description(
        'Restore a backup into a new data directory or an empty database. A restore that fails changes nothing.',
      ),
  ).action(async (file: string, flags: BackupFlags) => {
    const outcome = await run('restore', file, flags)
    createOutput(flags.json ?? false).data(
      outcome,
      () =>
        `${outcome.rows} rows restored. Start Berth with \`berth up\`. Once the agents are connected, run \`berth admin resume\` so that sessions start again.`,
    )
  })
}

/**
 * Runs the manager's store in a process of its own, which does the work: the CLI knows no tables. On an interrupt the process
 * stops what it has started, and we wait for it.
 */
async function run(command: 'backup' | 'restore', file: string, flags: BackupFlags): Promise<Outcome> {
  const data = resolve(flags.data ?? dataDirectory())
  const path = resolve(file)
  const settings = await readSettings(data, flags.config)
  const secret = flags.withKey ? await readPassphrase(command, flags.passphraseStdin ?? false) : undefined
  const owner = await ownerOf(data)
  const child = (at: string) => runChild(command, at, { data, settings, secret, owner })
  if (!owner) return await child(path)
  const outcome = await (command === 'backup' ? takeFrom : giveTo)(owner, path, child)
  return { ...outcome, file: path }
}

interface Work {
  readonly data: string
  readonly settings: Awaited<ReturnType<typeof readSettings>>
  readonly secret: string | undefined
  /** The user as which the process works, if it is another one. */
  readonly owner: Owner | undefined
}

async function runChild(
  command: 'backup' | 'restore',
  file: string,
  { data, settings, secret, owner }: Work,
): Promise<Outcome> {
  const script = programFile('manager/backup/main')
  const args = [script, command, file, ...(secret === undefined ? [] : ['--with-key'])]
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    env: { ...process.env, ...environmentOf(settings, 'manager', process.env), BERTH_DATA: data, BERTH_LOG: 'error' },
    stdio: ['pipe', 'pipe', 'inherit'],
    // A directory that the other user may be in.
    ...(owner ? { uid: owner.uid, gid: owner.gid, cwd: '/' } : {}),
  })
  using interrupt = listenForInterrupt()
  interrupt.signal.addEventListener('abort', () => child.kill('SIGTERM'))
  child.stdin.on('error', () => undefined) // the child ended without reading; its output says why
  child.stdin.end(secret ?? '')
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer)
  const line = Buffer.concat(chunks).toString('utf8').trim()
  if (line === '') interrupt.signal.throwIfAborted()
  if (line === '') throw new AppError('internal', { why: `${command} ended without a result.` })
  const error = serverError(line)
  if (error) throw error
  return JSON.parse(line) as Outcome
}

async function readPassphrase(command: 'backup' | 'restore', fromStandardInput: boolean): Promise<string> {
  if (fromStandardInput) return await readStandardInput()
  const first = await promptSecret('Passphrase of the master key: ', '--passphrase-stdin')
  if (command === 'backup' && (await promptSecret('Repeat the passphrase: ')) !== first)
    throw new AppError('bad_request', { why: 'The two passphrases differ.' })
  return first
}
