import { readFile, stat } from 'node:fs/promises'

export interface CachedFile {
  readonly modifiedMs: number
  readonly bytes: Buffer
}

const MAX_BYTES = 64 * 1024 * 1024

/**
 * Caches the contents of files, and reads a file again when it has changed.
 *
 * Threat model: clients that do not read, or hang up, decide how long an answer takes. All clients that request the same file
 * share one buffer, and hold no file descriptor: a descriptor is open only while a file is read, once at a time for each file.
 */
export function createFileCache() {
  const files = new Map<
    string,
    { readonly modifiedMs: number; readonly size: number; readonly bytes: Promise<Buffer> }
  >()

  function load(path: string, modifiedMs: number, size: number): Promise<Buffer> {
    const known = files.get(path)
    if (known?.modifiedMs === modifiedMs && known.size === size) return known.bytes
    const bytes = readFile(path)
    files.delete(path)
    files.set(path, { modifiedMs, size, bytes })
    bytes.catch(() => files.delete(path))
    evict()
    return bytes
  }

  /** Evicts the entries that were loaded first. */
  function evict() {
    let total = 0
    for (const { size } of files.values()) total += size
    for (const [path, { size }] of files) {
      if (total <= MAX_BYTES) return
      files.delete(path)
      total -= size
    }
  }

  return {
    /** @returns undefined if there is no such file. @throws the error of reading an existing file (EMFILE, EACCES) */
    async read(path: string): Promise<CachedFile | undefined> {
      const found = await stat(path).catch(() => undefined)
      if (!found?.isFile()) return undefined
      return { modifiedMs: found.mtimeMs, bytes: await load(path, found.mtimeMs, found.size) }
    },
  }
}
