import { join } from 'node:path'
import { every, type Repeated } from '#base/every'
import {
  AppError,
  type Backups as Listing,
  type BackupRun,
  because,
  type ErrorCode,
  isAppError,
  type SystemSettings,
  type Task,
  toProblem,
} from '#manager/contract'
import { type Log } from '../log.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { type BackupState, changeBackupState, readBackupState } from '../store/operation/backups.ts'
import { type TaskDetail, type Tasks } from '../tasks/tasks.ts'
import { type BackupDirectory, backupName, createBackupDirectory, toBackupError } from './directory.ts'
import { dueTimes } from './due.ts'
import { type TellDeps } from '../mail/tell-superadmins.ts'
import { tellBackupFailed } from './notify.ts'

/**
 * Backups that Berth makes in a directory of the manager's computer: every day if the settings say so, and on request. Every manager checks
 * whether one is due; the first to record that in the database makes it. If a due time of the present schedule passed while no manager ran,
 * the backup is made later. Old backups are deleted only once a new one is complete.
 */
export interface Backups extends AsyncDisposable {
  list(): Promise<Listing>
  /** Makes a backup now. If one is already being made, returns its task. @param startedBy e-mail address */
  start(startedBy: string): Promise<Task>
  /** @throws AppError `backup_not_found`, `backup_directory` */
  remove(name: string): Promise<void>
  /** Makes a backup if one is due, and waits until it has begun. */
  check(): Promise<void>
  /** From now on, checks every half minute. */
  watch(): void
}

export interface BackupsDeps extends TellDeps {
  /** The tasks of backups, which this closes: they end with it. */
  readonly tasks: Tasks
  /** Absolute path. */
  readonly directory: string
  /** Writes the database to a new file: complete or absent. Reports the number of rows so far. */
  readonly write: (file: string, options: { signal: AbortSignal; onRows: (rows: number) => void }) => Promise<unknown>
  /** Address of this manager. */
  readonly url: () => string
  readonly log: Log
  /** Milliseconds since 1970; default: the clock of the database. */
  readonly now?: () => number
  readonly everyMs?: number
  /** Free space that a backup leaves on its disk, because the database may be on the same disk and stops when that is full. */
  readonly floorBytes?: number
}

const EVERY_MS = 30_000
const FLOOR_BYTES = 256 * 2 ** 20
const DISK_CHECK_MS = 500

export function createBackups(deps: BackupsDeps): Backups {
  const { store, settings, tasks, write, url, log, everyMs = EVERY_MS, floorBytes = FLOOR_BYTES } = deps
  const directory = createBackupDirectory(deps.directory)
  const now = deps.now ?? (() => store.now())
  const iso = (time: number) => new Date(time).toISOString()
  let ending = false
  let checking: Repeated | undefined

  const change = (next: Parameters<typeof changeBackupState>[1]) =>
    store.transaction(trx => changeBackupState(trx, next))

  /** @param due the due time for which it is made; null on request */
  async function begin(startedBy: string | null, due: string | null): Promise<Task> {
    const target = await freeName()
    return tasks.start({
      kind: 'backup',
      target,
      startedBy: startedBy ?? 'Berth',
      detail: progress(0),
      run: task => make({ ...task, name: target, startedBy, due }),
    })
  }

  /** Names have seconds, and two backups may be requested within one. */
  async function freeName(): Promise<string> {
    const taken = new Set((await directory.list().catch(() => [])).map(({ name }) => name))
    let time = now()
    while (taken.has(backupName(time))) time += 1_000
    return backupName(time)
  }

  async function make({ id, signal, report, name, startedBy, due }: Making): Promise<void> {
    const begun: BackupRun = {
      startedAt: iso(now()),
      endedAt: null,
      outcome: 'running',
      startedBy,
      manager: url(),
      name,
      bytes: null,
      error: null,
    }
    await change(state => ({ ...state, last: { ...begun, taskId: id } }))
    try {
      await directory.prepare()
      await writeWithinSpace({ directory, floorBytes, write, name, signal, report })
      const { bytes } = (await directory.list()).find(item => item.name === name) ?? { bytes: null }
      await prune(deps, directory)
      const done: BackupRun = { ...begun, outcome: 'done', endedAt: iso(now()), bytes }
      await change(state => ({ ...state, last: { ...done, taskId: id }, lastDone: done }))
    } catch (cause) {
      const error = toBackupError(cause, directory.path)
      const outcome = signal.aborted ? 'cancelled' : 'failed'
      const problem = outcome === 'failed' ? toProblem(error) : null
      const ended: BackupRun = { ...begun, outcome, endedAt: iso(now()), error: problem }
      await change(state => ({
        ...state,
        last: { ...ended, taskId: id },
        // This manager stops: another one, or its next start, makes the backup.
        due: ending && state.due === due ? null : state.due,
      }))
      if (problem && startedBy === null) await tell(problem, isAppError(error) ? error.code : 'internal')
      throw error
    }
  }

  async function tell(problem: NonNullable<BackupRun['error']>, result: ErrorCode): Promise<void> {
    try {
      log.error({ problem }, 'a backup failed')
      const detail = { why: problem.detail ?? problem.title }
      await insertAuditRows(store.db, [toAuditRow({ action: 'backup', result, detail })])
      await tellBackupFailed(deps, problem)
    } catch (error) {
      log.error({ err: error }, 'nobody was told of a failed backup')
    }
  }

  /** A backup whose manager has died has failed. If the database was away, too, that was not recorded yet. */
  async function settle(): Promise<BackupState> {
    const state = await readBackupState(store.db)
    const { last } = state
    if (last?.outcome !== 'running') return state
    const task = await tasks.get(last.taskId).catch(() => undefined)
    if (task?.status === 'running') return state
    const error = toProblem(new AppError('unavailable', because('backup_interrupted')))
    const ended = { ...last, outcome: 'failed', endedAt: iso(now()), error } as const
    const isOurs = await change(({ last: then, ...rest }) =>
      then?.taskId === last.taskId && then.outcome === 'running' ? { ...rest, last: ended } : undefined,
    )
    if (isOurs && last.startedBy === null) await tell(error, 'unavailable')
    return readBackupState(store.db)
  }

  async function check(): Promise<void> {
    const current = await settings.read()
    const times = timesOf(current, now())
    if (!times) return
    const due = iso(times.last)
    const state = await settle()
    if (isCaredFor(state, due, current) || state.last?.outcome === 'running') return
    const isOurs = await change(then => (isCaredFor(then, due, current) ? undefined : { ...then, due }))
    if (isOurs) await begin(null, due)
  }

  return {
    check,
    watch() {
      checking ??= every(everyMs, check, error =>
        log.error({ err: error }, 'whether a backup is due could not be found out'),
      )
    },
    start: startedBy => begin(startedBy, null),
    remove: name => directory.remove(name),
    async list() {
      const [state, current, all] = await Promise.all([settle(), settings.read(), tasks.list()])
      const times = timesOf(current, now())
      const files = await directory.list().then(
        items => ({ items, problem: null }),
        (error: unknown) => ({ items: [], problem: toProblem(error) }),
      )
      return {
        ...files,
        directory: directory.path,
        manager: url(),
        freeBytes: await directory.freeBytes(),
        nextAt: times ? iso(isCaredFor(state, iso(times.last), current) ? times.next : times.last) : null,
        running: all.find(({ kind, status }) => kind === 'backup' && status === 'running') ?? null,
        last: state.last && withoutTask(state.last),
        lastDone: state.lastDone,
      }
    },
    async [Symbol.asyncDispose]() {
      ending = true
      await checking?.[Symbol.asyncDispose]()
      await tasks[Symbol.asyncDispose]()
    },
  }
}

