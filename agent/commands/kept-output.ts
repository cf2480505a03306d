/** The last bytes of a stream that has no end. */
export interface KeptOutput {
  push(chunk: Uint8Array): void
  /** Bytes written so far. */
  readonly total: number
  /** Bytes of memory that it takes. */
  readonly size: number
  /** @returns at most `most` bytes from this place on, or from the first one after it that is kept */
  read(offset: number, most: number): { readonly offset: number; readonly bytes: Buffer }
}

const FIRST_BYTES = 4096

/**
 * Keeps the last `limit` bytes in a ring that grows with what is written: a hostile command takes no more than that, whatever the size of
 * its writes.
 */
export function createKeptOutput(limit: number): KeptOutput {
  let ring = Buffer.alloc(0)
  let total = 0
  const kept = () => Math.min(total, ring.length)

  function slice(from: number, length: number): Buffer {
    const at = from % ring.length
    const first = ring.subarray(at, at + length)
    return Buffer.concat([first, ring.subarray(0, length - first.length)])
  }

  /** Makes room while the ring is smaller than its limit; its bytes move to the places that they have in the larger one. */
  function grow(needed: number): void {
    if (needed <= ring.length || ring.length >= limit) return
    const size = Math.min(limit, Math.max(FIRST_BYTES, ring.length * 2, needed))
    // A ring below its limit has never been written around, so it begins with the first byte.
    ring = Buffer.concat([ring.subarray(0, total)], size)
  }

  return {
    push(chunk) {
      grow(total + chunk.length)
      const last = chunk.subarray(Math.max(0, chunk.length - limit))
      total += chunk.length
      if (last.length === 0) return
      const at = (total - last.length) % ring.length
      const first = last.subarray(0, ring.length - at)
      ring.set(first, at)
      ring.set(last.subarray(first.length), 0)
    },
    get total() {
      return total
    },
    get size() {
      return ring.length
    },
    read(offset, most) {
      const from = Math.min(Math.max(offset, total - kept()), total)
      const length = Math.min(most, total - from)
      return { offset: from, bytes: length === 0 ? Buffer.alloc(0) : slice(from, length) }
    },
  }
}
