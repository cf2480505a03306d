import { readFile, stat } from 'node:fs/promises'

export interface CachedFile {
  readonly modifiedMs: number
  readonly bytes: Buffer
}

const MAX_BYTES = 64 * 1024 * 1024

/**
 * The contents of files, read once and again when they have changed.
 *
 * Threat model: clients that do not read, or hang up, decide how long an answer takes. They share a buffer with everybody
 * who asks for the same file, and hold no file descriptor: a descriptor is open only while a file is read, once at a time
 * for each file.
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

  /** Drops what was loaded first. */
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
    /** @returns undefined where there is no such file. @throws what reading a file that is there throws (EMFILE, EACCES) */
    async read(path: string): Promise<CachedFile | undefined> {
      const found = await stat(path).catch(() => undefined)
      if (!found?.isFile()) return undefined
      return { modifiedMs: found.mtimeMs, bytes: await load(path, found.mtimeMs, found.size) }
    },
  }
}
