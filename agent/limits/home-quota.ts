import { execFile } from 'node:child_process'
import { lstat, mkdir, readFile, realpath } from 'node:fs/promises'
import { promisify } from 'node:util'
import { longestMount, type Mount } from '#base/mount-info'
import { type DiskLimits } from './disk-rules.ts'

/** A limit per home that the file system enforces: writes beyond it fail with EDQUOT, on XFS with ENOSPC. */
export interface HomeQuota {
  /** `none`: only the disk guard enforces the limit. */
  readonly kind: 'btrfs' | 'project' | 'none'
  /** Reason why the file system enforces no limit, for the log. */
  readonly why?: string
  /** Like mkdir with mode 0700. @throws as mkdir */
  create(path: string): Promise<void>
  /** Sets the limits of a home; safe to repeat. */
  limit(path: string): Promise<void>
  /**
   * Limits of a home that the file system does not enforce: the disk guard does. They are never stricter than the limits. Does
   * not throw: a limit that cannot be checked counts as not enforced.
   */
  unenforced(path: string): Promise<DiskLimits>
}

/** Runs a program, without a shell. @throws if it cannot be run, takes longer than the timeout, or its exit code is not 0 */
export type Run = (program: string, args: readonly string[], timeoutMs?: number) => Promise<string>

export interface HomeQuotaOptions {
  /** Directory of all homes. */
  readonly directory: string
  readonly limits: DiskLimits
  readonly run?: Run
  readonly mountOf?: (path: string) => Promise<Mount | undefined>
}

const execute = promisify(execFile)
/** Setting the limit of an older home walks all its folders. */
const TIMEOUT_MS = 600_000
/** A session with thousands of subvolumes with long names makes btrfs print that much. */
const MAX_OUTPUT_BYTES = 64 * 2 ** 20
/** The disk guard waits for the answer, and watches no session in the meantime. */
const CHECK_TIMEOUT_MS = 5_000
/**
 * The disk guard ends a session in a project above this multiple of the limit. The excess then consists of files outside the project, not
 * of the few files that the agent itself writes into a full home: quotas do not stop root.
 */
const PROJECT_MARGIN = 1.1

/**
 * Detects the quota support of the file system of the homes. It changes nothing on the host: an administrator must have enabled quotas
 * (`btrfs quota enable`, the mount option `prjquota`).
 *
 * Threat model: a session may evade the quota of its home. The owner of a file may take it out of a *project* (FS_IOC_FSSETXATTR), and
 * anybody may create a subvolume inside a subvolume of btrfs, where the quota of the outer one does not count. The disk guard enforces the
 * limits of such homes (`unenforced`).
 */
export async function findHomeQuota(options: HomeQuotaOptions): Promise<HomeQuota> {
  const { directory, limits, run = runProgram, mountOf = mountOfPath } = options
  const noQuota = (why: string) => withoutQuota(limits, why)
  if (limits.bytes === undefined && limits.inodes === undefined)
    return noQuota('No limit for home folders is configured.')
  if (process.getuid?.() !== 0) return noQuota('The agent does not run as root, which quotas need.')
  const mount = await mountOf(directory)
  if (mount?.type === 'btrfs') {
    return run('btrfs', ['qgroup', 'show', directory]).then(
      () => btrfsQuota(limits, run),
      () => noQuota(`Quotas of btrfs are off, or btrfs-progs is not installed: btrfs quota enable ${directory}.`),
    )
  }
  if (mount?.type !== 'ext4' && mount?.type !== 'xfs')
    return noQuota(`${mount?.type ?? 'The file system'} has no quota per home.`)
  if (!mount.options.some(option => option === 'prjquota' || option === 'pquota')) {
    return noQuota(`${mount.mountPoint} (${mount.type}) is not mounted with prjquota.`)
  }
  return run('setquota', ['--version']).then(
    () => projectQuota(limits, mount, run),
    () => noQuota('The program setquota is not installed (package quota).'),
  )
}

function withoutQuota(limits: DiskLimits, why: string): HomeQuota {
  return {
    kind: 'none',
    why,
    create: path => mkdir(path, { mode: 0o700 }).then(() => undefined),
    limit: () => Promise.resolve(),
    unenforced: () => Promise.resolve(limits),
  }
}

/** A subvolume per home; btrfs has no inode limit, so the disk guard counts inodes. It is removed by `rm -r` like a folder. */
function btrfsQuota({ bytes, inodes }: DiskLimits, run: Run): HomeQuota {
  return {
    kind: 'btrfs',
    async create(path) {
      // The `btrfs` program does not fail if the path exists, as mkdir does with EEXIST.
      if (await lstat(path).catch(() => undefined)) {
        await mkdir(path)
        return
      }
      await run('btrfs', ['subvolume', 'create', path])
      await run('chmod', ['0700', path])
    },
    async limit(path) {
      // A home older than the quota is a plain folder: only the disk guard watches it.
      if (bytes === undefined || !(await isSubvolume(path))) return
      await run('btrfs', ['qgroup', 'limit', String(bytes), path])
    },
    async unenforced(path) {
      return { bytes: bytes !== undefined && (await isWholeSubvolume(path, run)) ? undefined : bytes, inodes }
    },
  }
}

/** Whether the quota of a home counts everything in it. If the list fails or is too long to read, the answer is no. */
async function isWholeSubvolume(path: string, run: Run): Promise<boolean> {
  try {
    if (!(await isSubvolume(path))) return false
    return (await run('btrfs', ['subvolume', 'list', '-o', path], CHECK_TIMEOUT_MS)).trim() === ''
  } catch {
    return false // e.g. the home is gone
  }
}

/** @see https://btrfs.readthedocs.io/en/latest/btrfs-subvolume.html: the root of a subvolume has inode number 256 */
async function isSubvolume(path: string): Promise<boolean> {
  return (await lstat(path)).ino === 256
}

/** Project quotas, for ext4 and XFS with the same programs: project ids by `chattr`, limits by `setquota`. */
function projectQuota({ bytes, inodes }: DiskLimits, { mountPoint }: Mount, run: Run): HomeQuota {
  return {
    kind: 'project',
    create: path => mkdir(path, { mode: 0o700 }).then(() => undefined),
    async limit(path) {
      const project = projectOf((await lstat(path)).ino)
      // New entries inherit the project from their folder (+P); ext4 refuses +P for files. An older home is walked once, from
      // folder to folder, because its paths may be longer than any program accepts.
      const folders = ['-type', 'd', '-execdir', 'chattr', '-p', project, '+P', '{}', '+']
      const files = ['-type', 'f', '-execdir', 'chattr', '-p', project, '{}', '+']
      await run('find', [path, '-xdev', ...folders, '-o', ...files])
      const blocks = String(bytes === undefined ? 0 : Math.ceil(bytes / 1024))
      await run('setquota', ['-P', project, '0', blocks, '0', String(inodes ?? 0), mountPoint])
    },
    unenforced: () => Promise.resolve({ bytes: withMargin(bytes), inodes: withMargin(inodes) }),
  }
}

function withMargin(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : Math.ceil(limit * PROJECT_MARGIN)
}

/** Project id from the inode number, which stays when the home is renamed; above the ids that administrators choose. */
export function projectOf(inode: number): string {
  return String(2 ** 30 + (inode % 2 ** 30))
}

async function mountOfPath(path: string): Promise<Mount | undefined> {
  return longestMount(await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''), await realpath(path))
}

const runProgram: Run = async (program, args, timeout = TIMEOUT_MS) =>
  (await execute(program, [...args], { timeout, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES })).stdout
