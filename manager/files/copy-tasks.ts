import { setTimeout as delay } from 'node:timers/promises'
import { defined } from '#base/defined'
import { createOpenCounts } from '#base/open-counts'
import { AppError, because, type FilesCopied, type FolderId, type Task } from '#manager/contract'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Tasks } from '../tasks/tasks.ts'
import { type Caller } from '../users/authorize.ts'
import { type LongRequests } from '../users/long-requests.ts'
import { type CopyProgress } from './copies.ts'

/** Time that a request waits for its copy, which then continues as a task. */
const PATIENCE_MS = 1_000
const REPORT_MS = 500
/** Largest number of concurrent copies of one person at one manager. */
const MOST_PER_USER = 8
const RETRY_AFTER_SECONDS = 5

/**
 * Runs copies: short ones within their request, long ones as tasks. A copy ends, with an error, when its caller may no longer make it, or
 * when the sign-in that began it ends.
 */
export interface CopyTasks {
  /** Counts one more copy, until it is disposed. @throws AppError `rate_limited` */
  enter(caller: Caller): Disposable
  run(copy: Copy, work: (progress: CopyProgress, signal: AbortSignal) => Promise<void>): Promise<FilesCopied>
  /** Copies of the caller in a folder. */
  list(caller: Caller, id: FolderId): Promise<Task[]>
  /** @throws AppError `task_not_found` */
  get(caller: Caller, id: FolderId, taskId: string): Promise<Task>
  /** @throws AppError `task_not_found` */
  cancel(caller: Caller, id: FolderId, taskId: string): Promise<Task>
}

export interface Copy {
  readonly caller: Caller
  readonly folder: Pick<FolderRow, 'id' | 'name'>
  /** Completed copies; grows while the work runs. */
  readonly items: FilesCopied['items']
  /** Checks again that the caller may still do this. @throws AppError */
  readonly check: () => Promise<unknown>
}

export interface CopyTasksDeps {
  readonly tasks: Pick<Tasks, 'start' | 'list' | 'get' | 'cancel'>
  readonly longRequests: Pick<LongRequests, 'watch'>
}

export function createCopyTasks({ tasks, longRequests }: CopyTasksDeps): CopyTasks {
  async function get({ userId }: Caller, id: FolderId, taskId: string): Promise<Task> {
    const task = await tasks.get(taskId, userId)
    if (task.copy?.folderId === id) return task
    throw new AppError('task_not_found', { taskId })
  }

  const counts = createOpenCounts()

  return {
    enter({ userId }) {
      const leave = counts.take(userId, MOST_PER_USER)
      if (leave) return { [Symbol.dispose]: leave }
      const why = because('copies_of_person', { limit: MOST_PER_USER })
      throw new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })
    },

    get,
    async list({ userId }, id) {
      return (await tasks.list(userId)).filter(({ copy }) => copy?.folderId === id)
    },
    async cancel(caller, id, taskId) {
      await get(caller, id, taskId)
      return tasks.cancel(taskId, caller.userId)
    },

    async run({ caller, folder, items, check }, work) {
      const cut = new AbortController()
      const progress: CopyProgress = { files: 0, bytes: 0 }
      const watched = longRequests.watch(caller, check, refusal => cut.abort(refusal))
      const done = work(progress, cut.signal).finally(() => watched[Symbol.dispose]())
      const inTime = await Promise.race([done.then(() => true), delay(PATIENCE_MS, false)])
      if (inTime) return { items, task: null, ...defined({ leftOut: progress.leftOut }) }
      const detail = () => ({ rescan: null, pull: null, copy: { folderId: folder.id, ...progress } })
      const start = tasks.start({
        kind: 'copy',
        target: folder.name,
        startedBy: caller.email,
        userId: caller.userId,
        detail: detail(),
        async run({ signal, report }) {
          const stop = () => cut.abort(signal.reason)
          if (signal.aborted) stop()
          signal.addEventListener('abort', stop, { once: true })
          const timer = setInterval(() => report(detail()), REPORT_MS)
          try {
            await done
          } finally {
            clearInterval(timer)
            report(detail())
          }
        },
      })
      try {
        return { items: [...items], task: await start }
      } catch (error) {
        cut.abort(error)
        await done.catch(() => undefined) // the copy ends because its task could not be recorded
        throw error
      }
    },
  }
}
