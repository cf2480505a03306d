import { opendir } from 'node:fs/promises'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Bytes on disk below a directory, like `du`. Does not follow links.
 *
 * @returns null if aborted, or if there are more entries than `limit`: then counting costs more than the figure is worth
 */
export async function directorySize(
  path: string,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<number | null> {
  let bytes = 0
  let entries = 0
  const open = [path]
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    const listing = await opendir(directory).catch(() => undefined)
    if (!listing) continue
    for await (const entry of listing) {
      if (++entries > limit || signal.aborted) return null
      const child = join(directory, entry.name)
      if (entry.isDirectory()) open.push(child)
      // Blocks are 512 bytes, whatever the file system's block size: stat(2).
      bytes += (await lstat(child).catch(() => undefined))?.blocks ?? 0
    }
  }
  return bytes * 512
}
