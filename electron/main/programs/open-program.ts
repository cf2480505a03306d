import { execFile, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#manager/contract'
import { type Program, type SshKit, type TunnelId } from '#proxy/contract'
import { candidates, commandFor, type Command, type Found } from './program-table.ts'

export interface Programs {
  /** Programs of this computer that can open a session. */
  list(): Promise<readonly Program[]>
  /** @throws AppError `unavailable` where the program is missing or does not start */
  open(program: Program, kit: SshKit): Promise<void>
  /** The tunnel is closed: takes away the drive that used it, which would hang. */
  tunnelClosed(id: TunnelId): Promise<void>
  /** Takes all drives away. */
  close(): Promise<void>
}

export interface ProgramsDeps {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  /** Drives appear in this folder of the user. */
  readonly drives: string
  /** Shows a folder in the file manager. */
  readonly show: (folder: string) => void
  readonly log: { warn(detail: object, message: string): void }
}

const run = promisify(execFile)

/**
 * Opens sessions in programs of this computer.
 *
 * Threat model: what the page sends chooses among the programs of the table, and names a session; file, arguments and paths are made
 * here (`program-table.ts`), and no shell reads them. The preload script passes the call on only while the user has just clicked or
 * typed, so that text of a container that runs as a script in the page starts nothing by itself.
 */
export function createPrograms({ platform, env, drives, show, log }: ProgramsDeps): Programs {
  /** Folders of mounted drives by their tunnel. */
  const mounted = new Map<TunnelId, string>()

  async function find(): Promise<readonly Found[]> {
    const found = new Map<Program, Found>()
    for (const one of candidates(platform, env)) {
      if (found.has(one.program)) continue
      const exists = await access(one.file, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (exists) found.set(one.program, one)
    }
    return [...found.values()]
  }

  async function mount(command: Command, id: TunnelId, folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (!(await isMounted(folder))) await untilItEnds(command)
    mounted.set(id, folder)
    show(folder)
  }

  async function unmount(id: TunnelId): Promise<void> {
    const folder = mounted.get(id)
    if (folder === undefined) return
    mounted.delete(id)
    const [file, ...args] = platform === 'linux' ? ['fusermount', '-u', '-z', folder] : ['/sbin/umount', folder]
    await run(file, args, { timeout: 10_000 }).catch((error: unknown) => {
      log.warn({ folder, error: String(error) }, 'a drive could not be taken away')
    })
  }

  return {
    list: async () => (await find()).map(({ program }) => program),
    async open(program, kit) {
      const found = (await find()).find(one => one.program === program)
      const folder = path.join(drives, kit.hostAlias)
      const command = found && commandFor(found, { ...kit, port: kit.tunnel.port }, folder)
      if (!found) throw new AppError('unavailable', { why: 'This program was not found on this computer.' })
      if (!command)
        throw new AppError('unavailable', {
          why: 'This program finds the session only by your SSH configuration. Switch that on in the preferences.',
        })
      if (program === 'mount') await mount(command, kit.tunnel.id, folder)
      else await start(command)
    },
    tunnelClosed: unmount,
    async close() {
      await Promise.all([...mounted.keys()].map(unmount))
    },
  }
}

const MOUNT_MS = 30_000

/** Runs a program that ends when its drive is there; the processes that it leaves behind get no pipe to us, which would break with our end. */
async function untilItEnds({ file, args }: Command): Promise<void> {
  const child = spawn(file, [...args], { stdio: 'ignore', timeout: MOUNT_MS })
  const why = await new Promise<string | undefined>(done => {
    child.once('error', error => done(error.message))
    child.once('exit', code => done(code === 0 ? undefined : `${path.basename(file)} ended with code ${code}.`))
  })
  if (why !== undefined) throw new AppError('unavailable', { why: `The drive was not made: ${why}` })
}

/** Starts a program that stays when the app ends. */
async function start({ file, args }: Command): Promise<void> {
  const child = spawn(file, [...args], { detached: true, stdio: 'ignore' })
  await new Promise<void>((started, failed) => {
    child.once('spawn', () => started())
    child.once('error', error =>
      failed(new AppError('unavailable', { why: `${path.basename(file)} did not start: ${error.message}` })),
    )
  })
  child.unref()
}

/** Linux tells all mounts; elsewhere a second mount at the same folder is refused by the program itself. */
async function isMounted(folder: string): Promise<boolean> {
  const table = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  // Spaces and the like are octal escapes there.
  const escaped = folder.replaceAll(/[ \t\n\\]/g, one => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`)
  return table.split('\n').some(line => line.split(' ')[1] === escaped)
}
