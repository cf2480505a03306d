type Environment = Readonly<Record<string, string | undefined>>

/** Variables that programs need to run, to find files, to know the user's language and to reach the network. */
const SYSTEM = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // Windows
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'USERNAME', 'HOMEDRIVE', 'HOMEPATH'],
  ...['APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
])
const SYSTEM_FAMILIES = /^(LC|NODE|XDG)_/

/** Variables that only one server may know, or that concern only one. All our others (`BERTH_*`) are configuration, not secrets. */
const OF_ONE_SERVER: Readonly<Record<string, string>> = {
  BERTH_ADMIN_PASSWORD: 'manager',
  BERTH_MASTER_KEY_FILE: 'manager',
  BERTH_METRICS_TOKEN_FILE: 'manager',
  DATABASE_URL: 'manager',
  BERTH_JOIN: 'agent',
  // `console.host`. The manager would otherwise listen there too, in plain http, with the agents' port.
  BERTH_HOST: 'console',
  // Reverse proxies are in front of the console; only the console may speak for others to the manager of `berth up`.
  BERTH_TRUSTED_PROXIES: 'console',
}
/** Variables of `berth up` and the programs around it; the secret of console and manager is created at each start. */
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
 * Threat model: environments hold secrets of the user (cloud tokens, passwords), and an attacker who breaks into a server gets
 * all it has. So each server gets what it needs by name: the administrator's password and the database belong to the manager,
 * the Docker Engine to the agent.
 */
export function childEnvironment(server: string, environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isFor(server, name) ? [[name, value]] : [],
    ),
  )
}

function isFor(server: string, name: string): boolean {
  // Windows ignores case; proxy variables are often in lower case.
  const upper = name.toUpperCase()
  const owner = upper.startsWith('DOCKER_') ? 'agent' : OF_ONE_SERVER[upper]
  if (owner !== undefined) return owner === server
  if (OF_NO_SERVER.has(upper)) return false
  return SYSTEM.has(upper) || SYSTEM_FAMILIES.test(upper) || upper.startsWith('BERTH_')
}
