import { type ServerName } from '../config/berth-toml/settings.ts'
import { variablesUnderUp } from '../config/variables.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables that programs need to run, to find files, to know the user's language and to reach the network. */
const SYSTEM = new Set([
  ...[
    'PATH',
    'RUNTIME_DIRECTORY',
    'HOME',
    'USER',
    'LOGNAME',
    'SHELL',
    'LANG',
    'LANGUAGE',
    'TZ',
    'TMPDIR',
    'TMP',
    'TEMP',
  ],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // Windows
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'USERNAME', 'HOMEDRIVE', 'HOMEPATH'],
  ...['APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
])
const SYSTEM_FAMILIES = /^(LC|NODE|XDG)_/

/**
 * The part of our environment that a server inherits: what programs need, and the variables that the tables of settings and
 * variables name for this server. Everything else stays out.
 *
 * Threat model: environments hold secrets of the user (cloud tokens, passwords, the secret key of the command line), and an
 * attacker who breaks into a server gets all it has. So each server gets what it needs by name: the administrator's password
 * and the database belong to the manager, the Docker Engine to the agent. The address of the console (BERTH_HOST) goes to the
 * console alone: the manager would otherwise listen there too, in plain http, with the agents' port.
 */
export function childEnvironment(server: ServerName, environment: Environment): Record<string, string> {
  const own = new Set(variablesUnderUp(server))
  // Windows ignores case; proxy variables are often in lower case.
  const isFor = (name: string) => SYSTEM.has(name) || SYSTEM_FAMILIES.test(name) || own.has(name)
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isFor(name.toUpperCase()) ? [[name, value]] : [],
    ),
  )
}
