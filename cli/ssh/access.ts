import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApiClient, type Session, type SshAccess } from '#manager/contract'
import { configDirectory } from '../config/directories.ts'

/** Files and names with which the system's OpenSSH reaches one session. */
export interface SshFiles {
  readonly user: string
  readonly identityFile: string
  readonly knownHostsFile: string
  readonly hostKeyAlias: string
}

/**
 * Writes the session's key and its pinned host key.
 *
 * Threat model: the private key opens this one session; it is kept 0600 in a 0700 directory, as OpenSSH demands. The host
 * key comes over the authenticated API, so the first connection is verified already; nothing is trusted on first use.
 */
export async function writeSshFiles(
  api: ApiClient,
  session: Session,
  directory = configDirectory(),
): Promise<SshFiles> {
  const access = await api.getSshAccess({ params: { id: session.id } })
  const folder = join(directory, 'ssh', session.id)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = sshFilesOf(access, session.id, folder)
  await replace(files.identityFile, access.privateKey.endsWith('\n') ? access.privateKey : `${access.privateKey}\n`)
  await replace(files.knownHostsFile, `${files.hostKeyAlias} ${access.hostKey}\n`)
  return files
}

function sshFilesOf({ user }: SshAccess, sessionId: string, folder: string): SshFiles {
  return {
    user,
    identityFile: join(folder, 'id_container'),
    knownHostsFile: join(folder, 'known_hosts'),
    hostKeyAlias: `berth-${sessionId}`,
  }
}

async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.${process.pid}`, content, { mode: 0o600 })
  await rename(`${path}.${process.pid}`, path)
}

/** The settings that make a connection safe, as pairs of ssh_config. Paths are quoted: they may hold spaces. */
export function sshSettings(files: SshFiles): readonly (readonly [string, string])[] {
  return [
    ['User', files.user],
    ['IdentityFile', `"${files.identityFile}"`],
    ['IdentitiesOnly', 'yes'],
    ['HostKeyAlias', files.hostKeyAlias],
    ['UserKnownHostsFile', `"${files.knownHostsFile}"`],
    ['StrictHostKeyChecking', 'yes'],
    ['PreferredAuthentications', 'publickey'],
    ['ServerAliveInterval', '15'],
    ['LogLevel', 'ERROR'],
  ]
}

/** The same as arguments of ssh, sftp and scp. */
export function sshOptions(files: SshFiles, port: number): string[] {
  const settings = [...sshSettings(files), ['HostName', '127.0.0.1'], ['Port', String(port)]]
  return ['-F', 'none', ...settings.flatMap(([key, value]) => ['-o', `${key}=${value}`])]
}

/** A Host block whose connection is made by `berth stdio`, so that it works whenever the session runs. */
export function hostBlock(session: Session, files: SshFiles, berth: string): string {
  const lines = [...sshSettings(files), ['ProxyCommand', `"${berth}" stdio ${session.id}`]]
  return [`Host berth-${session.name}`, ...lines.map(([key, value]) => `  ${key} ${value}`)].join('\n')
}
