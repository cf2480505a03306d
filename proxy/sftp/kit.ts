import { type FolderKit, type FolderPort, type KeyFile, type KeyFormat } from '#proxy/contract'
import { FOLDERS_ALIAS } from '../ssh/aliases.ts'
import { winscpUrlFor } from '../ssh/commands.ts'
import { filezillaSite } from '../ssh/filezilla.ts'
import { type Installed, type KitFiles } from '../ssh/kit-files.ts'
import { parseOpensshKey } from '../ssh/openssh-key.ts'
import { toPpk } from '../ssh/ppk.ts'
import { quoteForTerminal } from '../ssh/quoting.ts'
import { createHash } from 'node:crypto'
import { fingerprintOf, type FolderKeys } from './folder-keys.ts'
import { FAST_CIPHER } from './ssh-server.ts'

/** User name for client programs. The server accepts any name; only the key counts. */
const USER = 'work'

export interface FolderKitDeps {
  readonly keys: FolderKeys
  readonly files: KitFiles
  /** known_hosts for programs that look a server up by address and port, such as rclone. */
  readonly knownHostsFile: string
  readonly include: boolean
  /** Label of the server (`labelOfServer`). */
  readonly server: string
}

/** Installs the files that client programs need for the open port. */
export async function makeFolderKit(port: FolderPort, deps: FolderKitDeps): Promise<FolderKit> {
  const { keys, files, knownHostsFile, include, server } = deps
  const { privateKey } = keys.client
  const installed = await files.install(
    { sessionId: kitIdOf(keys), port: port.port, user: USER, hostKey: keys.host.publicKey, ciphers: FAST_CIPHER },
    { wantedAlias: FOLDERS_ALIAS, server, privateKey, ppk: toPpk(parseOpensshKey(privateKey)), include },
  )
  const hostKeyFingerprint = fingerprintOf(keys.host.publicKey)
  return {
    port,
    user: USER,
    hostAlias: installed.alias,
    hostKeyFingerprint,
    configInstalled: installed.included,
    identityFile: installed.identityFile,
    configFile: installed.configFile,
    commands: commandsOf({ port: port.port, installed, knownHostsFile, hostKeyFingerprint }),
    winscpUrl: winscpUrlFor({ port: port.port, user: USER, hostKeyFingerprint, installed }, '/'),
  }
}

/** Name of the kit's entry in the ssh configuration; it differs between data directories. */
export function kitIdOf({ host }: FolderKeys): string {
  return `folders-${createHash('sha256').update(host.publicKey).digest('hex').slice(0, 12)}`
}

interface Place {
  readonly port: number
  readonly installed: Installed
  readonly knownHostsFile: string
  readonly hostKeyFingerprint: string
}

/** Command lines to copy. */
function commandsOf({ port, installed, knownHostsFile, hostKeyFingerprint }: Place): FolderKit['commands'] {
  const { alias, included, identityFile, configFile } = installed
  const option = included ? '' : ` -F ${quoteForTerminal(configFile)}`
  const [key, ppk] = [quoteForTerminal(identityFile), quoteForTerminal(`${identityFile}.ppk`)]
  const rclone = `host=127.0.0.1 port=${port} user=${USER} key_file=${key} known_hosts_file=${quoteForTerminal(knownHostsFile)}`
  return {
    sftp: `sftp${option} ${alias}`,
    sshfs: `sshfs${option} ${alias}:/ MOUNTPOINT`,
    rclone: `rclone config create berth sftp ${rclone} shell_type=none md5sum_command=none sha1sum_command=none`,
    psftp: `psftp -P ${port} -i ${ppk} -hostkey ${hostKeyFingerprint} ${USER}@127.0.0.1`,
  }
}

/** The client's key, or a site file for FileZilla that uses it. */
export function folderKeyFile({ client }: FolderKeys, kit: FolderKit, format: KeyFormat): KeyFile {
  const { privateKey } = client
  switch (format) {
    case 'openssh':
      return { fileName: FOLDERS_ALIAS, mediaType: 'application/x-pem-file', content: privateKey }
    case 'ppk':
      return {
        fileName: `${FOLDERS_ALIAS}.ppk`,
        mediaType: 'application/octet-stream',
        content: toPpk(parseOpensshKey(privateKey)),
      }
    case 'filezilla': {
      const keyFile = `${kit.identityFile}.ppk`
      const content = filezillaSite({ name: FOLDERS_ALIAS, port: kit.port.port, user: USER, keyFile, directory: [] })
      return { fileName: `${FOLDERS_ALIAS}.filezilla.xml`, mediaType: 'application/xml', content }
    }
  }
}
