import { lutimes, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyedMutex } from '#base/mutex'
import { AppError, because } from '#manager/contract'
import { type DiskLimits } from '../limits/disk-rules.ts'
import { shortageAt } from '../limits/free-space.ts'
import { type HomeQuota } from '../limits/home-quota.ts'
import { type ControlFiles, createControlFiles } from './control-files.ts'
import { unlessMissing } from '../unless-missing.ts'
import { createHomes, KERNEL_DIRECTORY, listNames } from './homes.ts'
import { hostAccounts } from './host-accounts.ts'
import { removeTree } from './remove-tree.ts'
import { type SessionUser } from '../docker/container-config.ts'

/**
 * The files of a kernel, below DATA/agent:
 *
 *     scratch/<kernel>/            its home, mounted at /home/work; removed some time after the end, in the background, as
 *     scratch/<kernel>.removed/
 *     kernels/<kernel>/run/        mounted read-only at /run/berth: host key, authorized_keys, environment, start-up script
 *     kernels/<kernel>/run/{id_cluster,known_hosts,hostfile,wait-for}  of a session with several kernels, see cluster-files.ts
 *     kernels/<kernel>/run/interruption  while an interruption of the session is announced: its time
 *     kernels/<kernel>/etc/        passwd, group, shells and a start file of shells of the container
 *     kernels/<kernel>/ssh.json    what clients get; never mounted
 *     kernels/<kernel>/renewed     present if the keys were renewed, see renew-ssh.ts
 *     kernels/<kernel>/secrets.json  secrets of apps; never mounted
 *     kernels/<kernel>/files-of    until the kernel has started: the kernel whose home it has taken over, or itself
 *     session-user.json            uid and gid of sessions, see session-user.ts
 *
 * Threat model: kernels/ is 0700 and belongs to the agent, so no other user of the host reads keys or secrets; the container sees
 * only the two mounted directories, read-only. The session's user can read its own host key: sshd runs as that user.
 */
export interface KernelFiles extends ControlFiles {
  /** Owner of the files and processes of new sessions, never root. @throws `config_invalid` */
  user(): Promise<SessionUser>
  /** @see Homes.ownFolder */
  ownFolder(path: string, signal: AbortSignal): Promise<void>
  /** The quota of homes; the disk guard enforces the limits that it leaves. */
  homeQuota(): Promise<Pick<HomeQuota, 'kind' | 'why' | 'unenforced'>>
  /**
   * @param filesOf an ended kernel whose home this kernel takes over; `discard` gives it back until `ownScratch` is called
   *
   * @throws `disk_full` below the floor, `files_gone`
   */
  createScratch(kernelId: string, filesOf?: string): Promise<void>
  /** Records that the kernel has started: from now on its home is kept when it ends. Safe to repeat. */
  ownScratch(kernelId: string): Promise<void>
  paths(kernelId: string): { readonly scratch: string; readonly control: string; readonly etc: string }
  /**
   * Removes the control files, and marks the home as ended now or removes it too. A kernel that has not started leaves nothing:
   * a home that it has taken over goes back, its own home is removed.
   *
   * @param options `keepMs`: time for which the home is kept at least, also when space is short
   */
  discard(kernelId: string, options: DiscardOptions): Promise<void>
  /** Removes files that belong to no kernel: control files at once, homes after their retention, or earlier when space is short. */
  sweep(options: SweepOptions): Promise<void>
}

export interface DiscardOptions {
  readonly scratch: 'keep' | 'remove'
  readonly keepMs?: number
}

export interface SweepOptions {
  /** Called right before each removal, because kernels may start during the sweep. */
  readonly isLive: (kernelId: string) => boolean
  readonly nowMs: number
  /** Called for each removal that fails. */
  readonly complain: (error: unknown) => void
  /** Ends the sweep, even in the middle of a large home. */
  readonly signal: AbortSignal
}

export interface KernelFilesOptions {
  /** DATA/agent, absolute. */
  readonly directory: string
  readonly scratchDirectory: string
  readonly freeSpaceFloorBytes: number
  readonly scratchRetentionMs: number
  /** Called before a session is refused because of a lack of space. */
  readonly onShort?: () => Promise<void>
  readonly homeLimits?: DiskLimits
}

/** Below this multiple of the free-space floor, homes of ended sessions are deleted, oldest first. */
const TIGHT = 2
const REMOVED = '.removed'
const REMOVED_DIRECTORY = /^[0-9a-f-]{36}\.removed$/

