import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { isCode } from './places.ts'

/** From this many states on, they are read in the storage's thread; for fewer, starting it would take longer. */
const MANY = 64

/**
 * States of entries of a directory; undefined for those that were deleted meanwhile. @throws AppError of the first entry whose state cannot
 * be read for another reason
 */
export async function statesOf(
  directory: Directory,
  names: readonly string[],
): Promise<readonly (FileState | undefined)[]> {
  const known = names.length < MANY ? [] : await directory.lstatMany(names)
  return await Promise.all(
    names.map(async (name, index) => {
      try {
        return known[index] ?? (await directory.lstat(name))
      } catch (error) {
        if (isCode(error, 'file_not_found')) return undefined
        throw error
      }
    }),
  )
}
