/** Smaller reads get their own memory, which costs less than keeping it. */
const LEAST_BYTES = 128 * 1024
/** Largest number of slabs of one connection: one that is filled while another is sent, and some for a second read. */
const MOST_SLABS = 4

/**
 * Memory for the answers to reads of one connection. A slab is reused once the kernel has taken all sent bytes: unused buffers of this size
 * would only be freed by a collection of the whole heap, and each new one costs a page fault per 4 KiB.
 */
export class ReadMemory {
  readonly #slabBytes: number
  readonly #isFlushed: () => boolean
  #free: ArrayBufferLike[] = []
  /** Slabs whose bytes may still wait to be sent. */
  #sent: ArrayBufferLike[] = []

  /** @param isFlushed whether the kernel has all bytes that were sent so far */
  constructor(slabBytes: number, isFlushed: () => boolean) {
    this.#slabBytes = slabBytes
    this.#isFlushed = isFlushed
  }

  take(bytes: number): Buffer {
    if (bytes < LEAST_BYTES || bytes > this.#slabBytes) return Buffer.allocUnsafeSlow(bytes)
    if (this.#sent.length > 0 && this.#isFlushed()) {
      this.#free.push(...this.#sent)
      this.#sent = []
    }
    return Buffer.from(this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#slabBytes).buffer, 0, bytes)
  }

  /** Takes memory back. All answers in it have been sent, and no read writes to it any more. */
  giveBack({ buffer }: Buffer): void {
    if (buffer.byteLength !== this.#slabBytes) return
    if (this.#free.length + this.#sent.length < MOST_SLABS) this.#sent.push(buffer)
  }
}
