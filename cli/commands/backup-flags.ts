import { type Command } from 'commander'
import { dataOption } from './data-option.ts'

export interface BackupFlags {
  data?: string
  config?: string
  withKey?: boolean
  passphraseStdin?: boolean
  json?: boolean
}

/** Flags that `backup` and `restore` have in common. */
export function addBackupFlags(command: Command): Command {
  return command
    .addOption(dataOption())
    .option('--config <file>', 'settings file (default: berth.toml in the data directory)')
    .option(
      '--with-key',
      'include the master key and the key of a certificate that Berth made, encrypted with a passphrase that you are asked for',
    )
    .option('--passphrase-stdin', 'read the passphrase from standard input')
    .option('--json', 'print JSON')
}
