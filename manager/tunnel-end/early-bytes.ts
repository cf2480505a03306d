/** Limit of bytes for the next connection; a client that sends more before the service is connected has to wait. */
const MOST_BYTES = 64 * 1024

/** Bytes that a client has sent for its next connection before this connection is attached. */
export class EarlyBytes {
  readonly #chunks: Uint8Array[] = []
  #size = 0
  /** The client has sent everything: `eof` has arrived. */
  isEnded = false

  get chunks(): readonly Uint8Array[] {
    return this.#chunks
  }

  /**
   * Copies the bytes, because the reader of the wire owns the buffer.
   *
   * @returns false if the client has to wait now
   */
  keep(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk.slice())
    this.#size += chunk.length
    return this.#size <= MOST_BYTES
  }
}
