import { readFile, stat } from 'node:fs/promises'
import { type RunningKernel } from '../running-kernel.ts'
import { deletedUse } from './deleted-files.ts'
import { type Amount } from './disk-rules.ts'
import { type FileSystem, fileSystemOf, writableLayer } from './disk-use.ts'
import { foldersBesideHome } from './session-folders.ts'

/** A place to which a session writes. */
export interface Area {
  /**
   * Areas of the kinds `folder` and `deleted` (deleted files that are still open) count when a disk is full and the agent looks for the
   * session that fills it. They do not count towards limits of the session.
   */
  readonly kind: 'home' | 'outside' | 'folder' | 'deleted'
  /** For deleted files: any directory on their file system. */
  readonly path: string
  readonly device: number
  /** Undefined before the first measurement. */
  before: Amount | undefined
  now: Amount
}

/** Nothing at all. */
export const NONE: Amount = { bytes: 0, inodes: 0 }

/** The areas of a session that do not change while it runs. @param home directory of its home on this host */
export async function areasOf(kernel: RunningKernel, home: string): Promise<Area[]> {
  const layer = await writableLayer(kernel.pid)
  const paths = [
    { kind: 'home' as const, path: home },
    ...(layer === undefined ? [] : [{ kind: 'outside' as const, path: layer }]),
    // Volumes of the image are neither in the home nor in the layer.
    ...(kernel.volumes ?? []).map(path => ({ kind: 'outside' as const, path })),
  ]
  const areas = await Promise.all(
    paths.map(async area => {
      const device = (await fileSystemOf(area.path))?.device ?? -1
      return { ...area, device, before: undefined, now: NONE }
    }),
  )
  const first = areas.filter(({ device }, index) => areas.findIndex(area => area.device === device) === index)
  return [...areas, ...first.map(area => ({ ...area, kind: 'deleted' as const }))]
}

/**
 * Adds the folders that the session has now. A folder that was taken out stays in the list while the disk is full: the session may have
 * filled it.
 */
export async function withFolders(areas: readonly Area[], pid: number, isShort: boolean): Promise<Area[]> {
  const home = areas.find(({ kind }) => kind === 'home')
  if (!home || pid === 0) return [...areas]
  const [inside, own] = await Promise.all([mountsOf(pid), mountsOf('self')])
  const found = foldersBesideHome(inside, own)
  const kept = areas.filter(({ kind, path }) => kind !== 'folder' || isShort || found.includes(path))
  const added = found.filter(path => !kept.some(area => area.kind === 'folder' && area.path === path))
  const { device } = home
  return [...kept, ...added.map(path => ({ kind: 'folder' as const, path, device, before: undefined, now: NONE }))]
}

/** Space of deleted files, by the device of areas. @param processes those of the session */
export async function deletedByArea(
  pid: number,
  areas: readonly Area[],
  processes: readonly number[],
): Promise<Map<number, Amount>> {
  const layer = areas.find(({ kind }) => kind === 'outside')
  const devices = new Map(areas.map(({ device }) => [device, device]))
  // stat(2) shows the number of the overlay for files of the layer, and numbers of their own for subvolumes.
  if (layer) devices.set((await deviceOf(`/proc/${pid}/root`)) ?? -1, layer.device)
  for (const { kind, path, device } of areas) {
    if (kind === 'folder') devices.set((await deviceOf(path)) ?? -1, device)
  }
  const uses = new Map<number, Amount>()
  for (const [device, use] of await deletedUse(processes)) {
    const area = devices.get(device)
    if (area !== undefined) uses.set(area, sum([uses.get(area) ?? NONE, use]))
  }
  return uses
}

/** The file systems of areas. */
export async function fileSystems(areas: readonly Area[]): Promise<FileSystem[]> {
  const paths = new Map(areas.filter(({ kind }) => kind !== 'folder').map(({ device, path }) => [device, path]))
  const found = await Promise.all([...paths.values()].map(fileSystemOf))
  return found.filter(system => system !== undefined)
}

/** The sum of all amounts. */
export function sum(amounts: readonly Amount[]): Amount {
  return {
    bytes: amounts.reduce((total, { bytes }) => total + bytes, 0),
    inodes: amounts.reduce((total, { inodes }) => total + inodes, 0),
  }
}

const mountsOf = (pid: number | 'self') => readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')

const deviceOf = (path: string) =>
  stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  )
