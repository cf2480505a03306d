import { createSemaphore, type Semaphore } from '#base/semaphore'
import { AppError, because } from '#manager/contract'
import { type BatchThread, createBatchThread, createBatchThreads } from './batch-thread.ts'

/** Time limit for a call to a file system; a share whose server is down does not answer for minutes, or ever. */
const ANSWER_MS = 15_000
/** Threads of libuv kept for other work of the manager: passwords, name look-ups, markers of storages. */
const RESERVED = 2
const MOST_PER_HOST = 8
/** Largest number of threads of a storage host for jobs on paths. */
const PATH_THREADS = 4

/** Calls of one user to the file system of one storage host. */
export interface StorageCalls {
  /**
   * Runs a call when the storage host has a free permit and it is the user's turn: users with waiting calls take turns, and the calls of
   * each user run in order. @throws AppError `storage_away` if the call does not return in time, or no permit becomes free in time
   */
  run<T>(call: () => Promise<T>, options?: CallOptions<T>): Promise<T>
  /** Refuses a write for which the disk must keep space; left out where it may be filled. @throws AppError `disk_full` */
  readonly requireRoom?: (bytes: number) => Promise<void>
  /** Closes a descriptor when a permit is free, however long that takes. */
  close(call: () => Promise<void>): Promise<void>
  /**
   * Runs a job on many entries in the storage host's own thread: for a single call, passing it to a thread costs more than the work. `work`
   * holds its resources until its job has ended, even if that is long after the time limit. @param work its signal cancels a job that has
   * not begun within the time limit @throws AppError `storage_away` if the job does not end in time
   */
  batch<T>(work: (thread: BatchThread, signal: AbortSignal) => Promise<T>): Promise<T>
  /**
   * Like `batch`, for short jobs of several calls on one path: passing them to a thread one by one costs more than the calls. They run in
   * threads of their own.
   *
   * @param late receives a result that comes after the time limit, as in `CallOptions`
   */
  path<T>(
    work: (threads: Pick<BatchThread, 'run'>, signal: AbortSignal) => Promise<T>,
    late?: (result: T) => unknown,
  ): Promise<T>
}

export interface CallOptions<T> {
  /** Receives a result that comes after the time limit: anything that the call opened must be closed. */
  readonly late?: (result: T) => unknown
  /** Time limit of the call, including the wait for a permit. */
  readonly answerMs?: number
}

interface Options {
  /** Number of threads on which libuv runs calls. */
  readonly threads?: number
  readonly answerMs?: number
}

/** Calls of this process that have begun and not returned. */
let inFlight = 0

async function counted<T>(work: () => Promise<T>): Promise<T> {
  inFlight++
  try {
    return await work()
  } finally {
    inFlight--
  }
}

/**
 * Whether a call to a storage has begun and not returned. Then this process cannot exit: it would wait for the thread of the call. Counted
 * for the whole process, which shares the threads.
 */
export const hasCallsInFlight = (): boolean => inFlight > 0

/** @param user whose turn the calls take; the manager's own if left out */
export type CallsOf = (host: string, user?: string) => StorageCalls

/**
 * Limits the calls to file systems that are in flight, for each storage host and for all together. Each call occupies a thread of libuv
 * until it returns, and there are few: without limits, one storage that does not answer would stop sign-ins, name look-ups and all other
 * storages. Users take turns at the permits and at the thread of a storage host, so a user with hundreds of requests slows down only their
 * own.
 */
export function createStorageCalls(options: Options = {}): CallsOf {
  const { threads = poolSize(), answerMs = ANSWER_MS } = options
  const total = Math.max(1, threads - RESERVED)
  const all = createSemaphore(total)
  const byHost = new Map<string, SharedParts>()
  return (host, user = '') => {
    let parts = byHost.get(host)
    if (!parts) {
      const own = createSemaphore(Math.min(MOST_PER_HOST, Math.max(1, Math.floor(total / 2))))
      byHost.set(
        host,
        (parts = { semaphores: [own, all], thread: createBatchThread(), paths: createBatchThreads(PATH_THREADS) }),
      )
    }
    return createCalls({ host, user }, parts, answerMs)
  }
}

/** @see https://docs.libuv.org/en/v1.x/threadpool.html */
function poolSize(): number {
  const size = Number.parseInt(process.env.UV_THREADPOOL_SIZE ?? '4', 10)
  return size >= 1 ? Math.min(size, 1024) : 4
}

/** Parts of a storage host that all users share. */
interface SharedParts {
  readonly semaphores: readonly Semaphore[]
  readonly thread: BatchThread
  readonly paths: Pick<BatchThread, 'run'>
}

function createCalls(
  { host, user }: { readonly host: string; readonly user: string },
  { semaphores, thread, paths }: SharedParts,
  usualMs: number,
): StorageCalls {
  const away = () => new AppError('storage_away', { name: host, ...because('storage_silent', { storage: host }) })

  /**
   * Takes a permit of each semaphore if all are free: most calls need not wait, and a signal for waiting costs more than everything else.
   */
  function enterNow(): (() => void) | undefined {
    const taken: (() => void)[] = []
    const leave = () => taken.forEach(one => one())
    for (const one of semaphores) {
      const permit = one.takeFree(user)
      if (!permit) {
        leave()
        return undefined
      }
      taken.push(permit)
    }
    return leave
  }

  /** Takes a permit of each semaphore. */
  async function enter(signal?: AbortSignal): Promise<() => void> {
    const taken: (() => void)[] = []
    const leave = () => taken.forEach(one => one())
    try {
      for (const one of semaphores) taken.push(await one.take(user, { signal }))
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  const ofUser = ({ run }: Pick<BatchThread, 'run'>): Pick<BatchThread, 'run'> => ({
    run: (kind, request, options) => run(kind, request, { ...options, user }),
  })
  const own: BatchThread = { ...ofUser(thread), hold: () => thread.hold() }
  const ownPaths = ofUser(paths)

  /** Runs jobs within the time limit. @param late as in `CallOptions` */
  async function withinLimit<T>(
    work: (signal: AbortSignal) => Promise<T>,
    late: (result: T) => unknown = () => undefined,
  ): Promise<T> {
    const { promise: isOver, reject } = Promise.withResolvers<never>()
    const deadline = new AbortController()
    const timer = setTimeout(() => {
      deadline.abort(away())
      reject(away())
    }, usualMs)
    const result = counted(() => work(deadline.signal))
    try {
      return await Promise.race([result, isOver])
    } finally {
      clearTimeout(timer)
      if (deadline.signal.aborted) void result.then(late, () => undefined)
    }
  }

  return {
    batch: work => withinLimit(signal => work(own, signal)),
    path: (work, late) => withinLimit(signal => work(ownPaths, signal), late),
    async run(call, { late, answerMs = usualMs } = {}) {
      const { promise: isOver, reject } = Promise.withResolvers<never>()
      const leaveNow = enterNow()
      const deadline = leaveNow ? undefined : new AbortController()
      const timer = setTimeout(() => {
        deadline?.abort(away())
        reject(away())
      }, answerMs)
      let isLate = false
      const work = leaveNow
        ? counted(call).finally(leaveNow)
        : enter(deadline?.signal).then(leave => counted(call).finally(leave))
      try {
        return await Promise.race([work, isOver])
      } catch (error) {
        isLate = true
        throw error
      } finally {
        clearTimeout(timer)
        // The caller has already got `storage_away`, so a late error is dropped.
        if (isLate) void work.then(late, () => undefined)
      }
    },
    async close(call) {
      const leave = await enter()
      await counted(call).finally(leave)
    },
  }
}
