import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { createOpenCounts } from '#base/open-counts'
import { AppError, because } from '#manager/contract'
import { createBatchThread } from '../storage/batch-thread.ts'
import { createTurns } from '#base/turns'

/**
 * Work on file contents that could delay others: archives, checksums, bundles, and downloads.
 *
 * Threat model: a user may request any amount of it, for files of any size. The number of such requests per user is limited. Checksums are
 * calculated in a separate thread of low priority, and the main thread sends one piece between two rounds of its other events. In both,
 * users take turns, and work pauses after each piece while another request is being answered. So a user with many requests mostly slows
 * down themselves (docs/adr/0061-turns-at-contents-of-files.md).
 */
export interface HeavyWork {
  /** Starts a request, which must be disposed. @throws AppError `rate_limited` */
  enter(user: string): HeavyRequest
  /** Marks that a request of another kind is being answered, until it is disposed; such a request has precedence. */
  give(): Disposable
}

export interface HeavyRequest extends Disposable {
  /** Waits for this user's turn to send a piece. */
  turn(): Promise<void>
  /** CRC-32 of a file so far. @param bytes must be the only user of their memory, which comes back in the reply */
  crc32(bytes: Buffer, before: number): Promise<{ readonly crc: number; readonly bytes: Buffer }>
  /** Starts a checksum of a file of this size. */
  sha256(size: number): FileHash
}

export interface FileHash extends AsyncDisposable {
  /** @param bytes as for `crc32` */
  update(bytes: Buffer): Promise<Buffer>
  /** @returns hexadecimal */
  digest(): Promise<string>
}

/** The same limit as for SFTP connections. */
const MOST_PER_USER = 48
const RETRY_AFTER_SECONDS = 5
const PAUSE_MS = 4
/** Fewer bytes are processed here, which costs less than sending them to the thread and back. */
const SMALL_BYTES = 64 * 1024

export function createHeavyWork(): HeavyWork {
  const counts = createOpenCounts()
  let others = 0
  const pause = (next: () => void) => {
    if (others > 0) setTimeout(next, PAUSE_MS)
    else setImmediate(next)
  }
  const sending = createTurns(pause)
  const calculating = createTurns(pause)
  const thread = createBatchThread({ isPatient: true })

  function hashHere(): FileHash {
    const hash = createHash('sha256')
    return {
      update(bytes) {
        hash.update(bytes)
        return Promise.resolve(bytes)
      },
      digest: () => Promise.resolve(hash.digest('hex')),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }

  function hashInThread(user: string): FileHash {
    const id = randomUUID()
    const held = thread.hold()
    let isOpen = true
    const close = () => {
      isOpen = false
      return calculating.run(user, () => thread.run('digest', { id })).finally(() => held[Symbol.dispose]())
    }
    return {
      async update(bytes) {
        const memory = memoryOf(bytes)
        const request = { id, bytes: memory, length: bytes.length }
        return Buffer.from((await calculating.run(user, () => thread.run('hash', request, { moved: [memory] }))).bytes)
      },
      digest: close,
      async [Symbol.asyncDispose]() {
        if (isOpen) await close()
      },
    }
  }

  return {
    give() {
      others++
      let isOver = false
      return {
        [Symbol.dispose]() {
          if (!isOver) others--
          isOver = true
        },
      }
    },
    enter(user) {
      const leave = counts.take(user, MOST_PER_USER)
      if (!leave) {
        const why = because('file_requests', { limit: MOST_PER_USER })
        throw new AppError('rate_limited', { ...why, retryAfterSeconds: RETRY_AFTER_SECONDS })
      }
      return {
        turn: () => sending.run(user, () => undefined),

        async crc32(bytes, before) {
          if (bytes.length <= SMALL_BYTES) return { crc: crc32(bytes, before), bytes }
          const memory = memoryOf(bytes)
          const request = { bytes: memory, length: bytes.length, before }
          const reply = await calculating.run(user, () => thread.run('crc', request, { moved: [memory] }))
          return { crc: reply.crc, bytes: Buffer.from(reply.bytes, 0, request.length) }
        },

        sha256: size => (size <= SMALL_BYTES ? hashHere() : hashInThread(user)),

        [Symbol.dispose]: leave,
      }
    },
  }
}

/** Memory that can be transferred to the thread: that of these bytes, if nothing else uses it, or a copy. */
function memoryOf({ buffer, byteOffset, length }: Buffer): ArrayBuffer {
  if (byteOffset === 0 && buffer instanceof ArrayBuffer && buffer.byteLength >= SMALL_BYTES) return buffer
  return new Uint8Array(buffer, byteOffset, length).slice().buffer
}
