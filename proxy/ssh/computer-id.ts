import { createHmac, randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { readIfThere } from '../files.ts'

const MACHINE_ID = '/etc/machine-id'

/**
 * One word that tells this computer from others that share its home, and stays when its host name changes. Linux has one;
 * elsewhere we keep our own, where the system keeps what belongs to one computer.
 */
export async function computerId(machineIdFile = MACHINE_ID, stateFile = defaultStateFile()): Promise<string> {
  const machineId = (await readIfThere(machineIdFile))?.trim() ?? ''
  // Not the thing itself: others may take it for a secret. See machine-id(5)
  if (/^[0-9a-f]{32}$/.test(machineId)) return shortHash(machineId)
  const isKept = await keepOwnId(stateFile).then(
    () => true,
    () => false,
  )
  return shortHash((isKept && (await readIfThere(stateFile))) || hostname())
}

/** Of several processes that begin at the same time the first one's counts. */
async function keepOwnId(file: string) {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(file, randomUUID(), { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  })
}

function defaultStateFile(): string {
  const { LOCALAPPDATA, XDG_STATE_HOME } = process.env
  const inHome = (...path: string[]) => join(homedir(), ...path)
  const directories: Partial<Record<NodeJS.Platform, string>> = {
    win32: join(LOCALAPPDATA ?? inHome('AppData', 'Local'), 'Berth'),
    darwin: inHome('Library', 'Application Support', 'Berth'),
  }
  const directory = directories[process.platform] ?? join(XDG_STATE_HOME ?? inHome('.local', 'state'), 'berth')
  return join(directory, 'computer-id')
}

const shortHash = (id: string) => createHmac('sha256', id).update('berth ssh kit').digest('hex').slice(0, 16)
