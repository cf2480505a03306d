import { AppError, because } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { isHoles } from '../storage/file-state.ts'
import { CHUNK_BYTES, openContent } from './content.ts'
import { type HeavyRequest } from './heavy-work.ts'

/** Longest silence: proxies end connections that are silent for a minute. */
const SAY_SOMETHING_MS = 10_000

/**
 * Lines of JSON with the SHA-256 of each file, in the order of the paths; null for a file that cannot be read, or consists almost entirely
 * of holes. Empty lines say that a long file is being read.
 */
export async function* checksumsOf(
  top: Directory,
  paths: readonly string[],
  { signal, heavy }: { signal: AbortSignal; heavy: Pick<HeavyRequest, 'sha256'> },
): AsyncGenerator<Uint8Array, void, undefined> {
  let saidAt = performance.now()
  let memory: Buffer | undefined
  for (const path of paths) {
    let sha256: string | null = null
    try {
      await using content = await openContent(top, path)
      const { size } = content.state
      if (isHoles(content.state)) throw new AppError('file_kind_refused')
      await using hash = heavy.sha256(size)
      for (let at = 0; at < size;) {
        memory ??= Buffer.allocUnsafeSlow(CHUNK_BYTES)
        const length = await content.file.read(memory.subarray(0, Math.min(CHUNK_BYTES, size - at)), at)
        if (length === 0) throw new AppError('file_changed', because('file_shorter'))
        memory = whole(await hash.update(memory.subarray(0, length)))
        at += length
        signal.throwIfAborted()
        if (performance.now() - saidAt < SAY_SOMETHING_MS) continue
        saidAt = performance.now()
        yield Buffer.from('\n')
      }
      sha256 = await hash.digest()
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
    yield Buffer.from(`${JSON.stringify({ path, sha256 })}\n`)
  }
}

/** The whole memory of which this buffer is a part. */
const whole = ({ buffer }: Buffer): Buffer => Buffer.from(buffer)
