import { homedir } from 'node:os'
import { join } from 'node:path'
import { AppError, because } from '#manager/contract/light'

type Environment = Readonly<Record<string, string | undefined>>
interface Machine {
  readonly env: Environment
  readonly platform: NodeJS.Platform
  readonly isRoot: boolean
  /** @throws AppError `config_invalid` for a user without a home directory */
  readonly home: () => string
}

export function thisMachine(): Machine {
  return { env: process.env, platform: process.platform, isRoot: process.getuid?.() === 0, home: thisHome }
}

/** A container may run Berth under a user id that nobody has, and without HOME. */
function thisHome(): string {
  try {
    return homedir()
  } catch (error) {
    const uid = process.geteuid?.() ?? 0
    throw new AppError('config_invalid', because('no_home_directory', { uid }), { cause: error })
  }
}

/**
 * State directory of this computer's servers and `npm start`: BERTH_DATA, /var/lib/berth as root, else the user's data
 * directory.
 */
export function dataDirectory({ env, platform, isRoot, home }: Machine = thisMachine()): string {
  if (env.BERTH_DATA) return env.BERTH_DATA
  if (platform === 'win32') return join(env.LOCALAPPDATA ?? join(home(), 'AppData', 'Local'), 'Berth')
  if (platform === 'darwin') return join(home(), 'Library', 'Application Support', 'Berth')
  if (isRoot) return '/var/lib/berth'
  return join(env.XDG_DATA_HOME ?? join(home(), '.local', 'share'), 'berth')
}

/** Directory of the CLI's sign-in: BERTH_CONFIG_DIR, else the platform's configuration directory. */
export function configDirectory({ env, platform, home }: Machine = thisMachine()): string {
  if (env.BERTH_CONFIG_DIR) return env.BERTH_CONFIG_DIR
  if (platform === 'win32') return join(env.APPDATA ?? join(home(), 'AppData', 'Roaming'), 'Berth')
  if (platform === 'darwin') return join(home(), 'Library', 'Application Support', 'Berth', 'cli')
  return join(env.XDG_CONFIG_HOME ?? join(home(), '.config'), 'berth')
}
