/** Free bytes before the read bytes. A frame header fits there, so that header and payload are sent in one write. */
export const HEADROOM = 16
const SMALL = 4096
const LARGE = 64 * 1024
/** Largest read whose frame, including header and mask key, the next process can also receive in one read. */
export const LARGEST_FRAMED_READ = LARGE - HEADROOM

export interface SteadyReaderOptions {
  /** Receives bytes `from` to `to` of a slab; the bytes before `from` may be overwritten. */
  readonly take: (slab: Uint8Array, from: number, to: number) => void
  /** Called after `take`; returns true once the kernel has all of these bytes, so that the slab may be reused. */
  readonly done: () => boolean
  readonly largest?: number
}

interface ReadableSocket {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
}

/** Shared by all sockets of the process: the bytes of a read are copied out before the next read. */
const small = new Uint8Array(HEADROOM + SMALL)
const smallView = small.subarray(HEADROOM)

/** Unused slabs. Slabs beyond MAX_POOLED are garbage-collected. */
const pool: Uint8Array[] = []
const MAX_POOLED = 32

/**
 * Reads a socket without leaving 64 KiB of garbage per read, as Node's streams do. A process with a large heap pays for that garbage with a
 * full collection every 64 MB of traffic. An idle or chatty socket has no buffer of its own. A busy socket has one slab, reused as soon as
 * the kernel has taken its content.
 *
 * Node offers this (`onread`) only for sockets that connect, not for accepted ones, so we set the internal fields that the option would
 * set. If that is not possible (TLS, another version of Node) the socket is read in the ordinary way: same bytes, more work.
 *
 * @see https://nodejs.org/api/net.html#socketconnectoptions-connectlistener, `onread`
 */
export function readSteadily(socket: ReadableSocket, { take, done, largest = LARGE }: SteadyReaderOptions): void {
  // Also delivers bytes that were read, or put back, before this call.
  socket.on('data', chunk => take(chunk, 0, chunk.length))
  const internals = internalsOf(socket)
  if (!internals) return
  let slab: Uint8Array | undefined

  internals.begin(smallView, count => {
    if (!slab) {
      take(small.slice(0, HEADROOM + count), HEADROOM, HEADROOM + count)
      if (count === SMALL) slab = pool.pop() ?? new Uint8Array(HEADROOM + LARGE)
    } else {
      take(slab, HEADROOM, HEADROOM + count)
      const free = done()
      if (free && count > SMALL) return
      if (free && pool.length < MAX_POOLED) pool.push(slab)
      slab = count > SMALL ? (pool.pop() ?? new Uint8Array(HEADROOM + LARGE)) : undefined
    }
    return slab ? slab.subarray(HEADROOM, HEADROOM + largest) : smallView
  })
}

interface Internals {
  /** @param read gets the number of bytes in the buffer; returns the next buffer, or undefined to keep the current one */
  begin(buffer: Uint8Array, read: (count: number) => Uint8Array | undefined): void
}

interface Handle {
  useUserBuffer(buffer: Uint8Array): void
}

/** Finds the fields in which `net.Socket` keeps its option `onread`. */
function internalsOf(socket: object): Internals | undefined {
  const handle = '_handle' in socket ? (socket._handle as Partial<Handle> | null) : undefined
  if ('encrypted' in socket || typeof handle?.useUserBuffer !== 'function') return undefined
  const symbols = Object.getOwnPropertySymbols(socket)
  const [kBuffer, kBufferCb, kBufferGen] = ['kBuffer', 'kBufferCb', 'kBufferGen'].map(name =>
    symbols.find(symbol => symbol.description === name),
  )
  if (!kBuffer || !kBufferCb || !kBufferGen) return undefined
  return {
    begin(buffer, read) {
      let next: Uint8Array | undefined
      Object.assign(socket, {
        [kBuffer]: buffer,
        [kBufferCb]: (count: number) => {
          next = read(count)
          return true
        },
        // A return value that is not a buffer keeps the current one.
        [kBufferGen]: () => next,
      })
      ;(handle as Handle).useUserBuffer(buffer)
    },
  }
}
