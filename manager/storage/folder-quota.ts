import { execFile } from 'node:child_process'
import { lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { longestMount, type Mount } from '#base/mount-info'

/** Limits of a folder that its file system enforces: a session that writes more gets EDQUOT, on XFS ENOSPC. */
export interface FolderQuotas {
  /** Like mkdir with mode 0700, so that a limit can be set later. @throws as mkdir */
  create(path: string): Promise<void>
  /** Sets or removes the limits of a folder. Safe to repeat. @returns why the file system does not enforce them */
  limit(path: string, limits: FolderLimits): Promise<Unenforced>
}

/** Null = none. */
export interface FolderLimits {
  readonly bytes: number | null
  /** Files, directories and links below the folder. */
  readonly files: number | null
}

/** Why a file system does not enforce a limit; undefined if it does. */
export interface Unenforced {
  readonly bytes?: string
  readonly files?: string
}

const neither = (why: string): Unenforced => ({ bytes: why, files: why })

/** Runs a program, without a shell. @throws if it cannot be run, takes too long, or its exit code is not 0 */
export type Run = (program: string, args: readonly string[]) => Promise<string>

/** Setting the first limit of an older folder walks all its directories. */
const TIMEOUT_MS = 600_000
/** Administrators choose smaller project ids; the ids of session homes end here. */
const PROJECTS_FROM = 2 ** 31

const execute = promisify(execFile)
const runProgram: Run = async (program, args) =>
  (
    await execute(program, [...args], {
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      env: { ...process.env, LC_ALL: 'C' },
    })
  ).stdout

/**
 * Quotas of the file systems that hold folders: a qgroup per subvolume of btrfs, a project of ext4 and XFS. Only folders are changed on the
 * host: an administrator must have enabled quotas (`btrfs quota enable`, the mount option `prjquota`).
 *
 * Threat model: programs get only the paths of folders, whose parents belong to the manager, and no path of a file in a folder, except by
 * `find -execdir`, which follows no link. A session may circumvent such a quota: the owner of a file may take it out of a project, and
 * anybody may create a subvolume in a subvolume. Measuring the folder finds these files, and Berth refuses further writes.
 */
export function createFolderQuotas({
  run = runProgram,
  mountOf = mountOfPath,
}: { run?: Run; mountOf?: (path: string) => Promise<Mount | undefined> } = {}): FolderQuotas {
  const hasQgroups = (path: string) =>
    run('btrfs', ['qgroup', 'show', path]).then(
      () => true,
      () => false,
    )

  async function limitSubvolume(path: string, bytes: number | null): Promise<Unenforced> {
    if (!(await isSubvolume(path))) return neither('The folder is older than the quotas of its file system.')
    try {
      await run('btrfs', ['qgroup', 'limit', bytes === null ? 'none' : String(bytes), path])
      return { files: 'btrfs limits no number of files.' }
    } catch {
      return neither('Quotas of btrfs are off, or btrfs-progs is not installed.')
    }
  }

  async function limitProject(
    path: string,
    { mountPoint }: Mount,
    { bytes, files }: FolderLimits,
  ): Promise<Unenforced> {
    const project = projectOf((await lstat(path)).ino)
    try {
      if (bytes !== null || files !== null) {
        // New entries inherit the project from their directory (+P). Existing ones are walked once.
        const directories = ['-type', 'd', '-execdir', 'chattr', '-p', project, '+P', '{}', '+']
        const regular = ['-type', 'f', '-execdir', 'chattr', '-p', project, '{}', '+']
        await run('find', [path, '-xdev', ...directories, '-o', ...regular])
      }
      const blocks = String(bytes === null ? 0 : Math.ceil(bytes / 1024))
      // The folder itself also counts as an inode of the project.
      const inodes = String(files === null ? 0 : files + 1)
      await run('setquota', ['-P', project, '0', blocks, '0', inodes, mountPoint])
      return {}
    } catch {
      return neither('A project quota cannot be set: the package quota is missing, or the kernel has no quotas.')
    }
  }

  return {
    async create(path) {
      const mount = process.getuid?.() === 0 ? await mountOf(dirname(path)) : undefined
      if (mount?.type !== 'btrfs' || (await isThere(path)) || !(await hasQgroups(dirname(path)))) {
        await mkdir(path, { mode: 0o700 })
        return
      }
      await run('btrfs', ['subvolume', 'create', path])
      await run('chmod', ['0700', path])
    },
    async limit(path, limits) {
      if (process.getuid?.() !== 0) return neither('Quotas need a manager that runs as root.')
      const mount = await mountOf(path)
      if (mount?.type === 'btrfs') return limitSubvolume(path, limits.bytes)
      if (mount?.type !== 'ext4' && mount?.type !== 'xfs')
        return neither('The file system has no quotas for directories.')
      const isOn = mount.options.some(option => option === 'prjquota' || option === 'pquota')
      return isOn ? limitProject(path, mount, limits) : neither('The file system is not mounted with prjquota.')
    },
  }
}

/** Project id from the inode number of the folder, which survives renaming. */
export const projectOf = (inode: number): string => String(PROJECTS_FROM + (inode % 2 ** 30))

const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  )

/** @see https://btrfs.readthedocs.io/en/latest/btrfs-subvolume.html: the root of a subvolume has inode number 256 */
const isSubvolume = async (path: string) => (await lstat(path)).ino === 256

async function mountOfPath(path: string): Promise<Mount | undefined> {
  return longestMount(await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''), await realpath(path))
}
