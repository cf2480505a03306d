import { type Directory } from '../storage/beneath.ts'
import { openPlace } from './places.ts'

/**
 * Room that becomes free when a file takes this place: the size of the regular file that is there. Nothing for one that has other
 * names too, and for what cannot be looked up: putting a file there fails for a reason of its own.
 */
export async function replacedSize(top: Directory, path: string): Promise<number> {
  try {
    await using place = await openPlace(top, path)
    const { kind, size, allocated, links } = await place.directory.lstat(place.name)
    return kind === 'file' && links === 1 ? Math.min(size, Math.max(allocated, 0)) : 0
  } catch {
    return 0
  }
}
