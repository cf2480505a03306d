import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, type Stats } from 'node:fs'
import { chown, lstat, mkdir, open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseJson } from '#base/parse-json'
import { AppError, because } from '#manager/contract'
import { closeDirectory } from '../close-directory.ts'
import { type DiskLimits } from '../limits/disk-rules.ts'
import { findHomeQuota, type HomeQuota } from '../limits/home-quota.ts'
import { type HostAccounts } from './host-accounts.ts'
import { putFile } from './put-file.ts'
import { unlessFull } from '../unless-full.ts'
import { chooseSessionUser, SessionUserRecord } from './session-user.ts'
import { type SessionUser } from '../docker/container-config.ts'

export interface HomesOptions {
  /** Directory of all homes, absolute. */
  readonly directory: string
  /** File that records the user of sessions. */
  readonly recordPath: string
  readonly accounts: HostAccounts
  /** Limits of each home. */
  readonly limits: DiskLimits
}

/** The homes of kernels: directories of the session user, in a directory in which only the agent can rename anything. */
export interface Homes {
  /** Owner of new files and processes of sessions. Chosen once per process. @throws `config_invalid` */
  user(): Promise<SessionUser>
  /** The quota that enforces the limits of homes. */
  quota(): Promise<HomeQuota>
  pathOf(kernelId: string): string
  /** Creates the home, or gives an existing one to the session user. Safe to repeat. @throws `disk_full`, `files_gone` */
  make(kernelId: string): Promise<void>
  /** Renames the home of the kernel `from` to that of the kernel `to`; idempotent. @throws `files_gone` */
  take(from: string, to: string): Promise<void>
  /** Homes with the time of their last change, oldest first. */
  list(): Promise<{ kernelId: string; changedMs: number }[]>
  /** Gives the session user a home that belongs to an earlier user of sessions; no-op for other homes. */
  handOver(kernelId: string): Promise<void>
  /**
   * Gives the session user a folder that belongs to root or to an earlier user of sessions, with all files in it: the manager
   * makes files in a folder before a session mounts it.
   * @throws `kernel_create_failed` if it belongs to anybody else
   */
  ownFolder(path: string, signal: AbortSignal): Promise<void>
}

export const KERNEL_DIRECTORY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Threat model: the directory belongs to the agent (as root: root) and has mode 0700. The users of homes cannot change the names in it,
 * and other users of the host cannot pass through it: a session can leave a set-user-id program in its home, and whoever ran that
 * would become the user of all sessions. The engine mounts homes as root. A home counts only if it is a real directory of a user of
 * sessions; a link is never followed. Everything below a home is hostile: owners are changed without following links, and only of files
 * that belonged to an earlier user of sessions.
 */
