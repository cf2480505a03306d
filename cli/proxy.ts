import { join } from 'node:path'
import { type Proxy, startProxy } from '#proxy'
import { type Connection } from './config/connect.ts'
import { configDirectory } from './config/directories.ts'

/** The local proxy for one command, as the signed-in user. Closing it closes every listener. */
export function openProxy({ signIn, headers }: Connection): Promise<Proxy> {
  const directory = configDirectory()
  return startProxy({
    managerUrl: signIn.endpoint,
    credentials: () => Promise.resolve(headers),
    dataDir: directory,
    userId: signIn.userId,
    // The user's ~/.ssh belongs to desktop and console; the CLI hands OpenSSH everything by itself.
    sshDirectory: join(directory, 'ssh'),
  })
}
