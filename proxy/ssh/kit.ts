import { type ApiClient, type SessionId } from '#manager/contract'
import { type KeyFile, type KeyFormat, type SshKit, type Tunnel } from '#proxy/contract'
import { commandsFor, vscodeUrlFor, winscpUrlFor } from './commands.ts'
import { filezillaSite } from './filezilla.ts'
import { type KitFiles } from './kit-files.ts'
import { parseOpensshKey } from './openssh-key.ts'
import { toPpk } from './ppk.ts'
import { aliasFor } from './ssh-config.ts'

export interface SshKitsDeps {
  readonly api: Pick<ApiClient, 'getSshAccess' | 'getSession'>
  readonly files: KitFiles
}

/** Turns an open `sshd` tunnel into everything an SSH or SFTP client needs. */
export interface SshKits {
  make(tunnel: Tunnel, settings: { readonly manageSshConfig: boolean }): Promise<SshKit>
  /** @param tunnel needed for a site file, which names the port */
  keyFile(sessionId: SessionId, format: KeyFormat, tunnel: Tunnel | undefined): Promise<KeyFile>
  /** The tunnel is closed: the Host block, pinned key and private key go with it. */
  forget(sessionId: SessionId): Promise<void>
}

export function createSshKits({ api, files }: SshKitsDeps): SshKits {
  return {
    async make(tunnel, settings) {
      const access = await api.getSshAccess({ params: { id: tunnel.sessionId } })
      const installed = await files.install(
        { sessionId: tunnel.sessionId, port: tunnel.port, user: access.user, hostKey: access.hostKey },
        {
          wantedAlias: aliasFor(tunnel.sessionName),
          privateKey: access.privateKey,
          ppk: toPpk(parseOpensshKey(access.privateKey)),
          include: settings.manageSshConfig,
        },
      )
      const { user, hostKeyFingerprint } = access
      const connection = { port: tunnel.port, user, hostKeyFingerprint, installed }
      return {
        tunnel,
        user,
        hostAlias: installed.alias,
        hostKeyFingerprint,
        configInstalled: installed.included,
        identityFile: installed.identityFile,
        commands: commandsFor(connection),
        vscodeUrl: vscodeUrlFor(installed.alias),
        winscpUrl: winscpUrlFor(connection),
      }
    },
    async keyFile(sessionId, format, tunnel) {
      const access = await api.getSshAccess({ params: { id: sessionId } })
      if (format === 'openssh') {
        return { fileName: 'id_container', mediaType: 'application/x-pem-file', content: access.privateKey }
      }
      if (format === 'ppk') {
        const content = toPpk(parseOpensshKey(access.privateKey))
        return { fileName: 'id_container.ppk', mediaType: 'application/octet-stream', content }
      }
      const name = tunnel?.sessionName ?? (await api.getSession({ params: { id: sessionId } })).name
      const port = tunnel?.port ?? 22
      const content = filezillaSite({ name, port, user: access.user, keyFile: 'id_container' })
      return { fileName: `${name}.filezilla.xml`, mediaType: 'application/xml', content }
    },
    forget: sessionId => files.remove(sessionId),
  }
}
