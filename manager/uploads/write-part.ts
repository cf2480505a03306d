import { once } from 'node:events'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { releaseBytes } from '#base/release-bytes'
import { AppError, because, isAppError } from '#manager/contract'
import { type OpenFile } from '../storage/open-file.ts'

/** While one write is in flight, up to this many further bytes are read from the client; the next write takes all of them. */
const AHEAD_BYTES = 4 * 1024 * 1024
/** Writing to the disk is requested after so many bytes, so that the `fsync` at the end of the body only waits for the last ones. */
const SYNC_EVERY_BYTES = 64 * 1024 * 1024

export interface PartTarget {
  readonly file: OpenFile
  /** Position of the first byte: the end of the file. */
  readonly offset: number
  /** The file must not become longer than this. */
  readonly size: number
  /** Called with the written bytes, in order. Their memory is freed afterwards. */
  readonly onWritten: (bytes: Buffer) => void
  /** Called when bytes have arrived. */
  readonly onArrived: () => void
  readonly signal: AbortSignal
}

/**
 * Appends a body to a file. Written bytes stay if the connection is cut, except those of a signed request whose body does not match its
 * signature. No write is in flight when the promise settles.
 *
 * @returns the new end of the file
 * @throws AppError `bad_request` (the body is too long), `upload_stalled` (the connection was cut); the reason of the signal; errors of the
 *   file system
 */
export async function writePart(body: Readable, target: PartTarget): Promise<number> {
  const { file, offset, size, onWritten, onArrived, signal } = target
  let end = offset
  let inFlight = Promise.resolve()
  let unsynced = 0
  let syncing: Promise<void> | undefined
  let failed: { readonly error: unknown } | undefined
  const write = async (chunks: Buffer[]) => {
    const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
    if (end + bytes > size) throw new AppError('bad_request', because('upload_too_long'))
    await file.writeParts(chunks, end)
    end += bytes
    for (const chunk of chunks) {
      onWritten(chunk)
      releaseBytes(chunk)
    }
    unsynced += bytes
    if (unsynced >= SYNC_EVERY_BYTES) syncMeanwhile()
  }
  // The system reports an error of the disk only once, so the error is kept until the end.
  const syncMeanwhile = () => {
    if (syncing) return
    unsynced = 0
    syncing = file
      .sync()
      .catch((error: unknown) => void (failed ??= { error }))
      .finally(() => (syncing = undefined))
  }
  const sink = new Writable({
    highWaterMark: AHEAD_BYTES,
    write(chunk: Buffer, _encoding, done) {
      onArrived()
      inFlight = write([chunk])
      inFlight.then(() => done(), done)
    },
    writev(queued, done) {
      onArrived()
      inFlight = write(queued.map(({ chunk }) => chunk as Buffer))
      inFlight.then(() => done(), done)
    },
  })
  try {
    await pipeline(body, sink, { signal })
    await syncing
    if (failed) throw failed.error
    return end
  } catch (error) {
    await inFlight.catch(() => undefined)
    if (isAppError(error) && error.code === 'signature_invalid') await file.truncate(offset)
    throw faultOf(error, signal)
  }
}

/**
 * Waits for the first byte of a body or for its end, without reading. @throws AppError `upload_stalled` (the connection was cut); the
 * reason of the signal
 */
export async function hasBytes(body: Readable, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController()
  try {
    const until = { signal: AbortSignal.any([signal, over.signal]) }
    // A body that has ended already emits no `readable`.
    const more = () => Promise.race(['readable', 'end', 'close'].map(name => once(body, name, until)))
    if (body.readableLength === 0 && body.readable) await more()
    return body.readableLength > 0
  } catch (error) {
    throw faultOf(error, signal)
  } finally {
    over.abort()
  }
}

function faultOf(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return isCut(error) ? new AppError('upload_stalled', because('connection_cut'), { cause: error }) : error
}

function isCut(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'EPIPE'
}
