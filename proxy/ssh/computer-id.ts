import { createHmac, randomUUID } from 'node:crypto'
import { link, mkdir, readlink, rm, writeFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { readIfThere } from '../files.ts'

const MACHINE_ID = '/etc/machine-id'
const PID_NAMESPACE = '/proc/self/ns/pid'

/**
 * A stable id of this computer, independent of its host name, that distinguishes it from others that share the home directory. Linux has
 * such an id; elsewhere we store our own in the system's folder for data of one computer.
 *
 * @param stateFile file for our own id; undefined if no place belongs to one computer alone
 *
 * @param pidNamespace a link that names the process id namespace: containers may share home and machine id, but cannot see each other's
 *   processes
 */
export async function computerId(
  machineIdFile = MACHINE_ID,
  stateFile = defaultStateFile(),
  pidNamespace = PID_NAMESPACE,
): Promise<string> {
  const machineId = (await readIfThere(machineIdFile))?.trim() ?? ''
  const id = /^[0-9a-f]{32}$/.test(machineId) ? machineId : ((await ownId(stateFile)) ?? hostname())
  const namespace = await readlink(pidNamespace).catch(() => '')
  // Hash the id, because other programs may treat it as a secret. See machine-id(5)
  return createHmac('sha256', id).update(`berth ssh kit${namespace}`).digest('hex').slice(0, 16)
}

/** Our own id; if several processes start at the same time, the first creates it. Undefined if it cannot be stored. */
async function ownId(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const read = async () => (await readIfThere(file).catch(() => undefined)) || undefined
  const known = await read()
  if (known) return known
  await create(file).catch(() => undefined)
  return await read()
}

/** Links to a complete file, so that no process reads an empty one, and the first link wins. */
async function create(file: string): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    await writeFile(draft, randomUUID(), { flag: 'wx', mode: 0o600 })
    await link(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Undefined on Linux and similar systems, where several computers may share a home directory. */
function defaultStateFile(): string | undefined {
  const { LOCALAPPDATA } = process.env
  const inHome = (...path: string[]) => join(homedir(), ...path)
  const directories: Partial<Record<NodeJS.Platform, string>> = {
    win32: join(LOCALAPPDATA ?? inHome('AppData', 'Local'), 'Berth'),
    darwin: inHome('Library', 'Application Support', 'Berth'),
  }
  const directory = directories[process.platform]
  return directory === undefined ? undefined : join(directory, 'computer-id')
}
