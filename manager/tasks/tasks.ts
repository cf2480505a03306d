import { setTimeout as delay } from 'node:timers/promises'
import { defined } from '#base/defined'
import { every } from '#base/every'
import { AppError, because, type Task, failureText, type UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import {
  askTaskToCancel,
  endDeadTasks,
  endTask,
  findRunningSole,
  findTask,
  insertTask,
  listTasks,
  saveTaskProgress,
  type TaskRow,
} from '../store/operation/tasks.ts'

export type TaskDetail = TaskRow['detail']

export interface TaskSpec {
  readonly kind: Task['kind']
  readonly target: string
  readonly startedBy: string
  /** The user to whom the task is shown; superadmins see all tasks. */
  readonly userId?: UserId
  readonly detail: TaskDetail
  /** Does the work and reports progress. Throws if it cannot continue; throws the reason of the signal if cancelled. */
  readonly run: (task: { id: string; signal: AbortSignal; report: (detail: TaskDetail) => void }) => Promise<void>
}

/**
 * Long-running work: of admins on images, of users on files. A task is a row that every manager can read and cancel; the manager that does
 * the work updates the row regularly. If its manager ends, the task ends as cancelled: at once if the manager stops, or after DEAD_AFTER_MS
 * without an update if it dies.
 */
export interface Tasks extends AsyncDisposable {
  /**
   * Starts a task. Some tasks run one at a time: rescans of a registry, backups, builds and saves of one name, and saves of one session. A
   * second start returns the running task.
   */
  start(spec: TaskSpec): Promise<Task>
  /** @param viewer only tasks of this user; all if left out */
  list(viewer?: UserId): Promise<Task[]>
  /** @throws AppError `task_not_found`, also if the task is not the viewer's */
  get(id: string, viewer?: UserId): Promise<Task>
  /**
   * Waits until the task has ended, for at most five seconds: a call to a storage that does not answer cannot be cancelled, and ends later.
   * @throws AppError `task_not_found`, also if the task is not the viewer's
   */
  cancel(id: string, viewer?: UserId): Promise<Task>
}

export interface TasksDeps {
  readonly store: Store
  readonly events: EventPublisher
  readonly log: Log
}

const SAVE_EVERY_MS = 500
const DEAD_AFTER_MS = 15_000
const SHOWN = 100
const CANCEL_MS = 5_000

const CANCELLED = new AppError('unavailable', because('task_cancelled'))
const STOPPED = new AppError('unavailable', because('task_stopped'))

export function createTasks({ store, events, log }: TasksDeps): Tasks {
  const running = new Map<string, { controller: AbortController; done: Promise<void> }>()
  const hint = (id: string, version: number, userId: UserId | null = null) =>
    events.publish({ topic: 'task', id, version }, userId === null ? 'superadmins' : { userId })

  async function perform(id: string, spec: TaskSpec, controller: AbortController): Promise<void> {
    const { signal } = controller
    let detail = spec.detail
    const save = async () => {
      const row = await saveTaskProgress(store.db, id, detail)
      if (row) hint(id, row.version, spec.userId)
      if (!row || row.cancel_asked) controller.abort(CANCELLED)
    }
    const saving = every(SAVE_EVERY_MS, save, error => log.warn({ err: error, task: id }, 'progress was not saved'))
    let outcome: Pick<TaskRow, 'status' | 'error'> = { status: 'done', error: null }
    try {
      await spec.run({ id, signal, report: next => (detail = next) })
    } catch (error) {
      if (!signal.aborted && !(error instanceof AppError)) log.error({ err: error, task: id }, 'a task failed')
      const failure = failureText(signal.aborted ? signal.reason : error)
      outcome = { status: signal.aborted ? 'cancelled' : 'failed', error: failure }
    } finally {
      await saving[Symbol.asyncDispose]()
    }
    const version = await endTask(store.db, id, { ...outcome, detail })
    if (version !== undefined) hint(id, version, spec.userId)
  }

  /** Ends tasks whose manager has died. Every read calls this, so no timer is needed. */
  async function sweep(): Promise<void> {
    for (const { id, version, user_id } of await endDeadTasks(store.db, DEAD_AFTER_MS, failureText(STOPPED)))
      hint(id, version, user_id)
  }

  async function get(id: string, viewer?: UserId): Promise<Task> {
    await sweep()
    const row = await findTask(store.db, id)
    if (!row || (viewer !== undefined && row.user_id !== viewer)) throw new AppError('task_not_found', { taskId: id })
    return toTask(row)
  }

  return {
    get,
    async start(spec) {
      await sweep()
      const id = newUuid()
      if (!(await insertTask(store.db, { ...spec, id }))) {
        const other = await findRunningSole(store.db, { ...spec, sessionId: spec.detail.sessionId ?? undefined })
        if (other) return toTask(other)
        throw new AppError('unavailable', because('task_just_ending'))
      }
      const controller = new AbortController()
      const done = perform(id, spec, controller)
        .catch((error: unknown) => log.error({ err: error, task: id }, 'the end of a task was not saved'))
        .finally(() => running.delete(id))
      running.set(id, { controller, done })
      return get(id)
    },
    async list(viewer) {
      await sweep()
      return (await listTasks(store.db, SHOWN, viewer)).map(toTask)
    },
    async cancel(id, viewer) {
      await get(id, viewer)
      const own = running.get(id)
      own?.controller.abort(CANCELLED)
      // The manager of the task sees the cancellation in the row within half a second.
      if (own) await Promise.race([own.done, delay(CANCEL_MS, undefined, { ref: false })])
      else await askTaskToCancel(store.db, id)
      return get(id)
    },
    async [Symbol.asyncDispose]() {
      for (const { controller } of running.values()) controller.abort(STOPPED)
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}

function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    kind: row.kind,
    target: row.target,
    status: row.status,
    error: row.error,
    rescan: row.detail.rescan,
    pull: row.detail.pull,
    copy: row.detail.copy ?? null,
    backup: row.detail.backup ?? null,
    sessionId: row.detail.sessionId ?? null,
    ...defined({ log: row.detail.log }),
    startedBy: row.started_by,
    createdAt: row.created_at.toISOString(),
    endedAt: row.ended_at?.toISOString() ?? null,
    version: row.version,
  }
}
