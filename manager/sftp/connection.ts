import { PacketReader, ProtocolError } from './packet-reader.ts'
import { BadRequest, parseInit, parseRequest } from './parse-request.ts'
import { type Operations, type PlainRequest } from './operations.ts'
import { ReadMemory } from './read-memory.ts'
import { MOST_DATA_BYTES, type Reply, END, OK, type Request, type RequestOf, VERSION } from './protocol.ts'
import { statusOf } from './refused.ts'
import { DATA_HEAD, dataPacket, replyPacket, versionPacket } from './write-reply.ts'

export interface ConnectionDeps {
  readonly operations: Pick<Operations, 'answer' | 'read' | 'write'>
  /** Sends bytes to the client. */
  readonly send: (bytes: Buffer) => void
  /** Whether the kernel has taken all sent bytes, so that their memory can be reused. Left out: it is never reused. */
  readonly isFlushed?: () => boolean
  /** Called when the connection accepts requests again. */
  readonly onDrain: () => void
  /** Called once for bytes that are not SFTP: nothing after them is read. */
  readonly onBroken: (error: Error) => void
  /** Called for an error that none of our rules has thrown; the client does not see it. */
  readonly onUnexpected: (error: unknown) => void
}

type ReadRequest = RequestOf<'read'>
type WriteRequest = RequestOf<'write'>
/** Requests that are executed together. */
type Step =
  | { readonly kind: 'read'; readonly requests: readonly ReadRequest[] }
  | { readonly kind: 'write'; readonly requests: readonly WriteRequest[] }
  | { readonly kind: 'plain'; readonly request: Exclude<Request, ReadRequest | WriteRequest> }

/** Largest number of waiting requests: while there are more, nothing is read from the client. */
const MOST_WAITING = 256
const MOST_WAITING_BYTES = 4 * 1024 * 1024
/** Adjacent reads or writes are executed with one call, up to this size. */
const MOST_JOINED_BYTES = 1024 * 1024
const MOST_JOINED = 32
/** Number of concurrent read steps: the next one reads while the answers of the first are sent. */
const READS_AT_ONCE = 2

/**
 * The server end of one SFTP connection, without a socket: bytes in, bytes out.
 *
 * Requests take effect in the order in which they came, as with OpenSSH: a client may send a write, a change of the time and a close
 * without waiting. Only reads run beside each other. Answers are sent in the order of the requests, too: the protocol does not require it,
 * but PSCP takes an end of file that arrives before earlier data for the end of the connection. Adjacent reads and adjacent writes become
 * one call, so that programs that use small packets are as fast as others.
 *
 * Memory is bounded: waiting requests by MOST_WAITING and MOST_WAITING_BYTES, answers because nothing is executed while the client does not
 * read the previous ones (`pause`).
 */
