import { quoteForSshConfig } from './quoting.ts'

/** Values of one Host block. */
export interface HostEntry {
  readonly alias: string
  readonly sessionId: string
  readonly port: number
  readonly user: string
  readonly identityFile: string
  readonly knownHostsFile: string
  /** `ssh-ed25519 AAAA…` of the session's server. */
  readonly hostKey: string
  readonly owner: Owner
}

/** The process that keeps a tunnel: when it is gone, its block is removed. Process ids are reused, so each run has a name too. */
export interface Owner {
  readonly host: string
  readonly pid: number
  readonly run: string
}

/** Name under which the host key is known: the port changes, the session does not. */
export const hostKeyAlias = (sessionId: string) => `berth-${sessionId}`

/** `berth-` and the session name; characters that ssh might read as a pattern become `-`. Names are matched in lower case. */
export function aliasFor(sessionName: string): string {
  return `berth-${sessionName.toLowerCase().replace(/[^a-z0-9._-]/g, '-')}`
}

const HEADER = `# Written by Berth: one block per open session, removed when its tunnel closes. Changes here are lost.\n`
const MARK = /^# berth session=(\S+) host=(\S+) pid=(\d+) run=(\S+) alias=(\S+) port=(\d+)$/

/** A block of our own config file; `text` is the whole block. */
export interface Block {
  readonly sessionId: string
  readonly owner: Owner
  readonly alias: string
  readonly port: number
  readonly text: string
}

export function parseBlocks(config: string): Block[] {
  const parts = config.split(/^(?=# berth session=)/m)
  return parts.flatMap(text => {
    const mark = MARK.exec(text.split('\n', 1)[0] ?? '')
    if (!mark) return []
    const [, sessionId = '', host = '', pid = '', run = '', alias = '', port = ''] = mark
    return [
      { sessionId, owner: { host, pid: Number(pid), run }, alias, port: Number(port), text: `${text.trimEnd()}\n` },
    ]
  })
}

export function formatConfig(blocks: readonly Block[]): string {
  return [HEADER, ...blocks.map(block => block.text)].join('\n')
}

/**
 * A Host block with an explicit name, not a pattern, so that editors list it. The keepalive notices a dead tunnel in under a
 * minute. The user's settings for all hosts must not redirect the connection: through a bastion, whose 127.0.0.1 is another, or
 * over the shared connection of a session that had the port before.
 */
export function blockOf(entry: HostEntry): Block {
  const { alias, sessionId, owner, port } = entry
  const lines = [
    `# berth session=${sessionId} host=${owner.host} pid=${owner.pid} run=${owner.run} alias=${alias} port=${port}`,
    `Host ${alias}`,
    '  HostName 127.0.0.1',
    `  Port ${port}`,
    `  User ${entry.user}`,
    `  IdentityFile ${quoteForSshConfig(entry.identityFile)}`,
    '  IdentitiesOnly yes',
    `  HostKeyAlias ${hostKeyAlias(sessionId)}`,
    `  UserKnownHostsFile ${quoteForSshConfig(entry.knownHostsFile)}`,
    '  StrictHostKeyChecking yes',
    '  ProxyCommand none',
    '  ControlPath none',
    '  ServerAliveInterval 15',
  ]
  return { alias, sessionId, owner, port, text: `${lines.join('\n')}\n` }
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
