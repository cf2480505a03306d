import { MOST_PACKET_BYTES } from './protocol.ts'

/** The bytes are no SFTP: nothing after them can be read. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/**
 * Cuts a stream of bytes into packets, for any cut of the stream. A packet is copied once, into memory of its own: the caller may
 * reuse the bytes. It holds one incomplete packet at most, of at most MOST_PACKET_BYTES.
 */
export class PacketReader {
  readonly #length = Buffer.alloc(4)
  #lengthBytes = 0
  #packet: Buffer | undefined
  #filled = 0

  /** @param take gets each packet, without its length @throws ProtocolError for a length that is not allowed */
  push(bytes: Uint8Array, take: (packet: Buffer) => void): void {
    for (let at = 0; at < bytes.length;) {
      if (!this.#packet) {
        this.#length[this.#lengthBytes++] = bytes[at++] ?? 0
        if (this.#lengthBytes < 4) continue
        this.#lengthBytes = 0
        const length = this.#length.readUInt32BE()
        if (length === 0 || length > MOST_PACKET_BYTES) throw new ProtocolError(`a packet of ${length} bytes`)
        this.#packet = Buffer.allocUnsafe(length)
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
}
