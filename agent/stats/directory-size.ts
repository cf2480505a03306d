import { treeBelow } from '../tree-below.ts'

/**
 * Bytes on disk below a directory, like `du`. Does not follow links.
 *
 * @returns null if aborted, if the tree cannot be read, or if it has more entries than `limit`, which would be too expensive to count
 */
export async function directorySize(
  path: string,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<number | null> {
  let bytes = 0
  let entries = 0
  try {
    for await (const { blocks } of treeBelow(path)) {
      if (++entries > limit || signal.aborted) return null
      // Blocks are 512 bytes, whatever the file system's block size: stat(2).
      bytes += blocks
    }
  } catch {
    return null // The tree cannot be read, e.g. because of too many levels of folders.
  }
  return bytes * 512
}
