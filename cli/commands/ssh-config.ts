import { resolve } from 'node:path'
import { type Command } from 'commander'
import { keypairOf } from '../config/access.ts'
import { connect } from '../config/connect.ts'
import { configDirectory } from '../config/directories.ts'
import { createOutput } from '../output.ts'
import { findSession } from './find-session.ts'

/** Adds `ssh-config`, which writes the aliases of one server for programs that read an SSH configuration. */
export function addSshConfigCommand(program: Command): void {
  program
    .command('ssh-config [session...]')
    .description(
      'Print Host blocks for ~/.ssh/config: for the named sessions, or for all running ones and for your folders (berth-folders, SFTP only).',
    )
    .option('--default', 'give the short names (berth-NAME) on this computer to the sessions of this server')
    .action(async (references: string[], { default: becomesDefault = false }: { default?: boolean }) => {
      const { aliasesOf, folderBlock, hostBlock, stdioOptions, writeSshFiles } = await import('../ssh/access.ts')
      const connection = await connect()
      const { api, endpoint } = connection
      const sessions =
        references.length > 0
          ? await Promise.all(references.map(reference => findSession(connection, reference)))
          : (await api.listSessions({ query: { status: 'RUNNING', mine: 'true', limit: 500 } })).items
      const server = await serverOfAliases(endpoint, becomesDefault)
      const byKeypair = keypairOf(process.env) !== undefined
      const words = {
        // Name Node too, not the script alone: Windows runs no scripts, and the program that starts ssh may have no Node, or
        // another one, in its PATH.
        berth: [process.execPath, resolve(import.meta.dirname, '../../bin/berth')],
        options: stdioOptions({ configDirectory: configDirectory(), endpoint, byKeypair }),
      }
      const aliases = aliasesOf(sessions, server)
      const blocks = await Promise.all(
        sessions.map(async (session, index) => {
          const files = await writeSshFiles(connection, session)
          return hostBlock({ id: session.id, aliases: aliases[index] ?? [], files }, words)
        }),
      )
      if (references.length === 0) {
        const { writeFolderFiles } = await import('#proxy')
        const files = await writeFolderFiles({
          managerUrl: endpoint,
          dataDir: configDirectory(),
          userId: await connection.userId(),
        })
        blocks.push(folderBlock(files, server, words))
      }
      if (byKeypair) process.stdout.write(KEYPAIR_NOTE)
      if (!server.isDefault) process.stdout.write(longNamesNote(server))
      process.stdout.write(`${blocks.join('\n\n')}\n`)
      await warnOfForwards(aliases[0]?.[0])
    })
}

/** The server, and whether its sessions have short aliases on this computer. */
async function serverOfAliases(endpoint: string, becomesDefault: boolean) {
  const { defaultServerIfKnown, defaultSshDirectory, labelOfServer, makeDefaultServer } = await import('#proxy')
  const label = labelOfServer(endpoint)
  const directory = process.env.BERTH_SSH_DIR || defaultSshDirectory()
  if (becomesDefault) await makeDefaultServer(directory, label)
  const defaultServer = await defaultServerIfKnown(directory, label)
  return { label, isDefault: defaultServer === label, defaultServer }
}

const KEYPAIR_NOTE = `# Set BERTH_ACCESS_KEY and BERTH_SECRET_KEY where ssh runs: this file does not have the keys.\n`

const longNamesNote = ({ label, defaultServer }: { label: string; defaultServer: string | undefined }) =>
  defaultServer === undefined
    ? `# ~/.ssh/berth/default-server cannot be read, so only names with ${label} are here. Remove it, or run "berth ssh-config --default".\n`
    : `# Names without a server belong to ${defaultServer} on this computer. "berth ssh-config --default" gives them to ${label}.\n`

/** Warns of a forward that the user's ssh_config sets for all hosts: it applies to sessions too, where programs of others could use it. */
async function warnOfForwards(alias: string | undefined): Promise<void> {
  if (alias === undefined) return
  const { inheritedBy } = await import('#proxy')
  const { forwards } = await inheritedBy(alias)
  if (forwards.length === 0) return
  createOutput(false).note(
    `berth: Your ~/.ssh/config forwards ports for every host, also for sessions: ${forwards.join(', ')}. ` +
      'Programs in a session could use a RemoteForward to reach services of this computer. Put these lines into a block "Host * !berth-*".',
  )
}
