import { mkdir, readdir, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createKeyedMutex } from '#base/mutex'
import { type KernelFolder, type KernelMounts } from '#agent/contract'
import { UUID } from '#base/shapes'
import { AppError, because, type Because, causeIn, type FolderId, keysOf } from '#manager/contract'
import { LATER_FOLDERS } from '../docker/container-config.ts'
import { type Log } from '../log.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { dropLink, putLink, requireFree } from '../storage/folder-links.ts'
import { isMountedAt, mount, mountsSeenBy, unmount } from '../storage/mount-programs.ts'
import { folderOptions, isReached, mountAt, mountsFrom } from '../storage/mount-table.ts'
import { type MountedStorage } from '../storage/mounted-storage.ts'
import { KERNEL_DIRECTORY, listNames } from './homes.ts'
import { type KernelFiles } from './kernel-files.ts'
import { createLiveFolderRecords } from './live-folder-records.ts'
import { unlessMissing } from '../unless-missing.ts'

/**
 * Folders that are added to running kernels and taken out again (docs/adr/0057), below DATA/agent:
 *
 *     mounts/<kernel>/          a shared mount of its own, at /run/berth-folders of the container
 *     mounts/<kernel>/<folder>  a folder of a storage
 * mounts/<kernel>.json      what was asked for, and the paths of the links in the home
 *     mounts/staging/<kernel>   the folder before its restrictions are set; nobody sees it
 *     mounts/README             for whoever is about to remove the directory
 *
 * Threat model: mounts/ belongs to root, and sessions see their part of it read-only. A session can write only inside its folders, which
 * are mounted without devices and set-user-id programs; the path in its home is a link, which the agent never follows. What is mounted here
 * are files of users: they must survive whatever happens to the session, so nothing in this file removes more than an empty directory
 * (`rmdir`), a link, or its own record, and the homes are elsewhere.
 */
export interface LiveFolders {
  /** Creates the directory for folders of a new kernel. Safe to repeat. @returns undefined if this host cannot */
  prepare(kernelId: string): Promise<string | undefined>
  /** Records that containers get no directory for folders here, if the error says that the engine refused one. @returns whether it does */
  learnRefusal(error: unknown): boolean
  /** Checks the folders of a running kernel, and whether they can be changed. */
  check(kernel: Seen): Promise<void>
  /** Result of the last check; undefined before the first. */
  mountsOf(kernelId: string): KernelMounts | undefined
  /**
   * Safe to repeat. @param find the kernel while it runs
   * @throws AppError `kernel_not_found`, `session_folders_fixed`, `folder_path_taken`, `storage_away`, `folder_not_found`
   */
  add(kernelId: string, folder: KernelFolder, find: () => RunningKernel | undefined): Promise<void>
  /** Takes a folder out of a kernel. Safe to repeat. @throws AppError `kernel_not_found`, `folder_busy` */
  take(kernelId: string, folder: FolderId, options: TakeOptions): Promise<void>
  /** Takes all folders out of a kernel whose container is gone. */
  discard(kernelId: string): Promise<void>
  /** Cleans up after kernels that are not live. @param complain called for each that cannot be cleaned up now */
  sweep(isLive: (kernelId: string) => boolean, complain: (error: unknown) => void): Promise<void>
}

type Seen = Pick<RunningKernel, 'kernelId' | 'pid'>

export interface TakeOptions {
  readonly find: () => RunningKernel | undefined
  /** Unmounts even while programs use it: they keep the files that they have open. */
  readonly force: boolean
}

export interface LiveFoldersDeps {
  /** DATA/agent, absolute. */
  readonly directory: string
  readonly files: Pick<KernelFiles, 'user' | 'ownFolder' | 'paths'>
  readonly storage: Pick<MountedStorage, 'directoryOf'>
  readonly onChange: () => void
  readonly log: Log
}

const NO_ROOM: LiveFolders['prepare'] = () => Promise.resolve(undefined)
/** The runtime's error if the agent's mount does not exist in its namespace. */
const NOT_SHARED = /not a shared (or slave )?mount/
const OURS = (target: string) => target.startsWith(`${LATER_FOLDERS}/`)

