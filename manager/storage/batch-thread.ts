import { Worker } from 'node:worker_threads'
import { type BatchJobs, type BatchKind } from './batch-jobs.ts'

/** A thread without work ends after this time: it needs some MiB. */
const IDLE_MS = 30_000

/** Does work on many entries of a directory in a thread of its own (`batch-worker.ts`), which is started for the first job. */
export interface BatchThread {
  /**
   * Runs a job after those before it.
   *
   * @param moved memory of the request, which is the thread's from now on
   * @throws Error if the thread ends
   */
  run<K extends BatchKind>(
    kind: K,
    request: BatchJobs[K]['request'],
    moved?: readonly ArrayBuffer[],
  ): Promise<BatchJobs[K]['reply']>
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

export function createBatchThread(): BatchThread {
  let started: { readonly worker: Worker; readonly waiting: Map<number, Waiting> } | undefined
  let lastId = 0
  let idle: NodeJS.Timeout | undefined

  function start() {
    const waiting = new Map<number, Waiting>()
    // A package has compiled files. Options of this process are not the thread's: it would be measured or extended with it.
    const file = import.meta.url.endsWith('.ts') ? './batch-worker.ts' : './batch-worker.js'
    const worker = new Worker(new URL(file, import.meta.url), {
      execArgv: [],
      name: 'files',
    })
    const made = { worker, waiting }
    const end = (error: unknown) => {
      if (started === made) started = undefined
      for (const one of waiting.values()) one.reject(error)
      waiting.clear()
    }
    worker.on('message', ({ id, result }: { id: number; result: unknown }) => {
      waiting.get(id)?.resolve(result)
      waiting.delete(id)
      if (waiting.size === 0) rest(worker)
    })
    worker.on('error', end)
    worker.on('exit', () => end(new Error('the thread for files has ended')))
    return made
  }

  function rest(worker: Worker): void {
    worker.unref()
    idle = setTimeout(() => {
      if (started?.worker === worker) started = undefined
      void worker.terminate()
    }, IDLE_MS).unref()
  }

  return {
    run(kind, request, moved = []) {
      const { worker, waiting } = (started ??= start())
      clearTimeout(idle)
      worker.ref()
      const id = ++lastId
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve: resolve as (result: unknown) => void, reject })
        worker.postMessage({ id, kind, request }, [...moved])
      })
    },
  }
}
