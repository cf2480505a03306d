import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { UUID } from '#base/shapes'

const MARKER = '.berth-storage'

/** Reads the UUID of the storage at this path; undefined if there is no marker, or if it cannot be read. */
export async function readMarker(path: string): Promise<string | undefined> {
  const file = await open(join(path, MARKER), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
    const text = buffer.toString('utf8', 0, bytesRead).trim()
    return UUID.test(text) ? text : undefined
  } catch {
    return undefined // a share that was unmounted just now, or a directory of that name
  } finally {
    await file.close().catch(() => undefined)
  }
}
