import { because, type Because } from '#manager/contract'
import { inodeFloor, sizeText } from './disk-rules.ts'
import { fileSystemOf } from './disk-use.ts'

/**
 * Shortage of space for homes of sessions, as text for admins: fewer bytes or inodes are free than this multiple of the floor. undefined if
 * there is enough space, or if the directory cannot be read.
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
  /** Text for admins; null while there is enough space. */
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
      // Only a change of state is reported at once; the amounts change all the time, and the next regular report has them.
      if ((before === null) !== (problem === null)) onChange()
    },
  }
}
