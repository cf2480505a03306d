import { resolve } from 'node:path'
import { type Command } from 'commander'
import { readSettings } from '../config/berth-toml/read.ts'
import { dataDirectory } from '../config/directories.ts'
import { createOutput } from '../output.ts'
import { ownerOf } from './as-owner.ts'
import { dataOption } from './data-option.ts'
import { runOffline } from './run-offline.ts'

interface Rotation {
  readonly keyId: string
  readonly file: string
}

interface Flags {
  data?: string
  config?: string
  json?: boolean
}

/** `berth rotate-master-key`: a new key for the secrets in the database of this computer, or of DATABASE_URL. */
export function addRotateMasterKeyCommand(program: Command): void {
  program
    .command('rotate-master-key')
    .description(
      'Make a new master key and encrypt every secret in the database with it. Stop Berth first, and all managers on the same database. The old key stays in the file, for older backups.',
    )
    .addOption(dataOption())
    .option('--config <file>', 'settings file (default: berth.toml in the data directory)')
    .option('--json', 'print JSON')
    .action(async ({ data: given, config, json }: Flags) => {
      const data = resolve(given ?? dataDirectory())
      const settings = await readSettings(data, config)
      const work = { data, settings, owner: await ownerOf(data) }
      const rotation = await runOffline<Rotation>('manager/secrets/main', [], work)
      createOutput(json ?? false).data(
        rotation,
        () =>
          `Every secret is encrypted with the new key ${rotation.keyId}, which is in ${rotation.file}. Copy this file to the other managers before they start, and keep a copy for backups made from now on.`,
      )
    })
}