export function createKernelFiles(options: KernelFilesOptions): KernelFiles {
  const kernels = join(options.directory, 'kernels')
  const scratch = options.scratchDirectory
  const homes = createHomes({
    directory: scratch,
    recordPath: join(options.directory, 'session-user.json'),
    accounts: hostAccounts(),
    limits: options.homeLimits ?? { bytes: undefined, inodes: undefined },
  })
  // A start of a kernel and the removal of remains of its earlier start take turns.
  const inTurn = createKeyedMutex()

  const control = createControlFiles({ kernels, scratch, user: () => homes.user(), inTurn })

  async function discard(kernelId: string, { scratch: fate, keepMs = 0 }: DiscardOptions): Promise<void> {
    const home = join(scratch, kernelId)
    const filesOf = await control.takenFrom(kernelId)
    const kept = join(scratch, filesOf ?? kernelId)
    // A taken-over home goes back before the control files are removed: they record whose home it is.
    if (kept !== home) await rename(home, kept).catch(unlessMissing)
    await control.remove(kernelId)
    if ((fate === 'remove' || filesOf === kernelId) && kept === home) return removeTree(home)
    // A time in the future: for the clean-up, the home has not ended before it.
    const ended = new Date(Date.now() + keepMs)
    await lutimes(kept, ended, ended).catch(unlessMissing)
  }

  /** Removes the remains of a kernel unless it is live: a starting kernel is live before it asks for its turn. */
  const discardUnless = (isLive: SweepOptions['isLive'], kernelId: string) =>
    inTurn(kernelId, async () => {
      // The end of this kernel was not noticed, so the retention begins now.
      if (!isLive(kernelId)) await discard(kernelId, { scratch: 'keep' })
    })

  /** Renames a home before it is removed, so that no other kernel continues with a part of it. */
  const setAside = (isLive: SweepOptions['isLive'], kernelId: string) =>
    inTurn(kernelId, async () => {
      const home = join(scratch, kernelId)
      if (!isLive(kernelId)) await rename(home, home + REMOVED).catch(unlessMissing)
    })

  const shortage = (times: number) => shortageAt(scratch, options.freeSpaceFloorBytes, times)

  /** Whether an ended session's home must be removed now: after its retention, or earlier to free space for new sessions. */
  const isDue = async (endedMs: number, nowMs: number) =>
    endedMs <= nowMs && (nowMs - endedMs >= options.scratchRetentionMs || (await shortage(TIGHT)) !== undefined)

  return {
    ...control,
    user: () => homes.user(),
    ownFolder: (path, signal) => homes.ownFolder(path, signal),
    homeQuota: () => homes.quota(),
    createScratch: (kernelId, filesOf) =>
      inTurn(kernelId, async () => {
        await homes.user()
        if (await shortage(1)) {
          await options.onShort?.()
          throw new AppError('disk_full', because('host_disk_short'))
        }
        await control.noteTaken(kernelId, filesOf ?? kernelId)
        if (filesOf !== undefined) await homes.take(filesOf, kernelId)
        await homes.make(kernelId)
      }),
    ownScratch: kernelId => control.forgetTaken(kernelId),
    paths: kernelId => ({
      scratch: homes.pathOf(kernelId),
      control: control.pathOf(kernelId, 'run'),
      etc: control.pathOf(kernelId, 'etc'),
    }),
    discard: (kernelId, fate) => inTurn(kernelId, () => discard(kernelId, fate)),
    async sweep({ isLive, nowMs, complain, signal }) {
      for (const kernelId of await listNames(kernels, KERNEL_DIRECTORY)) {
        await discardUnless(isLive, kernelId).catch(complain)
      }
      const remove = (name: string) =>
        removeTree(join(scratch, name), signal).catch((error: unknown) => {
          if (!signal.aborted) complain(error)
        })
      for (const name of await listNames(scratch, REMOVED_DIRECTORY)) if (!signal.aborted) await remove(name)
      for (const { kernelId, changedMs } of await homes.list()) {
        if (signal.aborted) return
        if (isLive(kernelId)) continue
        if (!(await isDue(changedMs, nowMs))) {
          await homes.handOver(kernelId).catch(complain)
          continue
        }
        await setAside(isLive, kernelId).catch(complain)
        await remove(kernelId + REMOVED)
      }
    },
  }
}
