// `import type` instead of inline types: those leave an import behind, and the page would run the worker's code.
import type { HashReply, HashRequest } from './hash-worker.ts'

/** Small files are hashed by the browser itself: a message to the worker would cost more. */
const SMALL_BYTES = 1024 * 1024
const waiting = new Map<number, { resolve: (hash: string) => void; reject: (error: Error) => void }>()
let worker: Worker | undefined
let nextId = 1

/** SHA-256 of a file in hex, read as a stream. @throws Error if the file cannot be read any more */
export async function hashFile(file: File): Promise<string> {
  // On pages loaded by plain http from another computer there is no `crypto.subtle`.
  if (file.size <= SMALL_BYTES && 'subtle' in crypto) {
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
    return hexOf(new Uint8Array(digest))
  }
  const id = nextId++
  worker ??= startWorker()
  const request: HashRequest = { id, file }
  const answer = new Promise<string>((resolve, reject) => waiting.set(id, { resolve, reject }))
  worker.postMessage(request)
  return await answer
}

const hexOf = (bytes: Uint8Array) => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

function startWorker(): Worker {
  const started = new Worker(new URL('./hash-worker.ts', import.meta.url), { type: 'module' })
  started.addEventListener('message', ({ data }: MessageEvent<HashReply>) => {
    const one = waiting.get(data.id)
    if (!one) return
    waiting.delete(data.id)
    if ('hash' in data) one.resolve(data.hash)
    else one.reject(new Error(data.failed))
  })
  // A worker that could not start never answers: the uploads fail with a reason, and the next one starts another worker.
  started.addEventListener('error', event => {
    event.preventDefault()
    worker = undefined
    for (const { reject } of waiting.values()) reject(new Error(event.message || 'The worker did not start.'))
    waiting.clear()
  })
  return started
}
