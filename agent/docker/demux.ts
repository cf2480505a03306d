const HEADER_BYTES = 8

export interface DemuxSink {
  stdout(chunk: Buffer): void
  stderr(chunk: Buffer): void
}

/**
 * Splits the engine's stream of an exec without a TTY: each piece has a header (stream number, three zeros, length as 32 bits
 * big-endian) and the bytes. Passes bytes on as they arrive, as views into the chunks pushed.
 *
 * @see Docker Engine API, "Attach to a container", stream format
 */
export function createDemuxer(sink: DemuxSink): (chunk: Buffer) => void {
  const header = Buffer.alloc(HEADER_BYTES)
  let have = 0
  let remaining = 0
  return chunk => {
    let at = 0
    while (at < chunk.length) {
      if (remaining === 0) {
        const part = chunk.copy(header, have, at, at + HEADER_BYTES - have)
        have += part
        at += part
        if (have < HEADER_BYTES) return
        have = 0
        remaining = header.readUInt32BE(4)
      } else {
        const part = chunk.subarray(at, at + remaining)
        at += part.length
        remaining -= part.length
        if (header[0] === 2) sink.stderr(part)
        else sink.stdout(part)
      }
    }
  }
}
