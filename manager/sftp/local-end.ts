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
 * An SFTP connection in place of the socket of a tunnel's end. Bytes are taken apart as they come, without a buffer in between.
 * When the client has ended its direction, the requests that it sent before are carried out first.
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
  /** Resolves when nothing of the connection is open any more. */
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
    // Requests are carried out as they come.
  }
  uncork(): void {
    // See cork.
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
      // The count of what was written may not reach the database.
      await this.#operations[Symbol.asyncDispose]()
    } finally {
      this.#onClosed()
    }
  }
}
