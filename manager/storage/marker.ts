import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { UUID } from '#manager/contract'

/** File at the top of a storage that holds its UUID. */
export const MARKER = '.berth-storage'
/** A share whose server is gone answers nothing, for minutes or for ever. */
const ANSWER_MS = 3_000

/** What was read: a UUID, undefined where there is no marker, or that nothing answered. */
export type MarkerRead = { readonly answered: true; readonly marker: string | undefined } | { readonly answered: false }
export type MarkerReader = (path: string) => Promise<MarkerRead>

/**
 * Reads markers. A file system that does not answer holds a thread of this process, so a path is read once at a time, and
 * whoever asks meanwhile waits for the same answer.
 */
export function createMarkerReader(): MarkerReader {
  const reading = new Map<string, Promise<string | undefined>>()
  return async path => {
    let answer = reading.get(path)
    if (!answer) {
      answer = readMarker(path).finally(() => reading.delete(path))
      reading.set(path, answer)
    }
    const read = answer.then((marker): MarkerRead => ({ answered: true, marker }))
    return Promise.race([read, delay<MarkerRead>(ANSWER_MS, { answered: false }, { ref: false })])
  }
}

async function readMarker(path: string): Promise<string | undefined> {
  const file = await open(join(path, MARKER), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
    const text = buffer.toString('utf8', 0, bytesRead).trim()
    return UUID.test(text) ? text : undefined
  } finally {
    await file.close()
  }
}

/** Makes an empty directory a storage. @returns undefined if the directory does not exist or is not empty */
export async function writeMarker(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (!found?.isDirectory()) return undefined
  const names = await readdir(path)
  // A file system of its own may hold `lost+found`.
  if (names.some(name => name !== 'lost+found' && !name.startsWith(MARKER))) return readMarker(path)
  const marker = randomUUID()
  const draft = join(path, `${MARKER}.${marker}`)
  try {
    await writeFile(draft, `${marker}\n`, { flag: 'wx', mode: 0o644, flush: true })
    // The marker appears whole or not at all; if another manager was faster, its marker stays.
    await link(draft, join(path, MARKER))
    return marker
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return await readMarker(path)
  } finally {
    await rm(draft, { force: true })
  }
}
