import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { access, mkdir, rmdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { AppError, because } from '#manager/contract'
import { type SshKit, type TunnelId } from '#proxy/contract'
import { type Command, configArguments } from './program-table.ts'

/** Mounts the files of sessions as folders or drives of this computer. */
export interface Drives {
  /** Shows the drive of a session; mounts it first if necessary. @throws AppError `unavailable` */
  open(sshfs: string, kit: SshKit): Promise<void>
  /** Call when a tunnel is closed: unmounts the drive that used it, which would hang. */
  tunnelClosed(id: TunnelId): Promise<void>
  /** Unmounts all drives. */
  close(): Promise<void>
}

export interface DrivesDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Folder of the user in which drives appear; on Windows they get a letter. */
  readonly folder: string
  /** Shows a folder in the file manager. */
  readonly show: (folder: string) => void
}

interface Drive {
  readonly place: string
  readonly child: ChildProcess
}

interface Entry {
  readonly drive: Promise<Drive>
  readonly giveUp: AbortController
}

const run = promisify(execFile)
const MOUNT_MS = 30_000
const END_MS = 5_000
const LETTERS = 'ZYXWVUTSRQPONMLKJIHGFED'.split('').map(letter => `${letter}:`)

/**
 * Mounts the home directory of sessions by sshfs, or SSHFS-Win on Windows. Each drive is a process that runs as long as the drive is there.
 *
 * Threat model: what is below a drive comes from a container that runs other people's code. Links are followed in the session, so that
 * none leads a program to a file of this computer (current versions of sshfs also refuse links that a changed server in the container
 * answers), and nothing there runs by itself: no set-user-id, no devices, no programs.
 */
export function createDrives({ platform, env, folder, show }: DrivesDeps): Drives {
  const drives = new Map<TunnelId, Entry>()

  async function mount(sshfs: string, kit: SshKit, givenUp: AbortSignal): Promise<Drive> {
    const place = platform === 'win32' ? await freeLetter() : path.join(folder, kit.hostAlias)
    if (platform !== 'win32') {
      await removeLeftOver(place)
      await mkdir(place, { recursive: true, mode: 0o700 })
    }
    const { file, args } = driveCommand(sshfs, kit, { place, platform })
    // SSHFS-Win has its own ssh in the same folder.
    const PATH = platform === 'win32' ? `${path.win32.dirname(sshfs)};${env['PATH'] ?? ''}` : env['PATH']
    const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...env, PATH } })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = `${said}${text}`.slice(-2_000)))
    const ended = new Promise<string>(done => {
      child.once('error', error => done(error.message))
      child.once('exit', code => done(said.trim().split('\n').at(-1) || `sshfs ended with code ${String(code)}`))
    })
    const signal = AbortSignal.any([givenUp, AbortSignal.timeout(MOUNT_MS)])
    let why: string | undefined
    void ended.then(text => (why = text))
    while (!(await isMounted(place))) {
      if (signal.aborted) why ??= 'it was not there in time'
      if (why !== undefined) {
        await end({ place, child })
        throw new AppError('unavailable', because('drive_not_made', { text: why }))
      }
      await delay(50)
    }
    return { place, child }
  }

  async function isMounted(place: string): Promise<boolean> {
    if (platform === 'win32') return isThere(`${place}\\`)
    const [above, here] = await Promise.all([stat(path.dirname(place)), stat(place).catch(() => undefined)])
    return here !== undefined && here.dev !== above.dev
  }

  async function freeLetter(): Promise<string> {
    for (const letter of LETTERS) if (!(await isThere(`${letter}\\`))) return letter
    throw new AppError('unavailable', because('drive_no_letter'))
  }

  /** A Berth that was killed leaves its drive mounted, and nothing answers there. */
  async function removeLeftOver(place: string): Promise<void> {
    const ways =
      platform === 'darwin'
        ? [['/sbin/umount', '-f']]
        : [
            ['fusermount3', '-uz'],
            ['fusermount', '-uz'],
          ]
    for (const [file = '', ...args] of ways) {
      const isGone = await run(file, [...args, place], { timeout: END_MS }).then(
        () => true,
        () => false,
      )
      if (isGone) return
    }
  }

  async function removeEmpty(place: string): Promise<void> {
    // Fails if the folder is not empty, which is fine: then it is a folder of the user.
    if (platform !== 'win32') await rmdir(place).catch(() => undefined)
  }

  async function end({ place, child }: Drive): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      const isLate = await Promise.race([exited.then(() => false), delay(END_MS, true, { ref: false })])
      if (isLate) {
        child.kill('SIGKILL')
        await exited
      }
    }
    if (platform !== 'win32' && (await isMounted(place).catch(() => true))) await removeLeftOver(place)
    await removeEmpty(place)
  }

  async function remove(id: TunnelId): Promise<void> {
    const entry = drives.get(id)
    drives.delete(id)
    entry?.giveUp.abort()
    const drive = await entry?.drive.catch(() => undefined)
    if (drive) await end(drive)
  }

  function made(sshfs: string, kit: SshKit): Promise<Drive> {
    const { id } = kit.tunnel
    const there = drives.get(id)
    if (there) return there.drive
    const giveUp = new AbortController()
    const entry = { giveUp, drive: mount(sshfs, kit, giveUp.signal) }
    drives.set(id, entry)
    const forget = () => void (drives.get(id) === entry && remove(id))
    // The user has unmounted it, or the session is gone.
    entry.drive.then(({ child }) => void child.once('exit', forget), forget)
    return entry.drive
  }

  return {
    async open(sshfs, kit) {
      show((await made(sshfs, kit)).place)
    },
    tunnelClosed: remove,
    async close() {
      await Promise.all([...drives.keys()].map(remove))
    },
  }
}

/** Command of a drive's process. It stays in the foreground, so that the drive ends with it. */
export function driveCommand(
  sshfs: string,
  kit: Pick<SshKit, 'hostAlias' | 'identityFile'>,
  { place, platform }: { readonly place: string; readonly platform: NodeJS.Platform },
): Command {
  const everywhere = ['reconnect', 'follow_symlinks', 'idmap=user']
  const label = `${platform === 'linux' ? 'fsname' : 'volname'}=${kit.hostAlias}`
  // Windows has no numeric user ids: the user who mounts owns all files. It has none of these limits either.
  const own = platform === 'win32' ? ['uid=-1', 'gid=-1'] : ['nosuid', 'nodev', 'noexec']
  const options = [...everywhere, ...own, label].join(',')
  return {
    file: sshfs,
    args: ['-f', ...configArguments(kit), '-o', options, `${kit.hostAlias}:/home/work`, place],
  }
}

async function isThere(place: string): Promise<boolean> {
  return access(place).then(
    () => true,
    () => false,
  )
}
