import { MOST_PACKET_BYTES } from './protocol.ts'

/** The bytes are not SFTP: nothing after them can be parsed. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/** Packets of at least this size have memory that is reused. */
const LARGE = 128 * 1024
/** Largest number of kept buffers: as many as fit into the requests that may wait. */
const MOST_FREE = 16

/**
 * Splits a stream of bytes into packets, however the stream is chunked. A packet is copied once, into its own memory, so the caller may
 * reuse the bytes. At most one incomplete packet is held, of at most MOST_PACKET_BYTES.
 */
export class PacketReader {
  readonly #length = Buffer.alloc(4)
  #lengthBytes = 0
  #packet: Buffer | undefined
  #filled = 0
  /** Memory of large packets that are not used any more. */
  readonly #free: ArrayBufferLike[] = []

  /** @param take gets each packet, without its length @throws ProtocolError for a length that is not allowed */
  push(bytes: Uint8Array, take: (packet: Buffer) => void): void {
    for (let at = 0; at < bytes.length;) {
      if (!this.#packet) {
        this.#length[this.#lengthBytes++] = bytes[at++] ?? 0
        if (this.#lengthBytes < 4) continue
        this.#lengthBytes = 0
        const length = this.#length.readUInt32BE()
        if (length === 0 || length > MOST_PACKET_BYTES) throw new ProtocolError(`a packet of ${length} bytes`)
        this.#packet = this.#memoryFor(length)
        this.#filled = 0
      }
      const packet = this.#packet
      const count = Math.min(packet.length - this.#filled, bytes.length - at)
      packet.set(bytes.subarray(at, at + count), this.#filled)
      this.#filled += count
      at += count
      if (this.#filled < packet.length) continue
      this.#packet = undefined
      take(packet)
    }
  }

  /**
   * Takes back the memory of a packet for a later one: unused buffers of this size would only be freed by a collection of the whole heap.
   * @param part of the packet; nothing may use it any more
   */
  recycle({ buffer }: Buffer): void {
    if (buffer.byteLength === MOST_PACKET_BYTES && this.#free.length < MOST_FREE) this.#free.push(buffer)
  }

  #memoryFor(length: number): Buffer {
    if (length < LARGE) return Buffer.allocUnsafe(length)
    const memory = this.#free.pop() ?? Buffer.allocUnsafeSlow(MOST_PACKET_BYTES).buffer
    return Buffer.from(memory, 0, length)
  }
}
