import { Duplex } from 'node:stream'
import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type FolderKit } from '#proxy/contract'
import { connect } from '../config/connect.ts'
import { configDirectory } from '../config/directories.ts'
import { listenForInterrupt, whenInterrupted } from '../interrupt.ts'
import { createOutput, table } from '../output.ts'
import { openProxy } from '../proxy.ts'
import { applyStdioFlags, type StdioFlags } from '../ssh/stdio.ts'
import { parsePort } from './servers.ts'
import { runOpenSsh } from '../ssh/run-open-ssh.ts'

interface SftpFlags {
  serve?: boolean
  port?: number
  random?: boolean
  json?: boolean
}

/** Adds the commands that reach all folders by SFTP, without a session. */
export function addFolderSftpCommands(folder: Command): void {
  folder
    .command('sftp [arguments...]')
    .description(
      'Move files of all your folders interactively, by OpenSSH. Arguments after -- go to sftp: berth folder sftp -- -b batch-file',
    )
    .option('--serve', 'keep a port open for FileZilla, WinSCP, rclone and sshfs, until Ctrl-C')
    .option('--port <number>', 'local port to listen on', parsePort)
    .option('--random', 'use a random port if that one is in use')
    .option('--json', 'with --serve: print one line of JSON once the port is open')
    .action(async (args: string[], { serve = false, port, random = false, json = false }: SftpFlags) => {
      await using proxy = await openProxy(await connect())
      using interrupt = serve ? listenForInterrupt() : undefined
      const kit = await proxy.sftp.open({
        ...defined({ port }),
        onPortTaken: random || port === undefined ? 'random' : 'fail',
      })
      if (!interrupt) {
        process.exitCode = await runOpenSsh('sftp', ['-F', kit.configFile, ...args, kit.hostAlias])
        return
      }
      const output = createOutput(json)
      output.data(kit, () => kitTable(kit))
      output.note('Press Ctrl-C to close it.')
      await whenInterrupted(interrupt).catch(() => undefined)
    })

  folder
    .command('sftp-stdio', { hidden: true })
    .description('Serve all folders by SSH on standard input and output (ProxyCommand of ssh).')
    .option('--config-dir <directory>', 'where the sign-in is (BERTH_CONFIG_DIR)')
    .option('--endpoint <url>', 'address of Berth (BERTH_ENDPOINT)')
    .option('--keypair', 'sign requests only with the keypair of the environment')
    .action(async (flags: StdioFlags) => {
      applyStdioFlags(flags)
      const { endpoint, credentials, userId } = await connect()
      const { serveFolders } = await import('#proxy')
      const stream = Duplex.from({ readable: process.stdin, writable: process.stdout })
      const of = { managerUrl: endpoint, credentials, dataDir: configDirectory(), userId: await userId() }
      await serveFolders(of, stream)
    })
}

function kitTable({ port, user, hostKeyFingerprint, identityFile, commands }: FolderKit): string {
  return table(
    ['', ''],
    [
      ['address', `${port.host}, port ${port.port}`],
      ['user', user],
      ['host key', hostKeyFingerprint],
      [
        'private key',
        `${identityFile} (PuTTY, WinSCP, FileZilla: ${identityFile}.ppk), or the SSH key of your account`,
      ],
      ...Object.entries(commands),
    ],
  )
}
