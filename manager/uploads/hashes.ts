import { createHash } from 'node:crypto'
import { type UploadId } from '#manager/contract'
import { type OpenFile } from '../storage/open-file.ts'
import { type OpenPart } from './open-part.ts'

/** Most unfinished hashes in memory; others are computed again from the file. */
const MOST_HASHES = 1_000

/** SHA-256 of the first bytes of an upload. */
export class RunningHash {
  readonly #hash = createHash('sha256')
  #upTo = 0

  /** Number of bytes hashed so far. */
  get upTo(): number {
    return this.#upTo
  }

  add(bytes: Buffer): void {
    this.#hash.update(bytes)
    this.#upTo += bytes.length
  }

  /** @returns hexadecimal; further bytes can be added afterwards */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }
}

/**
 * Hashes of unfinished uploads, so that their bytes need not be read again. When there are too many, the one unused for longest is dropped.
 */
export interface UploadHashes {
  /** Takes the hash of the bytes before the offset; return it with `keep`. @returns undefined if it is not known */
  take(id: UploadId, offset: number): RunningHash | undefined
  keep(id: UploadId, running: RunningHash): void
  drop(id: UploadId): void
  /** @returns hexadecimal, of the whole upload. @throws the reason of the lease's signal */
  digest(part: OpenPart): Promise<string>
}

export function createUploadHashes(): UploadHashes {
  /** In the order of their last use. */
  const hashes = new Map<UploadId, RunningHash>()

  return {
    take(id, offset) {
      const known = hashes.get(id)
      hashes.delete(id)
      if (offset === 0) return new RunningHash()
      return known?.upTo === offset ? known : undefined
    },
    keep(id, running) {
      const [oldest] = hashes.keys()
      if (hashes.size >= MOST_HASHES && oldest !== undefined) hashes.delete(oldest)
      hashes.set(id, running)
    },
    drop: id => void hashes.delete(id),
    async digest({ row, file, lease }) {
      const running = hashes.get(row.id)
      return running?.upTo === row.size ? running.digest() : (await hashOf(file, lease.signal)).digest()
    },
  }
}

const HASHED_AT_ONCE = 1024 * 1024

async function hashOf(file: OpenFile, signal: AbortSignal): Promise<RunningHash> {
  const hash = new RunningHash()
  const chunk = Buffer.allocUnsafe(HASHED_AT_ONCE)
  for (let position = 0; ;) {
    signal.throwIfAborted()
    const count = await file.read(chunk, position)
    if (count === 0) return hash
    hash.add(chunk.subarray(0, count))
    position += count
  }
}
