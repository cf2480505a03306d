import { type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { TLSSocket } from 'node:tls'

/** As much as a read of a file or a socket brings: larger slices are no quicker. */
const SLICE_BYTES = 64 * 1024

/**
 * Ends an answer with bytes that may be many. Without TLS the kernel takes what it has room for, and the rest stays in the memory that all
 * readers share. TLS encrypts all that it is given at once, also for a reader who never reads, so it gets slices that wait for the reader.
 */
export async function sendBytes(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length <= SLICE_BYTES || !(response.socket instanceof TLSSocket)) {
    response.end(bytes)
    return
  }
  // A reader who hangs up is no fault.
  await pipeline(Readable.from(slicesOf(bytes), { objectMode: true, highWaterMark: 1 }), response).catch(
    () => undefined,
  )
}

function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
}
