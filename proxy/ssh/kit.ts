import { type ApiClient, AppError, because, type SessionId, SshAccess } from '#manager/contract'
import { type KeyFile, type KeyFormat, type SshKit, type Tunnel } from '#proxy/contract'
import { aliasFor } from './aliases.ts'
import { commandsFor, vscodeUrlFor, winscpUrlFor } from './commands.ts'
import { filezillaSite } from './filezilla.ts'
import { type KitFiles } from './kit-files.ts'
import { parseOpensshKey } from './openssh-key.ts'
import { toPpk } from './ppk.ts'

export interface SshKitsDeps {
  readonly api: Pick<ApiClient, 'getSshAccess'>
  readonly files: KitFiles
  /** Label of the server (`labelOfServer`). */
  readonly server: () => string
}

/** Prepares the files and commands that an SSH or SFTP client needs for an open `sshd` tunnel. */
export interface SshKits {
  /** @throws AppError `tunnel_not_found` if the tunnel was closed in the meantime; nothing of the kit is left then */
  make(
    tunnel: Tunnel,
    settings: { readonly manageSshConfig: boolean },
    session: { readonly isOthers: boolean; readonly isOpen: () => boolean },
  ): Promise<SshKit>
  /** The private key, in OpenSSH's or PuTTY's format. */
  keyFile(sessionId: SessionId, format: Exclude<KeyFormat, 'filezilla'>): Promise<KeyFile>
  /** Call when the tunnel is closed: removes the Host block, pinned key and private key, unless another process still has a tunnel. */
  forget(sessionId: SessionId): Promise<void>
}

export function createSshKits({ api, files, server }: SshKitsDeps): SshKits {
  return {
    async make(tunnel, settings, { isOthers, isOpen }) {
      const access = checked(await api.getSshAccess({ params: { id: tunnel.sessionId } }))
      const checkOpen = () => {
        if (!isOpen()) throw new AppError('tunnel_not_found', because('tunnel_reopened'))
      }
      // If the tunnel closes after this check, its files are still removed after they were written, because changes of the files are
      // serialized.
      checkOpen()
      const installed = await files.install(
        { sessionId: tunnel.sessionId, port: tunnel.port, user: access.user, hostKey: access.hostKey },
        {
          wantedAlias: aliasFor({ id: tunnel.sessionId, name: tunnel.sessionName, isOthers }),
          server: server(),
          privateKey: access.privateKey,
          ppk: toPpk(parseOpensshKey(access.privateKey)),
          include: settings.manageSshConfig,
        },
      )
      checkOpen()
      const { user, hostKey, hostKeyFingerprint } = access
      const connection = { port: tunnel.port, user, hostKeyFingerprint, installed }
      return {
        tunnel,
        user,
        hostAlias: installed.alias,
        hostKeyFingerprint,
        hostKey,
        configInstalled: installed.included,
        forwards: [...installed.forwards],
        identityFile: installed.identityFile,
        commands: commandsFor(connection),
        vscodeUrl: vscodeUrlFor(installed.alias),
        winscpUrl: winscpUrlFor(connection),
      }
    },
    async keyFile(sessionId, format) {
      const access = checked(await api.getSshAccess({ params: { id: sessionId } }))
      if (format === 'openssh') {
        return { fileName: 'id_container', mediaType: 'application/x-pem-file', content: access.privateKey }
      }
      const content = toPpk(parseOpensshKey(access.privateKey))
      return { fileName: 'id_container.ppk', mediaType: 'application/octet-stream', content }
    },
    forget: sessionId => files.remove(sessionId),
  }
}

/** A site file for FileZilla that logs on with the session's key on this computer. */
export function siteFileOf({ tunnel, user, identityFile }: SshKit): KeyFile {
  const keyFile = identityFile === null ? 'id_container' : `${identityFile}.ppk`
  const content = filezillaSite({ name: tunnel.sessionName, port: tunnel.port, user, keyFile })
  return { fileName: `${tunnel.sessionName}.filezilla.xml`, mediaType: 'application/xml', content }
}

/**
 * Validates the manager's answer, which goes into ssh_config, known_hosts and command lines; the schema allows at most one
 * plain word or line each.
 */
function checked(sent: SshAccess): SshAccess {
  const { success, data } = SshAccess.safeParse(sent)
  if (success) return data
  throw new AppError('bad_request', because('ssh_data_unsafe'))
}
