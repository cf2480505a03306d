import { appendFile, rename, stat } from 'node:fs/promises'
import { Writable } from 'node:stream'

const LIMIT_BYTES = 10_000_000
/** Number of old log files kept besides the current one. */
const KEPT = 3

/**
 * Appends to a log. Before it exceeds the limit it becomes `….1`, that one `….2`, and the oldest is deleted.
 *
 * Output that cannot be written (a full disk) is lost and never an error: the process that logs continues.
 */
export function createLogFile(path: string, limitBytes = LIMIT_BYTES): Writable {
  /** Size as far as known. */
  let size: number | undefined
  const append = async (chunk: Buffer) => {
    size ??= await sizeOf(path)
    if (size > 0 && size + chunk.length > limitBytes) {
      await rotate(path)
      size = 0
    }
    await appendFile(path, chunk, { mode: 0o600 })
    size += chunk.length
  }
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      append(chunk).then(
        () => done(),
        () => {
          size = undefined
          done()
        },
      )
    },
  })
}

async function rotate(path: string): Promise<void> {
  const names = [path, ...Array.from({ length: KEPT }, (_, index) => `${path}.${index + 1}`)]
  for (let index = KEPT; index > 0; index--) {
    // The file does not exist yet, or cannot be renamed: keep appending to it.
    await rename(names[index - 1] ?? '', names[index] ?? '').catch(() => undefined)
  }
}

async function sizeOf(path: string): Promise<number> {
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  return size
}
