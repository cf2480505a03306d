import { type Command } from 'commander'
import { connect } from '../config/connect.ts'
import { openProxy } from '../proxy.ts'
import { findSession } from './find-session.ts'
import { createOutput } from '../output.ts'
import { addSshConfigCommand } from './ssh-config.ts'
import { openSshTunnel, silenceOf } from '../ssh/reach.ts'
import { runOpenSsh } from '../ssh/run-open-ssh.ts'
import type { StdioFlags } from '../ssh/stdio.ts'

/** Loaded late, because it loads the proxy: most commands need neither. */
const loadAccess = () => import('../ssh/access.ts')

/** Adds `ssh`, `sftp`, `scp`, run by the system's OpenSSH, and the commands that other programs need to connect by themselves. */
export function addSshCommands(program: Command): void {
  program
    .command('ssh <session> [arguments...]')
    .description('Open a shell in a session, or run a command: berth ssh exp -- nvidia-smi')
    .passThroughOptions()
    .action((session: string, args: string[]) => runInSession('ssh', session, options => [...options, HOST, ...args]))
  program
    .command('sftp <session> [arguments...]')
    .description('Move files interactively. Arguments go to sftp, e.g. -b batch-file.')
    .passThroughOptions()
    .action((session: string, args: string[]) => runInSession('sftp', session, options => [...options, ...args, HOST]))
  program
    .command('scp <session> <paths...>')
    .description('Copy files. Paths in the session start with a colon: berth scp exp :data.csv .')
    .passThroughOptions()
    .action((session: string, paths: string[]) =>
      runInSession('scp', session, options => [
        ...options,
        ...paths.map(path => (path.startsWith(':') ? HOST + path : path)),
      ]),
    )

  addSshConfigCommand(program)

  program
    .command('stdio <session> [app]', { hidden: true })
    .description('Connect standard input and output to an app of a session (ProxyCommand of ssh).')
    .option('--config-dir <directory>', 'where the sign-in is (BERTH_CONFIG_DIR)')
    .option('--endpoint <url>', 'address of Berth (BERTH_ENDPOINT)')
    .option('--keypair', 'sign requests only with the keypair of the environment')
    .action(async (reference: string, app: string | undefined, flags: StdioFlags) => {
      const { applyStdioFlags, carryStdio } = await import('../ssh/stdio.ts')
      applyStdioFlags(flags)
      const connection = await connect()
      const { id } = await findSession(connection, reference)
      await carryStdio(connection, { sessionId: id, app })
    })
}

/** Placeholder host name, never resolved: HostName and HostKeyAlias are given. */
const HOST = 'berth-session'
/** OpenSSH's exit code for a connection error; a remote command may exit with it too. */
const SSH_FAILED = 255

async function runInSession(
  client: string,
  reference: string,
  withOptions: (options: string[]) => string[],
): Promise<void> {
  const { sshOptions, writeSshFiles } = await loadAccess()
  const connection = await connect()
  const session = await findSession(connection, reference)
  await using proxy = await openProxy(connection)
  const [tunnel, files] = await Promise.all([openSshTunnel(proxy, session.id), writeSshFiles(connection, session)])
  process.exitCode = await runOpenSsh(client, withOptions(sshOptions(files, tunnel.port)))
  if (process.exitCode !== SSH_FAILED) return
  const silence = silenceOf(await proxy.tunnel.list())
  if (silence !== undefined) createOutput(false).note(`berth: ${silence}`)
}
