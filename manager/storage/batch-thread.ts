import { Worker } from 'node:worker_threads'
import { createTurnQueue } from '#base/turn-queue'
import { type BatchJobs, type BatchKind } from './batch-jobs.ts'

/** A thread without work ends after this time, because it uses some MiB. */
const IDLE_MS = 30_000

/** Works on many entries of a directory in a separate thread (`batch-worker.ts`), which is started for the first job. */
export interface BatchThread {
  /**
   * Runs a job when it is its user's turn: users with waiting jobs come one after another, each with the jobs in order.
   *
   * @param moved memory of the request, which is transferred to the thread
   * @param signal withdraws a job that still waits for its turn: a storage that answers again must not change files for a caller that
   *   already got an answer. A job that has begun is not aborted
   * @throws Error if the thread ends; the reason of the signal
   */
  run<K extends BatchKind>(
    kind: K,
    request: BatchJobs[K]['request'],
    options?: BatchOptions,
  ): Promise<BatchJobs[K]['reply']>
  /** Keeps the thread alive without a job until it is disposed, for data that a job leaves there for the next one. */
  hold(): Disposable
}

export interface BatchOptions {
  /** Left out: the manager itself. */
  readonly user?: string | undefined
  readonly moved?: readonly ArrayBuffer[]
  readonly signal?: AbortSignal
}

interface Job {
  readonly message: unknown
  readonly moved: readonly ArrayBuffer[]
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** @param isPatient true: the thread has low priority when the processors are busy */
export function createBatchThread({ isPatient = false }: { readonly isPatient?: boolean } = {}): BatchThread {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let current: Job | undefined
  let holds = 0
  const waiting = createTurnQueue<Job>()

  function start(): Worker {
    // A package has compiled files. Options of this process must not apply to the thread: it would be measured or extended as well.
    const file = import.meta.url.endsWith('.ts') ? './batch-worker.ts' : './batch-worker.js'
    const started = new Worker(new URL(file, import.meta.url), {
      execArgv: [],
      name: 'files',
      workerData: { isPatient },
      // Files that a job opens belong to this process: they stay open when the thread ends.
      trackUnmanagedFds: false,
    })
    const end = (error: unknown) => {
      if (worker !== started) return
      worker = undefined
      const failed = current
      current = undefined
      failed?.reject(error)
      next()
    }
    started.on('message', (result: unknown) => {
      current?.resolve(result)
      current = undefined
      next()
    })
    started.on('error', end)
    started.on('exit', () => end(new Error('the thread for files has ended')))
    return started
  }

  /** Gives the thread the next job. Only one at a time, so that the others can still be taken back. */
  function next(): void {
    if (current) return
    const job = waiting.next()
    if (!job) {
      rest()
      return
    }
    current = job
    clearTimeout(idle)
    worker ??= start()
    worker.ref()
    try {
      worker.postMessage(job.message, [...job.moved])
    } catch (error) {
      current = undefined
      job.reject(error)
      next()
    }
  }

  function rest(): void {
    const resting = worker
    if (!resting) return
    resting.unref()
    if (holds > 0) return
    clearTimeout(idle)
    idle = setTimeout(() => {
      if (worker === resting) worker = undefined
      void resting.terminate()
    }, IDLE_MS).unref()
  }

  return {
    run(kind, request, { user = '', moved = [], signal } = {}) {
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        const job: Job = { message: { kind, request }, moved, resolve: resolve as (result: unknown) => void, reject }
        waiting.add(user, job)
        signal?.addEventListener(
          'abort',
          () => {
            if (waiting.delete(user, job)) reject(signal.reason as Error)
          },
          { once: true },
        )
        next()
      })
    },
    hold() {
      holds++
      clearTimeout(idle)
      return {
        [Symbol.dispose]() {
          holds--
          if (!current) next()
        },
      }
    },
  }
}

/** A few threads for short jobs, so that one that waits for a disk does not stop the others. A further one starts when all are busy. */
export function createBatchThreads(most: number): Pick<BatchThread, 'run'> {
  const threads = Array.from({ length: most }, () => ({ thread: createBatchThread(), jobs: 0 }))
  return {
    run(kind, request, options) {
      const least = threads.reduce((best, one) => (one.jobs < best.jobs ? one : best))
      least.jobs++
      return least.thread.run(kind, request, options).finally(() => least.jobs--)
    },
  }
}
