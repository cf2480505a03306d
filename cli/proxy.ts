import { join } from 'node:path'
import type { Proxy } from '#proxy'
import { type Connection } from './config/connect.ts'
import { configDirectory } from './config/directories.ts'

/** The local proxy for one command, as the signed-in user. Closing it closes every listener. */
export async function openProxy({ endpoint, credentials, userId }: Connection): Promise<Proxy> {
  const { startProxy } = await import('#proxy') // loaded late: most commands need no proxy
  const directory = configDirectory()
  return await startProxy({
    managerUrl: endpoint,
    credentials,
    dataDir: directory,
    userId: await userId(),
    // Only desktop and console write to the user's ~/.ssh; the CLI passes all settings to OpenSSH directly.
    sshDirectory: join(directory, 'ssh'),
    mayInclude: false,
    ownUserOnly: true,
  })
}