interface Making {
  readonly id: string
  readonly signal: AbortSignal
  readonly report: (detail: TaskDetail) => void
  readonly name: string
  readonly startedBy: string | null
  readonly due: string | null
}

interface Writing extends Pick<Making, 'signal' | 'report' | 'name'>, Pick<BackupsDeps, 'write'> {
  readonly directory: BackupDirectory
  readonly floorBytes: number
}

/** @throws AppError `disk_full` before the disk has less free space than the floor */
async function writeWithinSpace({ directory, floorBytes, write, name, signal, report }: Writing): Promise<void> {
  const full = new AbortController()
  const check = async () => {
    const free = await directory.freeBytes()
    if (free !== null && free < floorBytes) {
      full.abort(new AppError('disk_full', because('backup_disk_full', { directory: directory.path })))
    }
  }
  await check()
  full.signal.throwIfAborted()
  using _checking = every(DISK_CHECK_MS, check)
  await write(join(directory.path, name), {
    signal: AbortSignal.any([signal, full.signal]),
    onRows: rows => report(progress(rows)),
  })
}

/** The new backup is complete, so an error here does not make it a failed one. */
async function prune({ store, settings, log }: BackupsDeps, directory: BackupDirectory): Promise<void> {
  try {
    const { backupKeep: keep } = await settings.read()
    const names = await directory.prune(keep)
    const detail = { names, keep }
    if (names.length > 0)
      await insertAuditRows(store.db, [toAuditRow({ action: 'backupsPruned', result: 'ok', detail })])
  } catch (error) {
    log.error({ err: error }, 'old backups were not deleted')
  }
}

const progress = (rows: number): TaskDetail => ({ rescan: null, pull: null, backup: { rows } })
const withoutTask = ({ taskId: _, ...run }: NonNullable<BackupState['last']>): BackupRun => run

/** Whether a manager has handled this due time, a backup was made since, or the schedule was: it begins with its next time. */
function isCaredFor({ due, lastDone }: BackupState, time: string, settings: SystemSettings): boolean {
  return (
    (due !== null && due >= time) || (lastDone !== null && lastDone.startedAt >= time) || time < scheduledAt(settings)
  )
}

/** When the schedule was last changed, in ISO 8601; empty: never. */
const scheduledAt = ({ changes: { backupAt, backupTimeZone } }: SystemSettings): string =>
  [backupAt?.at ?? '', backupTimeZone?.at ?? ''].reduce((one, other) => (one > other ? one : other))

function timesOf({ backupAt, backupTimeZone }: SystemSettings, now: number): ReturnType<typeof dueTimes> | undefined {
  return backupAt === null ? undefined : dueTimes(now, { at: backupAt, timeZone: backupTimeZone })
}
