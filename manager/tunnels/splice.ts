import { type Socket } from 'node:net'
import { readSteadily } from '#manager/tunnel-end'

/** Client bytes kept until the agent has answered; a client that sends more is paused until then. */
const MAX_RETAINED = 64 * 1024
const MAX_ATTEMPTS = 3

export interface SpliceOptions {
  readonly client: Socket
  readonly agent: Socket
  /** Sent on the agent's socket before the client's bytes. */
  readonly header: Buffer
  /** Bytes that came together with the client's request. */
  readonly head: Buffer
  /** Takes another data socket of the same agent, to replace a dead one. */
  readonly next: () => Promise<Socket>
  readonly onEnd: () => void
}

/**
 * Joins the sockets of a client and of an agent, byte for byte, until both are closed. Frames are not parsed.
 *
 * A parked socket may be dead unnoticed. The agent sends first (before it passes anything on to the service), so until its first byte
 * nothing has happened: if the socket breaks before, the same bytes are sent on the next one.
 *
 * Half-open is allowed both ways. A slow reader pauses the other side. When one side breaks, the other is reset, so that it does not
 * mistake a lost path for an end.
 */
export class Splice {
  readonly client: Socket
  readonly #options: SpliceOptions
  /** Undefined while the next data socket is awaited. */
  #agent: Socket | undefined
  /** Undefined once the agent has answered. */
  #retained: Buffer[] | undefined = []
  #retainedBytes = 0
  #attempts = 0
  #ended = false
  /** The client socket's counters at the start of the tunnel; `bytesUp` and `bytesDown` subtract them. */
  readonly startedRead: number
  readonly startedWritten: number

  constructor(options: SpliceOptions) {
    const { client, agent, head } = options
    this.client = client
    this.#options = options
    this.startedRead = client.bytesRead - head.length
    this.startedWritten = client.bytesWritten
    if (head.length > 0) this.#retain(head)
    readSteadily(client, {
      take: (slab, from, to) => this.#onClientData(slab.subarray(from, to)),
      done: () => this.#agent?.writableLength === 0,
    })
    client.on('drain', () => this.#agent?.resume())
    client.on('end', () => this.#agent?.end())
    client.on('error', () => client.destroy())
    client.on('close', () => this.#onClientClosed())
    this.#attach(agent)
  }

  /** Bytes from the client to the service, frame headers included. */
  get bytesUp(): number {
    return this.client.bytesRead - this.startedRead
  }

  get bytesDown(): number {
    return this.client.bytesWritten - this.startedWritten
  }

  /** Cuts the tunnel: both sides see a reset. */
  destroy(): void {
    reset(this.client)
    if (this.#agent) reset(this.#agent)
  }

  #attach(agent: Socket): void {
    const { client } = this
    this.#agent = agent
    this.#attempts++
    readSteadily(agent, {
      take: (slab, from, to) => this.#onAgentData(agent, slab.subarray(from, to)),
      done: () => client.writableLength === 0,
    })
    agent.on('drain', () => this.#resumeClient())
    agent.on('end', () => this.#onAgentGone(agent, true))
    agent.on('error', () => agent.destroy())
    agent.on('close', () => this.#onAgentGone(agent, false))
    agent.write(this.#retained ? Buffer.concat([this.#options.header, ...this.#retained]) : this.#options.header)
    if (client.readableEnded) agent.end()
    agent.resume()
    this.#resumeClient()
    // The socket broke between being taken and being attached, so it emits no further events.
    if (agent.destroyed) this.#onAgentGone(agent, false)
  }

  #onAgentData(agent: Socket, chunk: Uint8Array): void {
    if (this.#retained) this.#release()
    if (!this.client.write(chunk)) agent.pause()
  }

  #onClientData(chunk: Uint8Array): void {
    if (this.#retained) this.#retain(chunk)
    const agent = this.#agent
    if (agent?.writable && !agent.write(chunk)) this.client.pause()
  }

  #retain(chunk: Uint8Array): void {
    this.#retained?.push(Buffer.from(chunk))
    this.#retainedBytes += chunk.length
    if (this.#retainedBytes >= MAX_RETAINED) this.client.pause()
  }

  #release(): void {
    this.#retained = undefined
    this.#resumeClient()
  }

  /**
   * Resumes the client, unless it has to wait for the agent's answer (enough is retained) or for a drain (a drain event
   * comes only if one is needed).
   */
  #resumeClient(): void {
    const waitsForAnswer = this.#retained && this.#retainedBytes >= MAX_RETAINED
    if (!waitsForAnswer && !this.#agent?.writableNeedDrain) this.client.resume()
  }

  #onAgentGone(agent: Socket, half: boolean): void {
    if (agent !== this.#agent || this.#ended) return
    if (this.#retained) {
      agent.destroy()
      if (this.client.destroyed) this.#finish()
      else this.#tryNext()
    } else if (half) this.client.end()
    else this.#onBothMaybeClosed(agent, this.client)
  }

  #tryNext(): void {
    if (this.#attempts >= MAX_ATTEMPTS) {
      reset(this.client)
      return
    }
    this.#agent = undefined
    this.#options.next().then(
      agent => {
        if (this.client.destroyed) agent.destroy()
        else this.#attach(agent)
      },
      () => reset(this.client),
    )
  }

  #onClientClosed(): void {
    if (this.#agent) this.#onBothMaybeClosed(this.client, this.#agent)
    else this.#finish()
  }

  #onBothMaybeClosed(closed: Socket, other: Socket): void {
    if (other.destroyed) this.#finish()
    // If it ended both ways and everything was passed on, the other socket ends on its own.
    else if (!(closed.readableEnded && closed.writableFinished)) reset(other)
  }

  #finish(): void {
    if (this.#ended) return
    this.#ended = true
    this.#options.onEnd()
  }
}

/** Destroys a socket so that the other end sees a lost path, not an end. */
export function reset(socket: Socket): void {
  try {
    socket.resetAndDestroy()
  } catch {
    // A TLS socket has no reset of its own.
  }
  socket.destroy()
}
