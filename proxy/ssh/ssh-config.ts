import { quoteForSshConfig } from './quoting.ts'

/** Values of one Host block. */
export interface HostEntry {
  readonly alias: string
  /** Further names of the same host. */
  readonly otherAliases: readonly string[]
  readonly sessionId: string
  readonly port: number
  readonly user: string
  readonly identityFile: string
  readonly knownHostsFile: string
  /** `ssh-ed25519 AAAA…` of the session's server. */
  readonly hostKey: string
  /** Ciphers to offer; those of the user's settings if left out. */
  readonly ciphers?: string | undefined
  readonly owner: Owner
}

/** The process that keeps a tunnel: when it is gone, its block is removed. Process ids are reused, so each run has a name too. */
export interface Owner {
  readonly host: string
  readonly pid: number
  readonly run: string
}

/** Name under which the host key is known: ports change, the name of a session's key does not. */
export const hostKeyAlias = (sessionId: string) => `berth-${sessionId}`

const HEADER = `# Written by Berth: one block per open session, removed when its tunnel closes. Changes here are lost.\n`
const MARK = /^# berth session=(\S+) host=(\S+) pid=(\d+) run=(\S+) alias=(\S+) port=(\d+)$/

/** A block of our own config file; `text` is the whole block. */
export interface Block {
  readonly sessionId: string
  readonly owner: Owner
  readonly alias: string
  /** All names of the host, the alias among them. */
  readonly names: readonly string[]
  readonly port: number
  readonly text: string
}

export function parseBlocks(config: string): Block[] {
  const parts = config.split(/^(?=# berth session=)/m)
  return parts.flatMap(text => {
    const mark = MARK.exec(text.split('\n', 1)[0] ?? '')
    if (!mark) return []
    const [, sessionId = '', host = '', pid = '', run = '', alias = '', port = ''] = mark
    const names = /^Host (.+)$/m.exec(text)?.[1]?.split(' ') ?? [alias]
    const owner = { host, pid: Number(pid), run }
    return [{ sessionId, owner, alias, names, port: Number(port), text: `${text.trimEnd()}\n` }]
  })
}

export function formatConfig(blocks: readonly Block[]): string {
  return [HEADER, ...blocks.map(block => block.text)].join('\n')
}

/**
 * Settings that override what the user has set for all hosts (`Host *`).
 *
 * Threat model: programs in a session are not trusted, and other users may listen on ports of this computer. Forwarding the agent or X11
 * would lend the user's keys and screen to the session; without a check of the host key on loopback anybody could pose as it. The other
 * settings would break the connection: a different authentication, a command in place of that of sftp, or a shared connection of a session
 * that had the port before. Options of the command line (`ssh -A`, `-L`, `-D`) still count, as the user asks for them; that is why the
 * agent of the environment stays (`none` would take it from `-A` too), and no agent of another block replaces it. `IdentitiesOnly` keeps
 * the agent's keys from being offered. `SendEnv` and forwards of all blocks accumulate. `withoutSendEnv` undoes `SendEnv`. Forwards cannot
 * be refused without refusing `ssh -L` too, so if the user has some, commands name only our file, and the user is warned (`inherited.ts`).
 */
export const NOT_INHERITED: readonly (readonly [string, string])[] = [
  ['ForwardAgent', 'no'],
  ['ForwardX11', 'no'],
  ['NoHostAuthenticationForLocalhost', 'no'],
  ['PubkeyAuthentication', 'yes'],
  ['PreferredAuthentications', 'publickey'],
  ['IdentityAgent', 'SSH_AUTH_SOCK'],
  ['AddKeysToAgent', 'no'],
  ['RemoteCommand', 'none'],
  ['RequestTTY', 'auto'],
  ['PermitLocalCommand', 'no'],
  ['ControlMaster', 'no'],
  ['ControlPath', 'none'],
]

/**
 * A Host block with explicit names, not a pattern, so that editors list it. The keepalive notices a dead tunnel in under a minute.
 * `ProxyCommand none` avoids a bastion of the user's, which would have another 127.0.0.1.
 */
export function blockOf(entry: HostEntry): Block {
  const { alias, sessionId, owner, port } = entry
  const names = [alias, ...entry.otherAliases]
  const lines = [
    `# berth session=${sessionId} host=${owner.host} pid=${owner.pid} run=${owner.run} alias=${alias} port=${port}`,
    `Host ${names.join(' ')}`,
    '  HostName 127.0.0.1',
    `  Port ${port}`,
    `  User ${entry.user}`,
    `  IdentityFile ${quoteForSshConfig(entry.identityFile)}`,
    '  IdentitiesOnly yes',
    `  HostKeyAlias ${hostKeyAlias(sessionId)}`,
    `  UserKnownHostsFile ${quoteForSshConfig(entry.knownHostsFile)}`,
    '  StrictHostKeyChecking yes',
    ...(entry.ciphers === undefined ? [] : [`  Ciphers ${entry.ciphers}`]),
    '  ProxyCommand none',
    '  ServerAliveInterval 15',
    ...NOT_INHERITED.map(([key, value]) => `  ${key} ${value}`),
  ]
  return { alias, names, sessionId, owner, port, text: `${lines.join('\n')}\n` }
}

/**
 * The user's ~/.ssh/config with our Include as its first line; unchanged if the line is there already. The line must precede
 * the first Host or Match line: after one it would belong to that block.
 */
export function withInclude(config: string, include: string): string {
  const eol = config.includes('\r\n') ? '\r\n' : '\n'
  for (const line of config.split(/\r?\n/)) {
    if (/^\s*(host|match)\b/i.test(line)) break
    if (line.trim() === include) return config
  }
  return `${include}${eol}${config}`
}

const NO_VARIABLES = '# berth: programs in sessions get no variables of this computer\nHost berth-*\n  SendEnv -*\n'

/**
 * The user's configuration with a final block that undoes `SendEnv` of other blocks; unchanged if it is there already. It must be last to
 * be read after them.
 */
export function withoutSendEnv(config: string): string {
  const eol = config.includes('\r\n') ? '\r\n' : '\n'
  const block = NO_VARIABLES.replaceAll('\n', eol)
  if (config.trimEnd().endsWith(block.trimEnd())) return config
  return `${config.replace(block, '').trimEnd()}${eol}${eol}${block}`
}
