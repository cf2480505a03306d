import { because, type Because } from '#manager/contract'
import { inodeFloor, sizeText } from './disk-rules.ts'
import { fileSystemOf } from './disk-use.ts'

/**
 * Shortage of room for homes of sessions, in words for admins: fewer bytes or inodes are free than this multiple of the floor.
 * undefined if there is enough room, or if the directory cannot be read.
 */
export async function shortageAt(path: string, floorBytes: number, times = 1): Promise<Because | undefined> {
  const found = await fileSystemOf(path)
  if (!found) return undefined
  const { bytes, inodes } = found.left
  if (bytes < times * floorBytes) {
    return because('agent_disk_short', { path, free: sizeText(bytes), needed: sizeText(floorBytes) })
  }
  const floor = inodeFloor(found.inodesTotal)
  return inodes < times * floor ? because('agent_inodes_short', { path, free: inodes, needed: floor }) : undefined
}

/** The free space of the host, which the agent reports while it is below the floor: no session can start then. */
export interface FreeSpace {
  /** In words for admins; null while there is room. */
  readonly problem: Because | null
  check(): Promise<void>
}

export function createFreeSpace({
  path,
  floorBytes,
  onChange,
}: {
  path: string
  floorBytes: number
  onChange: () => void
}): FreeSpace {
  let problem: Because | null = null
  return {
    get problem() {
      return problem
    },
    async check() {
      const before = problem
      problem = (await shortageAt(path, floorBytes)) ?? null
      // The amounts change all the time; the next regular report has the new ones.
      if ((before === null) !== (problem === null)) onChange()
    },
  }
}
