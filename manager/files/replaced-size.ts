import { type Amount, amount, NOTHING } from '../folders/size-rules.ts'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { openPlace } from './places.ts'
import { passOver, walk } from './walk.ts'

/** A name in an open directory. */
export interface Spot {
  readonly directory: Directory
  readonly name: string
}

/** Space that is freed with a regular file; none for a file that has other names too. */
const spaceOf = ({ kind, size, allocated, links }: FileState): number =>
  kind === 'file' && links === 1 ? Math.min(size, Math.max(allocated, 0)) : 0

/**
 * The regular file at this place, with the space that is freed when another file replaces it. Undefined for a file that has other names
 * too, and if it cannot be looked up: putting a file there then fails with its own error.
 */
export async function replacedFile(
  top: Directory,
  path: string,
): Promise<{ readonly inode: bigint; readonly bytes: number; readonly changedNs: bigint } | undefined> {
  try {
    await using place = await openPlace(top, path)
    const state = await place.directory.lstat(place.name)
    const { kind, links, inode, changedNs } = state
    return kind === 'file' && links === 1 ? { inode, bytes: spaceOf(state), changedNs } : undefined
  } catch {
    return undefined
  }
}

/** Space that is freed when a file replaces the one at this place. */
export async function replacedSize(top: Directory, path: string): Promise<number> {
  return (await replacedFile(top, path))?.bytes ?? 0
}

/** Space that is freed when the entry is deleted with everything below it. @throws the reason of the signal */
export async function replacedSpace({ directory, name }: Spot, signal: AbortSignal): Promise<Amount> {
  const state = await directory.lstat(name).catch(passOver)
  if (!state) return NOTHING
  let { bytes, files } = amount(spaceOf(state), 1)
  if (state.kind !== 'directory') return { bytes, files }
  await using entered = await directory.enter(name).catch(passOver)
  if (!entered) return { bytes, files }
  for await (const found of walk(entered, signal, () => undefined)) {
    files++
    if (found.kind !== 'file') continue
    const below = await found.directory.lstat(found.name).catch(passOver)
    if (below) bytes += spaceOf(below)
  }
  return { bytes, files }
}
