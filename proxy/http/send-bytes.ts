import { type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { TLSSocket } from 'node:tls'

/** The usual size of one read from a file or a socket; larger slices are not faster. */
const SLICE_BYTES = 64 * 1024

/**
 * Ends an answer with a body that may be large. Without TLS the kernel takes as many bytes as fit, and the rest stays in memory that all
 * readers share. TLS would encrypt the whole body at once, even for a client that never reads, so the body is written in slices, each after
 * the client has read the one before.
 */
export async function sendBytes(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (bytes.length <= SLICE_BYTES || !(response.socket instanceof TLSSocket)) {
    response.end(bytes)
    return
  }
  // A client that hangs up is not an error.
  await pipeline(Readable.from(slicesOf(bytes), { objectMode: true, highWaterMark: 1 }), response).catch(
    () => undefined,
  )
}

function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES)
}