export class SftpConnection {
  readonly #deps: ConnectionDeps
  readonly #reader = new PacketReader()
  readonly #memory: ReadMemory
  #waiting: Request[] = []
  #waitingBytes = 0
  /** Bytes of the packets of waiting requests: paths and data are parts of that memory, so the whole packet counts. */
  readonly #packetBytes = new WeakMap<Request, number>()
  #isOpen = false
  #isEnded = false
  #isPaused = false
  /** True after `push` has returned false. */
  #isFull = false
  #isStepping = false
  #isReading = 0
  /** End of the previous step: concurrent reads are answered one after the other. */
  #before: Promise<void> = Promise.resolve()
  #whenIdle: (() => void)[] = []

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
    this.#memory = new ReadMemory(MOST_JOINED_BYTES + MOST_JOINED * DATA_HEAD, deps.isFlushed ?? (() => false))
  }

  /**
   * Accepts bytes of the client, which may be reused afterwards. @returns false if the caller should wait for `onDrain` before the next
   * ones
   */
  push(bytes: Uint8Array): boolean {
    if (this.#isEnded) return true
    try {
      this.#reader.push(bytes, packet => this.#take(packet))
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#break(error)
      return true
    }
    this.#work()
    this.#isFull = this.#waiting.length > MOST_WAITING || this.#waitingBytes > MOST_WAITING_BYTES
    return !this.#isFull
  }

  /** Call when the client does not read the answers: starts nothing new. */
  pause(): void {
    this.#isPaused = true
  }
  resume(): void {
    this.#isPaused = false
    this.#work()
  }

  /** Drops waiting requests. Resolves when no operation is in progress. */
  async end(): Promise<void> {
    this.#isEnded = true
    this.#waiting = []
    this.#waitingBytes = 0
    const idle = new Promise<void>(resolve => this.#whenIdle.push(resolve))
    this.#work()
    await idle
  }

  /** Resolves when all requests so far are answered, unless the connection is ended before. */
  async drained(): Promise<void> {
    while (!this.#isEnded && (this.#waiting.length > 0 || this.#isStepping || this.#isReading > 0)) {
      await new Promise<void>(resolve => this.#whenIdle.push(resolve))
    }
  }

  #take(packet: Buffer): void {
    if (this.#isEnded) return
    if (!this.#isOpen) {
      const version = parseInit(packet)
      if (version === undefined || version < VERSION) throw new ProtocolError('the connection does not begin with INIT')
      this.#isOpen = true
      this.#deps.send(versionPacket())
      return
    }
    try {
      const request = parseRequest(packet)
      this.#waiting.push(request)
      this.#packetBytes.set(request, packet.length)
      this.#waitingBytes += packet.length
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error
      if (error.id === undefined) throw new ProtocolError(error.message)
      this.#waiting.push({ id: error.id, kind: 'refused', status: 'badMessage', message: error.message })
    }
  }

  #break(error: Error): void {
    void this.end()
    this.#deps.onBroken(error)
  }

  /** Starts everything that may start now. */
  #work(): void {
    while (!this.#isEnded && !this.#isPaused && !this.#isStepping && this.#waiting.length > 0) {
      const isRead = this.#waiting[0]?.kind === 'read'
      if (this.#isReading > 0 && (!isRead || this.#isReading >= READS_AT_ONCE)) break
      this.#begin(this.#next())
    }
    if (!this.#isStepping && this.#isReading === 0) for (const idle of this.#whenIdle.splice(0)) idle()
  }

  #begin(step: Step): void {
    if (step.kind === 'read') this.#isReading++
    else this.#isStepping = true
    this.#before = this.#carryOut(step, this.#before)
      .catch((error: unknown) => this.#deps.onUnexpected(error))
      .finally(() => {
        if (step.kind === 'read') this.#isReading--
        else this.#isStepping = false
        this.#work()
        this.#notifyDrain()
      })
  }

  #notifyDrain(): void {
    if (!this.#isFull || this.#waiting.length > MOST_WAITING / 2 || this.#waitingBytes > MOST_WAITING_BYTES / 2) return
    this.#isFull = false
    this.#deps.onDrain()
  }

  /** Takes the first request, with the adjacent ones that follow it. */
  #next(): Step {
    const [first, ...rest] = this.#waiting as [Request, ...Request[]]
    if (first.kind === 'read') {
      const requests = adjacent(first, rest, ({ length }) => Math.min(length, MOST_DATA_BYTES))
      this.#drop(requests)
      return { kind: 'read', requests }
    }
    if (first.kind === 'write') {
      const requests = adjacent(first, rest, ({ data }) => data.length)
      this.#drop(requests)
      return { kind: 'write', requests }
    }
    this.#drop([first])
    return { kind: 'plain', request: first }
  }

  #drop(requests: readonly Request[]): void {
    this.#waiting = this.#waiting.slice(requests.length)
    for (const request of requests) this.#waitingBytes -= this.#packetBytes.get(request) ?? 0
  }

  async #carryOut(step: Step, before: Promise<void>): Promise<void> {
    switch (step.kind) {
      case 'read':
        await this.#read(step.requests, before)
        break
      case 'write': {
        const [{ handle, position }] = step.requests as [WriteRequest]
        const parts = step.requests.map(({ data }) => data)
        const reply = await this.#replyOf(async () => {
          await this.#deps.operations.write(handle, position, parts)
          return OK
        })
        for (const { id } of step.requests) this.#send(replyPacket(id, reply))
        // Recycle the memory only of a finished write: one that was given up may still read from it.
        if (reply === OK) for (const part of parts) this.#reader.recycle(part)
        break
      }
      case 'plain':
        this.#send(replyPacket(step.request.id, await this.#replyOf(() => this.#answer(step.request))))
    }
  }

  #answer(request: PlainRequest | RequestOf<'limits' | 'refused'>): Promise<Reply> {
    if (request.kind === 'limits') return Promise.resolve(request)
    if (request.kind !== 'refused') return this.#deps.operations.answer(request)
    const { status, message } = request
    return Promise.resolve({ kind: 'status', status, message })
  }

  async #read(requests: readonly ReadRequest[], before: Promise<void>): Promise<void> {
    const [{ handle, position }] = requests as [ReadRequest]
    const sizes = requests.map(({ length }) => DATA_HEAD + Math.min(length, MOST_DATA_BYTES))
    const memory = this.#memory.take(sizes.reduce((sum, size) => sum + size, 0))
    let start = 0
    const packets = requests.map(({ id }, index) => {
      const from = start
      start += sizes[index] ?? 0
      return { id, bytes: memory.subarray(from, start) }
    })
    let got = 0
    const reply = await this.#replyOf(async () => {
      const parts = packets.map(({ bytes }) => bytes.subarray(DATA_HEAD))
      got = await this.#deps.operations.read(handle, position, parts)
      return END
    })
    await before
    for (const { id, bytes } of packets) {
      const length = Math.min(got, bytes.length - DATA_HEAD)
      got -= length
      this.#send(length > 0 ? dataPacket(id, bytes, length) : replyPacket(id, reply))
    }
    // Do not reuse the memory of a read that was given up, which may still write to it.
    if (reply === END) this.#memory.giveBack(memory)
  }

  /** The reply to a request, including for failures. */
  async #replyOf(act: () => Promise<Reply>): Promise<Reply> {
    try {
      return await act()
    } catch (error) {
      const known = statusOf(error)
      if (known) return known
      this.#deps.onUnexpected(error)
      return { kind: 'status', status: 'failure', message: 'The server failed. Its log says why.' }
    }
  }

  #send(packet: Buffer): void {
    if (!this.#isEnded) this.#deps.send(packet)
  }
}

/** The first request and the following ones that continue where the previous one ends. */
function adjacent<T extends ReadRequest | WriteRequest>(
  first: T,
  rest: readonly Request[],
  sizeOf: (request: T) => number,
): T[] {
  const joined = [first]
  let end = first.position + sizeOf(first)
  for (const request of rest) {
    if (request.kind !== first.kind || joined.length >= MOST_JOINED) break
    const next = request as T
    const size = sizeOf(next)
    if (next.handle !== first.handle || next.position !== end) break
    if (end + size - first.position > MOST_JOINED_BYTES) break
    joined.push(next)
    end += size
  }
  return joined
}
