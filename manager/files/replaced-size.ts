import { type Directory } from '../storage/beneath.ts'
import { openPlace } from './places.ts'

/**
 * The regular file that is at this place, with the room that becomes free when another one takes it. Undefined for one that has other names
 * too, and for what cannot be looked up: putting a file there fails for a reason of its own.
 */
export async function replacedFile(
  top: Directory,
  path: string,
): Promise<{ readonly inode: bigint; readonly bytes: number; readonly changedNs: bigint } | undefined> {
  try {
    await using place = await openPlace(top, path)
    const { kind, size, allocated, links, inode, changedNs } = await place.directory.lstat(place.name)
    const isAlone = kind === 'file' && links === 1
    return isAlone ? { inode, bytes: Math.min(size, Math.max(allocated, 0)), changedNs } : undefined
  } catch {
    return undefined
  }
}

/** Room that becomes free when a file takes this place. */
export async function replacedSize(top: Directory, path: string): Promise<number> {
  return (await replacedFile(top, path))?.bytes ?? 0
}
