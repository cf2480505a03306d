import { setTimeout as delay } from 'node:timers/promises'
import { type ApiClient, type AgentPull, type RescanProgress, type Task } from '#manager/contract'
import { EXIT } from '../exit-codes.ts'
import { untilInterrupted } from '../interrupt.ts'
import { printable } from '../output.ts'
import { bytes } from './text.ts'

const LOOK_EVERY_MS = 500

/**
 * Shows on standard error how far long work of the manager is, until it ends; Ctrl-C cancels it there. What did not end well
 * sets the exit code.
 */
export async function followTask(api: ApiClient, task: Task): Promise<Task> {
  const interrupted = untilInterrupted()
  const line = createProgressLine(process.stderr)
  let now = task
  let cancelled = false
  while (now.status === 'running') {
    line.show(describeTask(now))
    await delay(LOOK_EVERY_MS, undefined, { signal: cancelled ? undefined : interrupted }).catch(() => undefined)
    const params = { id: task.id }
    now = interrupted.aborted && !cancelled ? await api.cancelTask({ params }) : await api.getTask({ params })
    cancelled = interrupted.aborted
  }
  line.end(describeTask(now))
  if (now.status !== 'done') process.exitCode = EXIT.failed
  return now
}

/** One line for a person. */
export function describeTask(task: Task): string {
  const what = task.rescan ? describeRescan(task.rescan) : describePulls(task.pull ?? [])
  const outcome = task.error ? `${task.status}: ${task.error.message}` : task.status
  return `${task.target}: ${what}${task.status === 'running' ? '' : ` (${outcome})`}`
}

function describeRescan(progress: RescanProgress): string {
  const { repositoriesDone, repositoriesTotal, tagsDone, tagsTotal, images, unlabelled, removed, problemsTotal } =
    progress
  return [
    `${repositoriesDone}/${repositoriesTotal} repositories`,
    `${tagsDone}/${tagsTotal} tags`,
    `${images} images`,
    ...(unlabelled > 0 ? [`${unlabelled} without labels`] : []),
    ...(removed > 0 ? [`${removed} gone`] : []),
    ...(problemsTotal > 0 ? [`${problemsTotal} with problems`] : []),
  ].join(', ')
}

function describePulls(pulls: readonly AgentPull[]): string {
  return pulls
    .map(({ agentName, status, progress, error }) => {
      if (status !== 'pulling' || !progress) return `${agentName} ${error ? `${status}: ${error.message}` : status}`
      const { layersDone, layersTotal, bytesDone, bytesTotal } = progress
      return `${agentName} ${layersDone}/${layersTotal} layers, ${bytes(bytesDone)} of ${bytes(bytesTotal)}`
    })
    .join('; ')
}

/** In a terminal one line that is written over; elsewhere (a log) a new one when something changed. */
function createProgressLine(out: NodeJS.WriteStream): { show(text: string): void; end(text: string): void } {
  let last = ''
  const write = (text: string, end: string) => {
    const shown = printable(text)
    if (out.isTTY) out.write(`\r\u001b[K${shown.slice(0, (out.columns || 80) - 1)}${end}`)
    else if (shown !== last) out.write(`${shown}\n`)
    last = shown
  }
  return {
    show: text => write(text, ''),
    end(text) {
      // Whole, whatever the width.
      if (out.isTTY) out.write('\r\u001b[K')
      out.write(`${printable(text)}\n`)
    },
  }
}
