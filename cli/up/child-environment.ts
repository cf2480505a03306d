type Environment = Readonly<Record<string, string | undefined>>

/** What programs need to run at all, to find files, to speak the user's language and to reach the network. */
const SYSTEM = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // Windows
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'USERNAME', 'HOMEDRIVE', 'HOMEPATH'],
  ...['APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
])
const SYSTEM_FAMILIES = /^(LC|NODE|XDG)_/

/** What one server alone may know, or what means only one. Everything else of ours (`BERTH_*`) configures and is no secret. */
const OF_ONE_SERVER: Readonly<Record<string, string>> = {
  BERTH_ADMIN_PASSWORD: 'manager',
  BERTH_MASTER_KEY_FILE: 'manager',
  BERTH_METRICS_TOKEN_FILE: 'manager',
  DATABASE_URL: 'manager',
  BERTH_JOIN: 'agent',
  // `console.host`. The manager would listen there too, in plain http, with the port of the agents.
  BERTH_HOST: 'console',
  // Reverse proxies stand in front of the console; nobody but it speaks for others to the manager of `berth up`.
  BERTH_TRUSTED_PROXIES: 'console',
}
/** Of `berth up` and the programs around it; the secret of console and manager is made at each start. */
const OF_NO_SERVER = new Set([
  'BERTH_CONSOLE_SECRET',
  'BERTH_CONSOLE_SECRET_FILE',
  'BERTH_TOKEN',
  'BERTH_CONFIG_DIR',
  'BERTH_ENDPOINT',
  'BERTH_NODE',
])

/**
 * The part of our environment that a server inherits.
 *
 * Threat model: environments hold secrets of the user (tokens of clouds, passwords), and a server that is broken into gives
 * away all it has. So each gets what it needs by name: the administrator's password and the database are the manager's, the
 * Docker Engine is the agent's.
 */
export function childEnvironment(server: string, environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isFor(server, name) ? [[name, value]] : [],
    ),
  )
}

function isFor(server: string, name: string): boolean {
  // Windows does not know case; proxies are often set in lower case.
  const upper = name.toUpperCase()
  const owner = upper.startsWith('DOCKER_') ? 'agent' : OF_ONE_SERVER[upper]
  if (owner !== undefined) return owner === server
  if (OF_NO_SERVER.has(upper)) return false
  return SYSTEM.has(upper) || SYSTEM_FAMILIES.test(upper) || upper.startsWith('BERTH_')
}
