import { join } from 'node:path'
import { finished, type Duplex } from 'node:stream'
import { writeFileAtomically } from '../files.ts'
import { silentLog } from '../log.ts'
import { openUserDirectory, serverNameOf } from '../user-directory.ts'
import { openFolderKeys } from './folder-keys.ts'
import { openSftp, type SftpRoute } from './open-sftp.ts'
import { createSshServer, FAST_CIPHER } from './ssh-server.ts'

export interface FolderServer extends SftpRoute {
  /** The keys of this user are below `<dataDir>/proxy` (`user-directory.ts`). */
  readonly dataDir: string
  readonly userId: string
}

/** Files that a Host block for `serveFolders` names. */
export interface FolderFiles {
  readonly identityFile: string
  readonly knownHostsFile: string
  readonly hostKeyAlias: string
  /** The cipher that costs least on both sides. */
  readonly ciphers: string
}

const HOST_KEY_ALIAS = 'berth-folders'

/** Writes the keys that a Host block needs, if there are none yet. */
export async function writeFolderFiles(
  server: Pick<FolderServer, 'dataDir' | 'userId' | 'managerUrl'>,
): Promise<FolderFiles> {
  const directory = await directoryOf(server)
  const { host } = await openFolderKeys(directory)
  const knownHostsFile = join(directory, 'sftp', 'known_hosts_alias')
  await writeFileAtomically(knownHostsFile, `${HOST_KEY_ALIAS} ${host.publicKey}\n`)
  return {
    identityFile: join(directory, 'sftp', 'id_container'),
    knownHostsFile,
    hostKeyAlias: HOST_KEY_ALIAS,
    ciphers: FAST_CIPHER,
  }
}

const directoryOf = ({ dataDir, userId, managerUrl }: Pick<FolderServer, 'dataDir' | 'userId' | 'managerUrl'>) =>
  openUserDirectory(dataDir, { userId, server: serverNameOf(managerUrl) })

/**
 * Serves all folders of the user to one SSH client on a stream, until the client ends: for a ProxyCommand. Nothing listens; the client
 * still proves the key of `writeFolderFiles`, because ssh requires one.
 */
export async function serveFolders(server: FolderServer, stream: Duplex): Promise<void> {
  const { host, client } = await openFolderKeys(await directoryOf(server))
  const ssh = await createSshServer({
    hostKey: host.privateKey,
    allowedKeys: () => Promise.resolve([client.publicKey]),
    openSftp: signal => openSftp(server, signal),
    onChange: () => undefined,
    log: silentLog,
  })
  await new Promise<void>(resolve => {
    finished(stream, () => resolve()) // an error ends the stream too: the client has gone
    ssh.accept(stream)
  })
}
