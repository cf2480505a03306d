import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, lstat, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { UUID } from '#base/shapes'
import { isAppError } from '#manager/contract'
import { type Directory } from './beneath.ts'
import { type StorageCalls } from './calls.ts'

/** File at the top of a storage that holds its UUID. */
export const MARKER = '.berth-storage'
/** A share whose server is down does not answer for minutes, or ever. */
const ANSWER_MS = 3_000

/** Result of a read: a UUID, undefined if there is no marker, or the fact that the storage did not answer. */
export type MarkerRead = { readonly answered: true; readonly marker: string | undefined } | { readonly answered: false }
export type MarkerReader = (path: string, calls: StorageCalls) => Promise<MarkerRead>

/**
 * Reads markers. A file system that does not answer blocks a thread of this process, so each path is read by one call at a time; requests
 * that arrive meanwhile share its result.
 */
export function createMarkerReader(): MarkerReader {
  const reading = new Map<string, Promise<MarkerRead>>()
  return async (path, calls) => {
    let answer = reading.get(path)
    if (!answer) {
      answer = calls
        .run(() => readMarker(path))
        .then((marker): MarkerRead => ({ answered: true, marker }))
        .catch((error: unknown): MarkerRead => {
          if (isAppError(error)) return { answered: false }
          throw error
        })
        .finally(() => reading.delete(path))
      reading.set(path, answer)
    }
    return Promise.race([answer, delay<MarkerRead>(ANSWER_MS, { answered: false }, { ref: false })])
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

/** Reads the marker of a storage whose top is open. */
export function readMarkerIn(top: Directory): Promise<string | undefined> {
  return top.withPath(readMarker)
}

/** Turns an empty directory into a storage. @returns undefined if the directory does not exist or is not empty */
export async function writeMarker(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (!found?.isDirectory()) return undefined
  const names = await readdir(path)
  // The root of a file system may contain `lost+found`.
  if (names.some(name => name !== 'lost+found' && !name.startsWith(MARKER))) return readMarker(path)
  const marker = randomUUID()
  const draft = join(path, `${MARKER}.${marker}`)
  try {
    await writeFile(draft, `${marker}\n`, { flag: 'wx', mode: 0o644, flush: true })
    // The marker appears complete or not at all; if another manager was faster, its marker is kept.
    await link(draft, join(path, MARKER))
    return marker
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return await readMarker(path)
  } finally {
    await rm(draft, { force: true })
  }
}
