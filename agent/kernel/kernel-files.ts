import { chmod, lutimes, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createKeyedMutex } from '#base/mutex'
import { KernelSsh } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { type DiskLimits } from '../limits/disk-rules.ts'
import { shortageAt } from '../limits/free-space.ts'
import { type HomeQuota } from '../limits/home-quota.ts'
import { groupFile, passwdFile, SHELL } from './account-files.ts'
import { createHomes, KERNEL_DIRECTORY, listNames } from './homes.ts'
import { hostAccounts } from './host-accounts.ts'
import { createKeyPair, type KeyPair } from './key-pair.ts'
import { environmentFile, PROFILE } from './login-files.ts'
import { putFile } from './put-file.ts'
import { unlessFull } from '../unless-full.ts'
import { removeTree } from './remove-tree.ts'
import { type SessionUser } from '../docker/container-config.ts'
import { type ImageAccounts, NO_ACCOUNTS } from '../images/image-accounts.ts'
import { NOTES, SCRIPT } from '../docker/start-script.ts'

/**
 * The files of a kernel, below DATA/agent:
 *
 *     scratch/<kernel>/            its home, mounted at /home/work; removed some time after the end, in the background, as
 *     scratch/<kernel>.removed/
 *     kernels/<kernel>/run/        mounted read-only at /run/berth: host key, authorized_keys, environment, start-up script
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
export interface KernelFiles {
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
  /** Creates the key pairs and all mounted files, except the home. */
  createControl(kernelId: string, authorizedKeys: readonly string[]): Promise<KernelSsh>
  /** Adds the accounts of the image to those of the session. Call it before the container starts, after `createControl`. */
  writeAccounts(kernelId: string, image: ImageAccounts): Promise<void>
  writeEnvironment(kernelId: string, environment: readonly string[]): Promise<void>
  /**
   * Writes the files that the main process reads first: notes for the log, and the owner's start-up script. @returns whether there are any
   */
  writeStart(kernelId: string, start: { readonly notes: readonly string[]; readonly script: string }): Promise<boolean>
  hasStartScript(kernelId: string): Promise<boolean>
  readSsh(kernelId: string): Promise<KernelSsh | undefined>
  /** Creates new key pairs for a kernel that has lost its own; saved once `place` has put them where its server finds them. */
  renewSsh(kernelId: string, place: (hostKey: string, authorizedKey: string) => Promise<void>): Promise<KernelSsh>
  isSshRenewed(kernelId: string): Promise<boolean>
  readSecrets(kernelId: string): Promise<Record<string, string>>
  writeSecrets(kernelId: string, secrets: Readonly<Record<string, string>>): Promise<void>
  paths(kernelId: string): { readonly scratch: string; readonly control: string; readonly etc: string }
  /**
   * Removes the control files, and marks the home as ended now or removes it too. A kernel that has not started leaves nothing:
   * a home that it has taken over goes back, its own home is removed.
   *
   * @param options `keepMs`: time for which the home is kept at least, also when space is short
   */
  discard(kernelId: string, options: DiscardOptions): Promise<void>
  /** Records for the programs of a kernel when its session will be interrupted (ISO 8601); null: never. @returns whether this changed */
  setInterruption(kernelId: string, at: string | null): Promise<boolean>
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
/** In the control directory, /run/berth. */
const INTERRUPTION = 'interruption'
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
  const asRoot = process.getuid?.() === 0
  // A start of a kernel and the removal of remains of its earlier start take turns.
  const inTurn = createKeyedMutex()

  const kernelPath = (kernelId: string, ...rest: string[]) => join(kernels, kernelId, ...rest)
  const filesOfPath = (kernelId: string) => kernelPath(kernelId, 'files-of')

  /** Creates a directory owned by the agent. @throws `disk_full` */
  async function makeControl(...path: string[]): Promise<string> {
    const directory = join(kernels, ...path)
    try {
      await mkdir(kernels, { recursive: true, mode: 0o700 })
      await mkdir(directory, { recursive: true })
    } catch (error) {
      throw unlessFull(error, directory)
    }
    return directory
  }

  /** @param owner applied only if the agent may give files away */
  const put = (path: string, content: string, mode: number, owner?: SessionUser) =>
    putFile(path, content, { mode, owner: asRoot ? owner : undefined })

  async function putAccounts(kernelId: string, image: ImageAccounts): Promise<void> {
    const user = await homes.user()
    await Promise.all([
      put(kernelPath(kernelId, 'etc', 'passwd'), passwdFile(user, image), 0o644),
      put(kernelPath(kernelId, 'etc', 'group'), groupFile(user, image), 0o644),
    ])
  }

  async function discard(kernelId: string, { scratch: fate, keepMs = 0 }: DiscardOptions): Promise<void> {
    const home = join(scratch, kernelId)
    const filesOf = await takenFrom(kernelId)
    const kept = join(scratch, filesOf ?? kernelId)
    // A taken-over home goes back before the control files are removed: they record whose home it is.
    if (kept !== home) await rename(home, kept).catch(unlessMissing)
    await rm(kernelPath(kernelId), { recursive: true, force: true })
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

  /** The kernel from which this one has its home until it has started: another kernel, or itself. */
  async function takenFrom(kernelId: string): Promise<string | undefined> {
    const filesOf = await readFile(filesOfPath(kernelId), 'utf8').catch(unlessMissing)
    // After a loss of power the file may hold anything.
    return filesOf !== undefined && KERNEL_DIRECTORY.test(filesOf) ? filesOf : undefined
  }

  const shortage = (times: number) => shortageAt(scratch, options.freeSpaceFloorBytes, times)

  /** Whether an ended session's home must be removed now: after its retention, or earlier to free space for new sessions. */
  const isDue = async (endedMs: number, nowMs: number) =>
    endedMs <= nowMs && (nowMs - endedMs >= options.scratchRetentionMs || (await shortage(TIGHT)) !== undefined)

  return {
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
        await makeControl(kernelId)
        await put(filesOfPath(kernelId), filesOf ?? kernelId, 0o600)
        if (filesOf !== undefined) await homes.take(filesOf, kernelId)
        await homes.make(kernelId)
      }),
    ownScratch: kernelId => rm(filesOfPath(kernelId), { force: true }),
    createControl: (kernelId, authorizedKeys) =>
      inTurn(kernelId, async () => {
        const to = await homes.user()
        const { host, login, ssh } = await makeKeys(kernelId)
        const [control, etc] = await Promise.all([makeControl(kernelId, 'run'), makeControl(kernelId, 'etc')])
        await Promise.all([control, etc].map(path => chmod(path, 0o755)))
        const keys = [login.public, ...authorizedKeys.map(key => key.trim()).filter(key => /^[^\r\n]+$/.test(key))]
        await Promise.all([
          put(kernelPath(kernelId, 'ssh.json'), JSON.stringify(ssh), 0o600),
          put(join(control, 'ssh_host_ed25519_key'), host.private, 0o600, to),
          put(join(control, 'authorized_keys'), `${keys.join('\n')}\n`, 0o644),
          putAccounts(kernelId, NO_ACCOUNTS),
          put(join(etc, 'shells'), `${SHELL}\n/bin/sh\n/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n`, 0o644),
          put(join(etc, 'profile.sh'), PROFILE, 0o644),
        ])
        return ssh
      }),
    writeAccounts: putAccounts,
    async writeEnvironment(kernelId, environment) {
      const file = kernelPath(kernelId, 'run', 'environment')
      await put(file, environmentFile(environment), 0o600, await homes.user())
      const ssh = KernelSsh.parse(JSON.parse(await readFile(kernelPath(kernelId, 'ssh.json'), 'utf8')))
      await put(join(scratch, kernelId, 'id_container'), ssh.privateKey, 0o600, await homes.user())
    },
    async writeStart(kernelId, { notes, script }) {
      const owner = await homes.user()
      const write = (name: string, text: string) => put(kernelPath(kernelId, 'run', name), text, 0o600, owner)
      if (notes.length > 0) await write(NOTES, notes.map(note => `${note}\n`).join(''))
      if (script !== '') await write(SCRIPT, script)
      return notes.length > 0 || script !== ''
    },
    hasStartScript: async kernelId =>
      (await stat(kernelPath(kernelId, 'run', SCRIPT)).catch(unlessMissing)) !== undefined,
    async readSsh(kernelId) {
      const text = await readFile(kernelPath(kernelId, 'ssh.json'), 'utf8').catch(unlessMissing)
      return text === undefined ? undefined : KernelSsh.parse(JSON.parse(text))
    },
    async renewSsh(kernelId, place) {
      const { host, ssh } = await makeKeys(kernelId)
      await makeControl(kernelId)
      await place(host.private, ssh.publicKey)
      await put(kernelPath(kernelId, 'renewed'), '', 0o600)
      // Written last: if the agent stops earlier, all these steps are repeated.
      await put(kernelPath(kernelId, 'ssh.json'), JSON.stringify(ssh), 0o600)
      return ssh
    },
    isSshRenewed: async kernelId =>
      (await readFile(kernelPath(kernelId, 'renewed')).catch(unlessMissing)) !== undefined,
    async readSecrets(kernelId) {
      const text = await readFile(kernelPath(kernelId, 'secrets.json'), 'utf8').catch(() => '{}')
      const secrets: unknown = JSON.parse(text)
      if (typeof secrets !== 'object' || secrets === null) return {}
      return Object.fromEntries(
        Object.entries(secrets).flatMap(([app, secret]) => (typeof secret === 'string' ? [[app, secret]] : [])),
      )
    },
    async writeSecrets(kernelId, secrets) {
      // The directory may be lost with an earlier data directory, if this agent has replaced another one.
      await makeControl(kernelId)
      await put(kernelPath(kernelId, 'secrets.json'), JSON.stringify(secrets), 0o600)
    },
    paths: kernelId => ({
      scratch: homes.pathOf(kernelId),
      control: kernelPath(kernelId, 'run'),
      etc: kernelPath(kernelId, 'etc'),
    }),
    discard: (kernelId, fate) => inTurn(kernelId, () => discard(kernelId, fate)),
    async setInterruption(kernelId, at) {
      const path = kernelPath(kernelId, 'run', INTERRUPTION)
      const known = (await readFile(path, 'utf8').catch(unlessMissing))?.trim() ?? null
      if (known === at) return false
      if (at === null) await rm(path, { force: true })
      else await put(path, `${at}\n`, 0o644)
      return true
    },
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

async function makeKeys(kernelId: string): Promise<{ host: KeyPair; login: KeyPair; ssh: KernelSsh }> {
  const [host, login] = await Promise.all([createKeyPair(`berth ${kernelId}`), createKeyPair('id_container')])
  const ssh = { user: 'work', hostKey: host.public, privateKey: login.private, publicKey: login.public }
  return { host, login, ssh }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
}
