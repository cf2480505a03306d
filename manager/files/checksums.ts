import { createHash } from 'node:crypto'
import { AppError } from '#manager/contract'
import { type Directory } from '../storage/beneath.ts'
import { BufferPair, chunksOf, openContent } from './content.ts'

/** Proxies end connections that are silent for a minute. */
const SAY_SOMETHING_MS = 10_000

/** Lines of JSON with the SHA-256 of each file, in the order of the paths; null for what cannot be read. Empty lines say that a long file is being read. */
export async function* checksumsOf(
  top: Directory,
  paths: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const buffers = new BufferPair()
  for (const path of paths) {
    const hash = createHash('sha256')
    let isWhole = true
    let saidAt = performance.now()
    try {
      await using content = await openContent(top, path)
      for await (const chunk of chunksOf(content.file, 0, content.state.size, buffers)) {
        signal.throwIfAborted()
        hash.update(chunk)
        if (performance.now() - saidAt < SAY_SOMETHING_MS) continue
        saidAt = performance.now()
        yield Buffer.from('\n')
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      isWhole = false
    }
    yield Buffer.from(`${JSON.stringify({ path, sha256: isWhole ? hash.digest('hex') : null })}\n`)
  }
}
