import { resolve } from 'node:path'
import { type Command } from 'commander'
import { AppError } from '#manager/contract'
import { counted } from '../counted.ts'
import { readSettings } from '../config/berth-toml/read.ts'
import { dataDirectory } from '../config/directories.ts'
import { createOutput } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { giveTo, ownerOf, takeFrom } from './as-owner.ts'
import { addBackupFlags, type BackupFlags } from './backup-flags.ts'
import { runOffline } from './run-offline.ts'

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
      () => `${counted(outcome.rows, 'row')} in ${outcome.file}${outcome.withKey ? ', with its keys' : ''}.`,
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
        `${counted(outcome.rows, 'row')} restored. Start Berth with \`berth up\`. Once the agents are connected, run \`berth admin resume\` so that sessions start again.`,
    )
  })
}

async function run(command: 'backup' | 'restore', file: string, flags: BackupFlags): Promise<Outcome> {
  const data = resolve(flags.data ?? dataDirectory())
  const path = resolve(file)
  const settings = await readSettings(data, flags.config)
  const secret = flags.withKey ? await readPassphrase(command, flags.passphraseStdin ?? false) : undefined
  const owner = await ownerOf(data)
  const child = (at: string) =>
    runOffline<Outcome>('manager/backup/main', [command, at, ...(secret === undefined ? [] : ['--with-key'])], {
      ...{ data, settings, owner },
      input: secret ?? '',
    })
  if (!owner) return await child(path)
  const outcome = await (command === 'backup' ? takeFrom : giveTo)(owner, path, child)
  return { ...outcome, file: path }
}

async function readPassphrase(command: 'backup' | 'restore', fromStandardInput: boolean): Promise<string> {
  if (fromStandardInput) return await readStandardInput()
  const first = await promptSecret('Passphrase of the master key: ', '--passphrase-stdin')
  if (command === 'backup' && (await promptSecret('Repeat the passphrase: ')) !== first)
    throw new AppError('bad_request', { why: 'The two passphrases differ.' })
  return first
}
