import { type FileHandle } from 'node:fs/promises'
import { type StorageCalls } from './calls.ts'

/**
 * Longest wait for a descriptor to close; a storage that does not answer closes it later, or never. The wait is short because a failed
 * request answers only after all its descriptors are closed.
 */
const CLOSE_MS = 1_000

/**
 * An open descriptor and the calls that use it. It is closed after the last of them: while a call runs, its path `/proc/self/fd/N` must not
 * refer to another file of this process.
 */
export class Descriptor<Handle extends Pick<FileHandle, 'close'> = FileHandle> implements AsyncDisposable {
  readonly #handle: Handle
  readonly #calls: StorageCalls
  #users = 0
  #closing: Promise<void> | undefined
  /** Called when the last user of a descriptor that is being closed has finished. */
  #onIdle: () => void = () => undefined

  constructor(handle: Handle, calls: StorageCalls) {
    this.#handle = handle
    this.#calls = calls
  }

  /** Runs a call on the handle. @throws Error after `close` */
  async use<T>(call: (handle: Handle) => Promise<T>): Promise<T> {
    if (this.#closing) throw new Error('a closed descriptor was used')
    this.#users++
    try {
      return await call(this.#handle)
    } finally {
      if (--this.#users === 0) this.#onIdle()
    }
  }

  /** Safe to repeat. @throws what the system reports when it closes a file, e.g. that data could not be written */
  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  async #finish(): Promise<void> {
    if (this.#users > 0) await new Promise<void>(resolve => (this.#onIdle = resolve))
    await this.#calls.close(() => this.#handle.close())
  }

  /** Closes without reporting errors: the writer of a file calls `close` itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { promise: tooLong, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(resolve, CLOSE_MS, undefined).unref()
    await Promise.race([this.close().catch(() => undefined), tooLong])
    clearTimeout(timer)
  }
}
