import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#manager/contract'
import { osUser } from './os-user.ts'

const run = promisify(execFile)
const OS_USER = 'berth-postgres'

/** User as which the binaries of PostgreSQL run; PostgreSQL refuses to run as root. */
export interface RunAs {
  readonly uid: number
  readonly gid: number
  /** Words to put before the command. Empty if `spawn` sets uid and gid, or if the user does not change. */
  readonly prefix: readonly string[]
  /** Options for `spawn`. Empty if the prefix changes the user, or if it does not change. */
  readonly spawn: { readonly uid?: number; readonly gid?: number }
}

/**
 * Chooses the user for PostgreSQL: our own user, or, if that is root, the system user `berth-postgres`, which is created if
 * it is missing.
 *
 * That user must be able to enter the data directory. If a directory above it is closed to others (a data directory below
 * /root), we do not change the mode of a directory that is not ours. The processes keep one capability instead,
 * CAP_DAC_READ_SEARCH: it lets them pass directories but write nothing.
 *
 * @param dataDir absolute path of an existing directory
 * @throws AppError `config_invalid` if there is no entry for our user, or if the other user cannot be created or cannot enter the data directory
 */
export async function chooseUser(dataDir: string): Promise<RunAs> {
  const { uid, gid } = osUser()
  if (uid !== 0) return { uid, gid, prefix: [], spawn: {} }
  const user = await systemUser()
  const closed = await firstClosed(resolve(dataDir))
  if (closed === undefined) return { ...user, prefix: [], spawn: user }
  const prefix = passingDirectories(user)
  const [command, ...args] = [...prefix, 'true']
  await run(command, args).catch((error: unknown) => {
    const why =
      `The database runs as the user ${OS_USER}, which cannot enter ${closed}. Berth cannot work around that here (no setpriv` +
      ' or no CAP_DAC_READ_SEARCH). Choose another data directory, or run chmod o+x on that one.'
    throw new AppError('config_invalid', { why }, { cause: error })
  })
  return { ...user, prefix, spawn: {} }
}

async function systemUser(): Promise<{ uid: number; gid: number }> {
  const existing = await findUser()
  if (existing) return existing
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent']
  // Two managers may create the user at the same time: the second `useradd` fails, and `findUser` finds the user.
  const failure = await run('useradd', [...options, '--shell', '/usr/sbin/nologin', OS_USER]).catch(toError)
  const created = await findUser()
  if (created) return created
  throw new AppError(
    'config_invalid',
    {
      why:
        `PostgreSQL does not run as root, and the system user ${OS_USER} could not be created` +
        ' (is useradd installed?). Create the user, set DATABASE_URL, or start Berth as another user.',
    },
    { cause: failure },
  )
}

async function findUser(): Promise<{ uid: number; gid: number } | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', OS_USER]), run('id', ['-g', OS_USER])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined // `id` fails for a user that does not exist
  }
}

/** The nearest directory, from `path` upwards, that others may not pass. */
async function firstClosed(path: string): Promise<string | undefined> {
  const { mode } = await stat(path)
  if ((mode & 0o001) === 0) return path
  return dirname(path) === path ? undefined : firstClosed(dirname(path))
}

/**
 * Command that runs another one as this user with CAP_DAC_READ_SEARCH. Without `no_setuid_fixup`, access(2), which initdb
 * uses, would check without the capability.
 */
function passingDirectories({ uid, gid }: { uid: number; gid: number }): string[] {
  const only = '-all,+dac_read_search'
  const caps = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`]
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--no-new-privs',
    '--securebits=+no_setuid_fixup',
    ...caps,
    '--',
  ]
}

function toError(error: unknown): unknown {
  return error
}
