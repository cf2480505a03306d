import { EventEmitter } from 'node:events'
import { type TunnelSocket } from '#manager/tunnel-end'
import { SftpConnection } from './connection.ts'
import { type Operations } from './operations.ts'

export interface LocalEndDeps {
  readonly operations: Operations
  /** @see SftpConnection.isFlushed */
  readonly isFlushed: () => boolean
  readonly onBroken: (error: Error) => void
  readonly onUnexpected: (error: unknown) => void
}

/**
 * An SFTP connection that takes the place of a tunnel end's socket. Bytes are parsed as they arrive, without a buffer in between. When the
 * client has ended its direction, its earlier requests are executed first.
 */
export class SftpLocalEnd extends EventEmitter implements TunnelSocket {
  readonly #connection: SftpConnection
  readonly #operations: Operations
  destroyed = false
  writable = true
  /** Always 0: `write` leaves nothing in the buffers of the caller. */
  readonly writableLength = 0
  bytesUp = 0
  bytesDown = 0
  /** Resolves when the connection has no open resources. */
  readonly closed: Promise<unknown>
  readonly #onClosed: () => void
  readonly #onUnexpected: (error: unknown) => void

  constructor({ operations, isFlushed, onBroken, onUnexpected }: LocalEndDeps) {
    super()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.closed = promise
    this.#onClosed = () => resolve(undefined)
    this.#operations = operations
    this.#onUnexpected = onUnexpected
    this.#connection = new SftpConnection({
      operations,
      isFlushed,
      send: bytes => {
        if (this.destroyed) return
        this.bytesDown += bytes.length
        this.emit('data', bytes)
      },
      onDrain: () => this.emit('drain'),
      onBroken,
      onUnexpected,
    })
  }

  write(bytes: Uint8Array): boolean {
    this.bytesUp += bytes.length
    return this.destroyed || this.#connection.push(bytes)
  }
  cork(): void {
    // Requests are executed as they arrive.
  }
  uncork(): void {
    // As for `cork`: nothing is buffered.
  }
  pause(): void {
    this.#connection.pause()
  }
  resume(): void {
    this.#connection.resume()
  }
  end(): void {
    this.writable = false
    void this.#connection.drained().then(() => {
      if (this.destroyed) return
      this.emit('end')
      this.emit('finish')
      this.destroy()
    })
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.writable = false
    this.#close().catch(this.#onUnexpected)
    this.emit('close')
  }

  async #close(): Promise<void> {
    try {
      await this.#connection.end()
      // Writing the count to the database may fail.
      await this.#operations[Symbol.asyncDispose]()
    } finally {
      this.#onClosed()
    }
  }
}
