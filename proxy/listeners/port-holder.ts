import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { posix, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readTcpTables } from '../network/tcp-table.ts'
import { listeningInodes, parseLsof, parseNetstat, parseTasklist, programName } from './port-tables.ts'

export interface PortHolder {
  readonly pid: number
  /** E.g. `node server.js`, or `chrome.exe`; empty if it is not known. */
  readonly name: string
  /** A process of this Berth: this one, or on Linux also another one that runs a file of the same installation. */
  readonly isBerth?: true
}

const TIMEOUT_MS = 3_000
/** The folder of the installation, with a separator at its end. */
const INSTALLATION = fileURLToPath(new URL('../../', import.meta.url))

/** The process that listens on a local TCP port; undefined if this user may not see it, and the message then names only the port. */
export async function findPortHolder(port: number, platform = process.platform): Promise<PortHolder | undefined> {
  try {
    const holder = await holderOn(port, platform)
    return holder?.pid === process.pid ? { ...holder, isBerth: true } : holder
  } catch {
    // There is no such table or program here: the holder stays unknown.
    return undefined
  }
}

async function holderOn(port: number, platform: NodeJS.Platform): Promise<PortHolder | undefined> {
  if (platform === 'linux') return await onLinux(port)
  if (platform === 'win32') return await onWindows(port)
  if (platform !== 'darwin') return undefined
  return parseLsof(await output('/usr/sbin/lsof', ['-nP', `-iTCP:${String(port)}`, '-sTCP:LISTEN', '-Fpc']))
}

async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { timeout: TIMEOUT_MS, windowsHide: true })
  return stdout
}

async function onWindows(port: number): Promise<PortHolder | undefined> {
  const pid = parseNetstat(await output('netstat', ['-ano', '-p', 'TCP']), port)
  if (pid === undefined) return undefined
  const list = await output('tasklist', ['/fi', `PID eq ${String(pid)}`, '/fo', 'csv', '/nh']).catch(() => '')
  return { pid, name: parseTasklist(list, pid) }
}

async function onLinux(port: number): Promise<PortHolder | undefined> {
  const inodes = new Set(listeningInodes((await readTcpTables()) ?? '', port))
  if (inodes.size === 0) return undefined
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || !(await ownsOneOf(pid, inodes))) continue
    const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
    const executable = await readlink(`/proc/${pid}/exe`).catch(() => '')
    const args = (await read('cmdline')).split('\0')
    const name = programName(posix.basename(executable), args)
    // The name of the main thread, which programs choose freely ("MainThread").
    const holder = { pid: Number(pid), name: name || (await read('comm')).trim() }
    return args.some(isOfInstallation) ? { ...holder, isBerth: true } : holder
  }
  return undefined
}

/** Whether a program belongs to the installation itself; programs of npm packages in it do not. */
const isOfInstallation = (path: string): boolean =>
  path.startsWith(INSTALLATION) && !path.includes(`${sep}node_modules${sep}`)

async function ownsOneOf(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => [])
  const targets = await Promise.all(descriptors.map(fd => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')))
  return targets.some(target => target.startsWith('socket:[') && inodes.has(target.slice(8, -1)))
}