export function createLiveFolders({ directory, files, storage, onChange, log }: LiveFoldersDeps): LiveFolders {
  const inTurn = createKeyedMutex()
  const seen = new Map<string, KernelMounts>()
  const { placeOf, recordPath, readRecords, writeRecords } = createLiveFolderRecords(directory)
  const homeOf = (kernelId: string) => files.paths(kernelId).scratch
  let blocked: Because | undefined = process.getuid?.() === 0 ? undefined : because('folders_agent_not_root')
  async function prepare(kernelId: string): Promise<string | undefined> {
    if (blocked) return undefined
    try {
      const place = await placeOf(kernelId)
      await mkdir(place, { recursive: true, mode: 0o755 })
      if (await isMountedAt(place)) return place
      // Make it private first: a mount in a shared directory would appear for everybody who sees that directory.
      await mount('--bind', '--make-private', place, place)
      await mount('--make-shared', place)
      return place
    } catch (error) {
      blocked = because('folders_cannot_mount', { text: firstLine(error) })
      log.warn({ why: blocked.why }, 'no folders can be added to running sessions')
      return undefined
    }
  }

  async function see(kernel: Seen): Promise<KernelMounts> {
    const place = await placeOf(kernel.kernelId)
    const [own, inside] = await Promise.all([mountsSeenBy(), mountsSeenBy(kernel.pid)])
    const closed = whyClosed()
    const records = await readRecords(kernel.kernelId)
    return {
      closed: closed?.why ?? null,
      ...(closed && { closedBy: keysOf(closed) }),
      folders: records.filter(({ folder }) => mountAt(own, join(place, folder)) !== undefined),
    }

    function whyClosed(): Because | undefined {
      if (isReached({ mounts: own, source: place }, { mounts: inside, target: LATER_FOLDERS })) return undefined
      if (blocked) return blocked
      const isOlder = mountAt(inside, LATER_FOLDERS) === undefined && inside.length > 0
      return because(isOlder ? 'folders_container_older' : 'folders_agent_apart')
    }
  }

  async function check(kernel: Seen): Promise<void> {
    const { kernelId } = kernel
    const found = await see(kernel)
    const isNews = JSON.stringify(seen.get(kernelId)) !== JSON.stringify(found)
    seen.set(kernelId, found)
    if (isNews) onChange()
  }

  async function requireOpen(find: () => RunningKernel | undefined, kernelId: string): Promise<RunningKernel> {
    const kernel = find()
    if (!kernel) throw new AppError('kernel_not_found', { kernelId })
    await check(kernel)
    const { closed, closedBy } = seen.get(kernelId) ?? { closed: null }
    if (closed === null) return kernel
    const fixed = causeIn({ why: closed, ...closedBy })
    throw new AppError('session_folders_fixed', fixed)
  }

  const discard: LiveFolders['discard'] = kernelId =>
    inTurn(kernelId, async () => {
      seen.delete(kernelId)
      for (const { path } of await readRecords(kernelId)) await dropLink(homeOf(kernelId), path, OURS)
      await hide(await placeOf('staging', kernelId))
      const place = await placeOf(kernelId)
      for (const name of await listNames(place, UUID)) await hide(join(place, name))
      await hide(place)
      await rm(await recordPath(kernelId), { force: true })
    })

  async function forgetFolder(kernelId: string, folder: string, records: readonly KernelFolder[]): Promise<void> {
    for (const { path } of records.filter(record => record.folder === folder)) {
      await dropLink(homeOf(kernelId), path, target => target === `${LATER_FOLDERS}/${folder}`)
    }
    await writeRecords(
      kernelId,
      records.filter(record => record.folder !== folder),
    )
  }

  return {
    prepare: process.platform === 'linux' ? prepare : NO_ROOM,
    learnRefusal(error) {
      if (blocked || !NOT_SHARED.test(String(error instanceof Error ? error.message : error))) return false
      blocked = because('folders_agent_apart')
      log.warn({ why: blocked.why }, 'no folders can be added to running sessions')
      return true
    },
    check: kernel => inTurn(kernel.kernelId, () => check(kernel)),
    mountsOf: kernelId => seen.get(kernelId),
    add: (kernelId, folder, find) =>
      inTurn(kernelId, async () => {
        const kernel = await requireOpen(find, kernelId)
        const target = await placeOf(kernelId, folder.folder)
        const link = `${LATER_FOLDERS}/${folder.folder}`
        const records = await readRecords(kernelId)
        const isThere = await isMountedAt(target)
        if (isThere && records.some(record => isSame(record, folder))) {
          return putLink(homeOf(kernelId), folder.path, link, await files.user())
        }
        await requireFree(homeOf(kernelId), folder.path, link)
        const source = await storage.directoryOf(folder)
        await files.ownFolder(source, AbortSignal.timeout(OWN_MS))
        // Mounted with settings that the manager does not know.
        if (isThere) await hide(target)
        await forgetFolder(kernelId, folder.folder, records)
        const others = records.filter(record => record.folder !== folder.folder)
        // Written first, so that the following link can be found again.
        await writeRecords(kernelId, [...others, folder])
        try {
          await show({ staging: await placeOf('staging', kernelId), source, target, readOnly: folder.readOnly })
          if (mountAt(await mountsSeenBy(kernel.pid), link) === undefined) {
            throw new AppError('session_folders_fixed', because('folder_not_seen', { path: folder.path }))
          }
          await putLink(homeOf(kernelId), folder.path, link, await files.user())
        } catch (error) {
          await hide(target)
          await forgetFolder(kernelId, folder.folder, [...others, folder])
          throw error
        } finally {
          await check(kernel)
        }
      }),
    take: (kernelId, folder, { find, force }) =>
      inTurn(kernelId, async () => {
        const kernel = find()
        if (!kernel) throw new AppError('kernel_not_found', { kernelId })
        const records = await readRecords(kernelId)
        const target = await placeOf(kernelId, folder)
        if (!force && (await isMountedAt(target))) {
          await unmount(target, { lazily: false }).catch(async (error: unknown) => {
            if (!(await isMountedAt(target))) throw error
            const path = records.find(record => record.folder === folder)?.path ?? ''
            throw new AppError('folder_busy', { path, ...because('folder_busy', { path }) }, { cause: error })
          })
        }
        await hide(target)
        await forgetFolder(kernelId, folder, records)
        await check(kernel)
      }),
    discard,
    async sweep(isLive, complain) {
      const names = await readdir(join(directory, 'mounts')).catch(() => [])
      const left = new Set(names.map(name => basename(name, '.json')).filter(name => KERNEL_DIRECTORY.test(name)))
      for (const kernelId of left) if (!isLive(kernelId)) await discard(kernelId).catch(complain)
    },
  }
}

