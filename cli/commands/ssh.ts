import { resolve } from 'node:path'
import { type Command } from 'commander'
import { type Session } from '#manager/contract'
import { keypairOf } from '../config/access.ts'
import { connect } from '../config/connect.ts'
import { configDirectory } from '../config/directories.ts'
import { openProxy } from '../proxy.ts'
import { findSession } from './find-session.ts'
import { createOutput } from '../output.ts'
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

  program
    .command('ssh-config [session...]')
    .description(
      'Print Host blocks for ~/.ssh/config: for the named sessions, or for all running ones and for your folders (berth-folders, SFTP only).',
    )
    .action(async (references: string[]) => {
      const { folderBlock, hostBlock, stdioOptions, writeSshFiles } = await loadAccess()
      const connection = await connect()
      const { api } = connection
      const sessions =
        references.length > 0
          ? await Promise.all(references.map(reference => findSession(connection, reference)))
          : (await api.listSessions({ query: { status: 'RUNNING', mine: 'true', limit: 500 } })).items
      // Name Node too, not the script alone: Windows runs no scripts, and the program that starts ssh may have no Node, or
      // another one, in its PATH.
      const berth = [process.execPath, resolve(import.meta.dirname, '../../bin/berth')]
      const keypairAt = keypairOf(process.env) && connection.endpoint
      const options = stdioOptions({ configDirectory: configDirectory(), keypairAt })
      const block = async (session: Session) => hostBlock(session, await writeSshFiles(api, session), berth, options)
      if (keypairAt !== undefined) process.stdout.write(KEYPAIR_NOTE)
      const blocks = await Promise.all(sessions.map(block))
      if (references.length === 0) {
        const { writeFolderFiles } = await import('#proxy')
        const files = await writeFolderFiles({
          managerUrl: connection.endpoint,
          dataDir: configDirectory(),
          userId: await connection.userId(),
        })
        blocks.push(folderBlock(files, berth, options))
      }
      process.stdout.write(`${blocks.join('\n\n')}\n`)
      await warnOfForwards(sessions)
    })

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

const KEYPAIR_NOTE = `# Set BERTH_ACCESS_KEY and BERTH_SECRET_KEY where ssh runs: this file does not have the keys.\n`

/** Warns of a forward that the user's ssh_config sets for all hosts: it applies to sessions too, where programs of others could use it. */
async function warnOfForwards(sessions: readonly Session[]): Promise<void> {
  const { inheritedBy } = await import('#proxy')
  const { name } = sessions[0] ?? {}
  if (name === undefined) return
  const { forwards } = await inheritedBy(`berth-${name}`)
  if (forwards.length === 0) return
  createOutput(false).note(
    `berth: Your ~/.ssh/config forwards ports for every host, also for sessions: ${forwards.join(', ')}. ` +
      'Programs in a session could use a RemoteForward to reach services of this computer. Put these lines into a block "Host * !berth-*".',
  )
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
  const [tunnel, files] = await Promise.all([openSshTunnel(proxy, session.id), writeSshFiles(connection.api, session)])
  process.exitCode = await runOpenSsh(client, withOptions(sshOptions(files, tunnel.port)))
  if (process.exitCode !== SSH_FAILED) return
  const silence = silenceOf(await proxy.tunnel.list())
  if (silence !== undefined) createOutput(false).note(`berth: ${silence}`)
}
