import { type ServerName, SETTINGS } from './berth-toml/settings.ts'

/** The commands that start servers. */
export type ServerCommand = 'up' | 'manager' | 'agent' | 'wsproxy'

export interface Variable {
  readonly name: string
  /** Text of one line for `--help`. */
  readonly meaning: string
}

interface OwnVariable extends Variable {
  readonly commands: readonly ServerCommand[]
}

/** Variables that have no key in berth.toml for these commands; docs/configuration.md lists them as such. */
export const VARIABLES_WITHOUT_KEY: readonly OwnVariable[] = [
  { name: 'BERTH_DATA', commands: ['up', 'manager', 'agent', 'wsproxy'], meaning: 'the data directory' },
  { name: 'BERTH_NO_ENGINE', commands: ['up'], meaning: '1: no agent on this computer, like --no-engine' },
  {
    name: 'BERTH_MASTER_KEY_FILE',
    commands: ['up', 'manager'],
    meaning: 'key that encrypts the secrets; default DATA/master.key',
  },
  {
    name: 'BERTH_ADMIN_PASSWORD',
    commands: ['up', 'manager'],
    meaning: 'password of admin@localhost, for the first start',
  },
  { name: 'BERTH_JOIN', commands: ['agent'], meaning: 'the join string, instead of --join' },
  { name: 'BERTH_AGENT_REPLACE', commands: ['agent'], meaning: '1: as --replace' },
  {
    name: 'BERTH_AGENT_UPDATES',
    commands: ['agent'],
    meaning: 'off: managers do not replace the program of this host (default on)',
  },
  {
    name: 'BERTH_AGENT_LEAVE',
    commands: ['agent'],
    meaning: 'engine or images: remove what Berth has on the engine, and end',
  },
  {
    name: 'BERTH_TOOLBOX_ARCHIVE',
    commands: ['agent'],
    meaning: 'archive with the toolbox image, loaded whenever the engine lacks it',
  },
  {
    name: 'BERTH_MANAGER_URL',
    commands: ['agent', 'wsproxy'],
    meaning: 'address of the manager; an agent remembers the address in its join string',
  },
  { name: 'BERTH_HOST', commands: ['manager'], meaning: 'address that the server listens on; default 127.0.0.1' },
  { name: 'BERTH_PORT', commands: ['manager'], meaning: 'port that the server listens on; default 0 = any free port' },
  {
    name: 'BERTH_TRUSTED_PROXIES',
    commands: ['manager'],
    meaning: 'addresses of reverse proxies directly in front of the server, separated by commas',
  },
  {
    name: 'BERTH_CONSOLE_SECRET_FILE',
    commands: ['manager', 'wsproxy'],
    meaning: 'file with the secret that manager and console share',
  },
]

const SERVER_OF: Readonly<Record<Exclude<ServerCommand, 'up'>, ServerName>> = {
  manager: 'manager',
  agent: 'agent',
  wsproxy: 'console',
}

/** All variables that a command reads or passes to its servers, each once. */
export function variablesOf(command: ServerCommand): Variable[] {
  const own = VARIABLES_WITHOUT_KEY.filter(({ commands }) => commands.includes(command))
  const ofKeys = SETTINGS.filter(({ servers }) => command === 'up' || servers.includes(SERVER_OF[command]))
  const all = [...own, ...ofKeys.map(({ variable, meaning }) => ({ name: variable, meaning }))]
  return [...new Map(all.toReversed().map(({ name, meaning }) => [name, { name, meaning }])).values()].toReversed()
}

/** Variables of the Docker clients, besides DOCKER_HOST, that the agent reads, and those that developers and tests set. */
const FURTHER: Readonly<Record<ServerName, readonly string[]>> = {
  manager: [],
  agent: ['DOCKER_TLS_VERIFY', 'DOCKER_CERT_PATH', 'BERTH_AGENT_CLAIM'],
  console: ['BERTH_CONSOLE_DIR', 'BERTH_CONSOLE_DEV_URL'],
}

/** Names of the variables that a server of `berth up` takes from the environment; `berth up` sets the others itself. */
export function variablesUnderUp(server: ServerName): string[] {
  const isPassedOn = ({ commands }: OwnVariable) =>
    commands.includes('up') && commands.some(command => command !== 'up' && SERVER_OF[command] === server)
  return [
    ...VARIABLES_WITHOUT_KEY.filter(isPassedOn).map(({ name }) => name),
    ...SETTINGS.filter(({ servers }) => servers.includes(server)).map(({ variable }) => variable),
    ...FURTHER[server],
  ]
}

/** The last section of the `--help` of a command. */
export function variablesHelp(command: ServerCommand): string {
  const variables = variablesOf(command)
  const width = Math.max(...variables.map(({ name }) => name.length))
  const lines = variables.map(({ name, meaning }) => `  ${name.padEnd(width)}  ${meaning}`)
  const source = command === 'up' ? 'most can also be set in berth.toml' : 'only berth up reads berth.toml'
  return `\nEnvironment variables (${source}; docs/configuration.md):\n${lines.join('\n')}`
}