export function createHomes({ directory, recordPath, accounts, limits }: HomesOptions): Homes {
  const asRoot = process.getuid?.() === 0
  let chosen: Promise<SessionUserRecord> | undefined
  let found: Promise<HomeQuota> | undefined
  const pathOf = (kernelId: string) => join(directory, kernelId)

  async function choose(): Promise<SessionUserRecord> {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await closeDirectory(directory)
    if (!asRoot) return ownUser()
    const owner = await lstat(join(directory, '.'))
    const user = await chooseSessionUser({ accounts, owner, recorded: await readRecord(recordPath) })
    await putFile(recordPath, JSON.stringify(user), { mode: 0o600 })
    await chown(directory, 0, 0)
    return user
  }

  function record(): Promise<SessionUserRecord> {
    chosen ??= choose().catch((error: unknown) => {
      chosen = undefined
      throw error
    })
    return chosen
  }

  async function quota(): Promise<HomeQuota> {
    await record()
    found ??= findHomeQuota({ directory, limits }).catch((error: unknown) => {
      found = undefined
      throw error
    })
    return found
  }

  async function isHome(found: Stats): Promise<boolean> {
    const { uid, earlier } = await record()
    // A home owned by root: the agent crashed right after creating it.
    return found.isDirectory() && [uid, ...earlier, ...(asRoot ? [0] : [])].includes(found.uid)
  }

  async function handOver(kernelId: string): Promise<void> {
    const { uid, gid, earlier } = await record()
    const found = await lstat(pathOf(kernelId))
    if (!asRoot || !found.isDirectory() || found.uid === uid || !earlier.includes(found.uid)) return
    await changeOwner(pathOf(kernelId), found.uid, { uid, gid })
  }

  return {
    user: async () => {
      const { uid, gid } = await record()
      return { uid, gid }
    },
    quota,
    pathOf,
    async make(kernelId) {
      const { uid, gid } = await record()
      const ofHomes = await quota()
      const path = pathOf(kernelId)
      await ofHomes.create(path).catch((error: unknown) => {
        if (!isCode(error, 'EEXIST')) throw unlessFull(error, path)
      })
      const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
      const home = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
        throw isCode(error, 'ENOTDIR') || isCode(error, 'ELOOP') ? notAHome(error) : error
      })
      try {
        const found = await home.stat()
        if (!(await isHome(found))) throw notAHome()
        if (asRoot && found.uid === 0) await home.chown(uid, gid)
      } finally {
        await home.close()
      }
      await handOver(kernelId)
      await ofHomes.limit(path)
    },
    async take(from, to) {
      const found = await lstat(pathOf(from)).catch((error: unknown) => {
        if (!isCode(error, 'ENOENT')) throw error
      })
      if (!found) {
        const taken = await lstat(pathOf(to)).catch(() => undefined)
        if (taken && (await isHome(taken))) return
        throw new AppError('files_gone', because('session_files_deleted'))
      }
      if (!(await isHome(found))) throw notAHome()
      await rename(pathOf(from), pathOf(to))
    },
    async list() {
      const ids = await listNames(directory, KERNEL_DIRECTORY)
      const found = await Promise.all(ids.map(kernelId => lstat(pathOf(kernelId)).catch(() => undefined)))
      return ids
        .flatMap((kernelId, at) => (found[at]?.isDirectory() ? [{ kernelId, changedMs: found[at].mtimeMs }] : []))
        .toSorted((a, b) => a.changedMs - b.changedMs)
    },
    handOver,
    async ownFolder(path, signal) {
      const { uid, gid, earlier } = await record()
      const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants
      const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      try {
        const found = await folder.stat()
        if (found.uid === uid) return
        if (asRoot && found.uid === 0) {
          const handOverAll = () => changeOwner(path, 0, { uid, gid }, signal)
          // The manager gives files that it creates to the owner of the folder, so hand over once more the files that it created as root
          // meanwhile.
          await handOverAll()
          await handOverAll()
        } else if (asRoot && earlier.includes(found.uid)) await changeOwner(path, found.uid, { uid, gid }, signal)
        else throw foreignFolder(path, found.uid, uid)
      } finally {
        await folder.close()
      }
    },
  }
}

function foreignFolder(path: string, owner: number, uid: number): AppError {
  return new AppError('kernel_create_failed', because('folder_of_other_uid', { path, owner, uid }))
}

/** Names that match the pattern; other names in the directory are not ours, so they must not be changed. */
export async function listNames(directory: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter(name => pattern.test(name))
}

/** A non-root agent cannot give files away, so sessions run as the agent's own user. */
function ownUser(): SessionUserRecord {
  const uid = process.getuid?.() ?? 0
  return { uid, gid: process.getgid?.() || uid, earlier: [] }
}

/** @returns undefined for a record that is missing or truncated by a loss of power: the same rules choose the user again */
async function readRecord(path: string): Promise<SessionUserRecord | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return SessionUserRecord.safeParse(parseJson(text)).data
}

/**
 * Changes the owner by `chown`, which walks by descriptors, changes links themselves (-h), and changes the given directory last: an
 * interrupted run is detected and repeated. Hard links to other users' files keep their owner (--from). A `chown` without this option
 * (busybox) runs without it; one that has the option always uses it, even if it fails.
 */
async function changeOwner(path: string, from: number, { uid, gid }: SessionUser, signal?: AbortSignal): Promise<void> {
  const change = async (...options: string[]) => {
    const [code] = (await once(
      spawn('chown', ['-hR', ...options, `${uid}:${gid}`, '--', path], { stdio: 'ignore', signal }),
      'exit',
    )) as [number | null]
    return code
  }
  const code = (await chownKnowsFrom()) ? await change(`--from=${from}`) : await change()
  if (code !== 0) throw new Error(`The owner of ${path} could not be changed: chown ended with ${code ?? 'a signal'}`)
}

async function chownKnowsFrom(): Promise<boolean> {
  const help = await promisify(execFile)('chown', ['--help']).catch(() => ({ stdout: '' }))
  return help.stdout.includes('--from')
}

function notAHome(cause?: unknown): AppError {
  return new AppError('files_gone', because('session_files_replaced'), { cause })
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
