import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ZodType } from 'zod'
import { AppError, type Session, SessionId, SessionName, SshAccess } from '#manager/contract'
import {
  aliasesAt,
  aliasFor,
  endOfAlias,
  FOLDERS_ALIAS,
  labelOfServer,
  NOT_INHERITED,
  quoteForShell,
  quoteForSshConfig,
  type ServerOfAliases,
} from '#proxy'
import { type Connection } from '../config/connect.ts'
import { configDirectory } from '../config/directories.ts'
import { REACH_SECONDS } from './reach.ts'

/** Files and names that the system's OpenSSH needs to connect to one session. */
export interface SshFiles {
  readonly user: string
  readonly identityFile: string
  readonly knownHostsFile: string
  readonly hostKeyAlias: string
  /** Ciphers to offer; those of the user's settings if left out. */
  readonly ciphers?: string
}

/**
 * Writes the session's key and its pinned host key.
 *
 * Threat model: the private key opens this one session; it is kept 0600 in a 0700 directory, as OpenSSH demands. The host key
 * comes over the authenticated API, so the first connection is verified already; nothing is trusted on first use. The manager's
 * values become file names and lines of ssh_config, so they are parsed first. A server also names the session: with the id of a session of
 * another server it would replace the key and the host key there, so each server has a directory of its own.
 */
export async function writeSshFiles(
  { api, endpoint }: Pick<Connection, 'api' | 'endpoint'>,
  session: Session,
  directory = configDirectory(),
): Promise<SshFiles> {
  const sessionId = safe(SessionId, session.id)
  const access = safe(SshAccess, await api.getSshAccess({ params: { id: sessionId } }))
  const folder = join(directory, 'ssh', 'servers', labelOfServer(endpoint), sessionId)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = sshFilesOf(access, sessionId, folder)
  await replace(files.identityFile, access.privateKey.endsWith('\n') ? access.privateKey : `${access.privateKey}\n`)
  await replace(files.knownHostsFile, `${files.hostKeyAlias} ${access.hostKey}\n`)
  return files
}

/** @throws AppError `bad_request` */
function safe<T>(schema: ZodType<T>, sent: unknown): T {
  const { success, data } = schema.safeParse(sent)
  if (success) return data
  throw new AppError('bad_request', { why: 'The manager sent SSH data that is not safe to use.' })
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

/** Settings that make a connection safe, as pairs of ssh_config. */
export function sshSettings(files: SshFiles): readonly (readonly [string, string])[] {
  return [
    ['User', files.user],
    ['IdentityFile', quoteForSshConfig(files.identityFile)],
    ['IdentitiesOnly', 'yes'],
    ['HostKeyAlias', files.hostKeyAlias],
    ['UserKnownHostsFile', quoteForSshConfig(files.knownHostsFile)],
    ['StrictHostKeyChecking', 'yes'],
    // Also covers the wait for the server's first word: a frozen server accepts connections.
    ['ConnectTimeout', String(REACH_SECONDS)],
    ['ServerAliveInterval', '15'],
    ...(files.ciphers === undefined ? [] : [['Ciphers', files.ciphers] as const]),
    ['LogLevel', 'ERROR'],
  ]
}

/** The same settings as arguments of ssh, sftp and scp. */
export function sshOptions(files: SshFiles, port: number): string[] {
  const settings = [...sshSettings(files), ['HostName', '127.0.0.1'], ['Port', String(port)]]
  return [
    '-F',
    'none',
    '-o',
    'PreferredAuthentications=publickey',
    ...settings.flatMap(([key, value]) => ['-o', `${key}=${value}`]),
  ]
}

/** Aliases of each session: of two whose names make the same one, the second has a part of its id in it. */
export function aliasesOf(sessions: readonly Session[], server: ServerOfAliases): (readonly string[])[] {
  const taken = new Set<string>()
  return sessions.map(session => {
    const id = safe(SessionId, session.id)
    const alias = aliasFor({ id, name: safe(SessionName, session.name), isOthers: session.sharedAs !== null })
    const chosen = taken.has(alias) ? `${alias}${endOfAlias(id)}` : alias
    taken.add(chosen)
    return aliasesAt(chosen, server)
  })
}

/** Words of Host blocks that all sessions of a server share. */
export interface BlockWords {
  /** The command: program and arguments. */
  readonly berth: readonly string[]
  /** Options of `berth stdio`: the server and the place of the sign-in, whatever environment ssh runs in. Never secrets. */
  readonly options: readonly string[]
}

/** A Host block that connects through `berth stdio`, so that it works whenever the session runs. */
export function hostBlock(
  { id, aliases, files }: { id: string; aliases: readonly string[]; files: SshFiles },
  { berth, options }: BlockWords,
): string {
  return blockOf(aliases, files, [...berth, 'stdio', ...options, safe(SessionId, id)])
}

/** A Host block for SFTP of all folders, without a session. */
export function folderBlock(
  files: Omit<SshFiles, 'user'>,
  server: ServerOfAliases,
  { berth, options }: BlockWords,
): string {
  const aliases = aliasesAt(FOLDERS_ALIAS, server)
  return blockOf(aliases, { ...files, user: 'work' }, [...berth, 'folder', 'sftp-stdio', ...options])
}

function blockOf(aliases: readonly string[], files: SshFiles, command: readonly string[]): string {
  const lines = [...sshSettings(files), ...NOT_INHERITED, ['ProxyCommand', command.map(quoteForProxyCommand).join(' ')]]
  return [`Host ${aliases.join(' ')}`, ...lines.map(([key, value]) => `  ${key} ${value}`)].join('\n')
}

/** @param found.byKeypair whether the caller signs with a keypair of the environment */
export function stdioOptions(found: { configDirectory: string; endpoint: string; byKeypair: boolean }): string[] {
  const { configDirectory: directory, endpoint, byKeypair } = found
  return ['--config-dir', resolve(directory), '--endpoint', endpoint, ...(byKeypair ? ['--keypair'] : [])]
}

/**
 * Quotes for the shell (none on Windows) that runs the command after ssh has expanded `%h` and the like; a line break would end
 * the directive.
 */
function quoteForProxyCommand(word: string): string {
  if (/[\r\n]/.test(word)) throw new TypeError('ssh_config has no way to write this path')
  return (process.platform === 'win32' ? `"${word}"` : quoteForShell(word)).replaceAll('%', '%%')
}