interface Shown {
  readonly staging: string
  readonly source: string
  readonly target: string
  readonly readOnly: boolean
}

/** Mounts the folder outside the tree that sessions see, restricts it there, and only then moves it into the tree. */
async function show({ staging, source, target, readOnly }: Shown): Promise<void> {
  // An agent that crashed here has left a mount.
  await hide(staging)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  await mkdir(target, { recursive: true, mode: 0o755 })
  try {
    // Private, so that mounts below the folder on the host, now or later, do not appear in the session.
    await mount('--bind', '--make-private', source, staging)
    const made = mountAt(await mountsSeenBy(), staging)
    await mount('-o', `remount,${folderOptions(made?.options ?? [], readOnly)}`, source, staging)
    await mount('--bind', staging, target)
  } finally {
    await hide(staging)
  }
}

/** Unmounts everything at and below a directory, and removes the directory itself: the system refuses that if it is not empty. */
async function hide(path: string): Promise<void> {
  for (const { at } of mountsFrom(await mountsSeenBy(), path)) await unmount(at, { lazily: true })
  await rmdir(path).catch(unlessMissing)
}

/** Files of root in a folder are given to the user of sessions one by one. */
const OWN_MS = 10 * 60_000

function isSame(a: KernelFolder, b: KernelFolder): boolean {
  return a.folder === b.folder && a.storage === b.storage && a.path === b.path && a.readOnly === b.readOnly
}

function firstLine(error: unknown): string {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
  return text.trim().split('\n', 1)[0]?.slice(0, 200) ?? ''
}
