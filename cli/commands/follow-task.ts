import {
  type ApiClient,
  type AgentPull,
  type CopyLeftOut,
  type FolderId,
  type RescanProgress,
  secondsLeft,
  type SessionId,
  type Task,
} from '#manager/contract'
import { counted } from '../counted.ts'
import { EXIT } from '../exit-codes.ts'
import { type Output, printable } from '../output.ts'
import { pollUntil } from '../poll.ts'
import { bytes } from './text.ts'

/**
 * Shows the progress of a manager's task on standard error until it ends. When `signal` fires, the task is cancelled on the
 * manager. A task that did not end well sets the exit code.
 */
export function followTask(api: ApiClient, task: Task, signal: AbortSignal): Promise<Task> {
  const params = { id: task.id }
  return follow(task, signal, {
    ask: signal => api.getTask({ params, ...(signal && { signal }) }),
    cancel: () => api.cancelTask({ params }),
  })
}

/** As `followTask`, for a copy in a folder. */
export function followCopy(api: ApiClient, folderId: FolderId, task: Task, signal: AbortSignal): Promise<Task> {
  const params = { id: folderId, taskId: task.id }
  return follow(task, signal, {
    ask: signal => api.getCopy({ params, ...(signal && { signal }) }),
    cancel: () => api.cancelCopy({ params }),
  })
}

/** Says what a copy lacks. */
export function tellLeftOut(output: Pick<Output, 'note'>, leftOut: CopyLeftOut | undefined): void {
  if (!leftOut) return
  for (const path of leftOut.paths)
    output.note(
      `left out, because it is no regular file, may not be read, or lies more than 128 directories deep: ${path}`,
    )
  const more = leftOut.total - leftOut.paths.length
  if (more > 0) output.note(`left out for the same reasons: ${more} more`)
}

/** As `followTask`, for an image of a session, by its owner. */
export function followSessionImage(api: ApiClient, id: SessionId, task: Task, signal: AbortSignal): Promise<Task> {
  const params = { id }
  const ask = async (signal?: AbortSignal) =>
    (await api.getSessionImage({ params, ...(signal && { signal }) })).task ?? task
  return follow(task, signal, {
    ask,
    async cancel() {
      await api.cancelSessionImage({ params })
      return ask()
    },
  })
}

interface TaskCalls {
  /** Ends early when the signal fires. */
  readonly ask: (signal?: AbortSignal) => Promise<Task>
  readonly cancel: () => Promise<Task>
}

async function follow(task: Task, signal: AbortSignal, { ask, cancel }: TaskCalls): Promise<Task> {
  const line = createProgressLine(process.stderr)
  const note = (text: string) => line.keep(text)
  const done = (now: Task) => {
    if (now.status === 'running') line.show(describeTask(now))
    return now.status !== 'running'
  }
  let now = await pollUntil({ first: task, ask: () => ask(signal), done, signal, note })
  if (now.status === 'running') {
    now = await pollUntil({ first: await cancel(), ask: () => ask(), done, note })
  }
  line.keep(describeTask(now))
  if (now.status !== 'done') process.exitCode = EXIT.failed
  return now
}

/** Description of a task in one line. */
export function describeTask(task: Task): string {
  const what = task.backup
    ? counted(task.backup.rows, 'row')
    : task.copy
      ? `${counted(task.copy.files, 'file')}, ${bytes(task.copy.bytes)}`
      : task.rescan
        ? describeRescan(task.rescan)
        : describePulls(task.pull ?? [])
  const outcome = task.error ? `${task.status}: ${task.error.message}` : task.status
  return `${task.target}: ${what}${task.status === 'running' ? '' : ` (${outcome})`}`
}

function describeRescan(progress: RescanProgress): string {
  const { repositoriesDone, repositoriesTotal, tagsDone, tagsTotal, images, unlabelled, removed, problemsTotal } =
    progress
  return [
    `${repositoriesDone}/${repositoriesTotal} repositories`,
    `${tagsDone}/${tagsTotal} tags`,
    counted(images, 'image'),
    ...(unlabelled > 0 ? [`${unlabelled} without labels`] : []),
    ...(removed > 0 ? [`${removed} gone`] : []),
    ...(problemsTotal > 0 ? [`${problemsTotal} with problems`] : []),
  ].join(', ')
}

function describePulls(pulls: readonly AgentPull[]): string {
  return pulls
    .map(({ agentName, status, progress, error, from }) => {
      if ((status !== 'pulling' && status !== 'pushing') || !progress)
        return `${agentName} ${error ? `${status}: ${error.message}` : status}`
      const { layersDone, layersTotal, bytesDone, bytesTotal } = progress
      const left = secondsLeft(progress)
      const pace = left === undefined ? '' : `, ${bytes(progress.bytesPerSecond ?? 0)}/s, about ${String(left)} s left`
      const giver = from === undefined ? '' : ` from ${from}`
      return `${agentName} ${layersDone}/${layersTotal} layers, ${bytes(bytesDone)} of ${bytes(bytesTotal)}${giver}${pace}`
    })
    .join('; ')
}

/** Output of progress: in a terminal, one line that is overwritten; elsewhere (a log), a new line for each change. */
function createProgressLine(out: NodeJS.WriteStream): { show(text: string): void; keep(text: string): void } {
  let last = ''
  return {
    show(text) {
      const shown = printable(text)
      if (out.isTTY) out.write(`\r\u001b[K${shown.slice(0, (out.columns || 80) - 1)}`)
      else if (shown !== last) out.write(`${shown}\n`)
      last = shown
    },
    keep(text) {
      // The whole text, whatever the width of the terminal.
      if (out.isTTY) out.write('\r\u001b[K')
      out.write(`${printable(text)}\n`)
    },
  }
}
