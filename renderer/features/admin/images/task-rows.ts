import { type AgentPull, type PullProgress, secondsLeft, type Task } from '#manager/contract'
import { messageText } from '../../../ui/cause-text.ts'
import { formatBytes, formatSeconds } from '../../../ui/format.ts'
import { t } from '../../../words/en/admin-images.ts'

export interface TaskBar {
  readonly label: string
  readonly text: string
  readonly fraction: number
}

export interface TaskRow {
  readonly task: Task
  readonly text: string
  /** Progress of a rescan, 0 to 1; null unless its total is known. */
  readonly fraction: number | null
  readonly agents: readonly (TaskBar & { readonly layers: readonly TaskBar[] })[]
  /** The end of the log of a build; empty without one. */
  readonly log: string
  /** Remarks for the administrator about a task that ended. */
  readonly remarks: readonly string[]
}

/** How long a task that ended with something to read stays on the page. */
const RECENT_MS = 10 * 60_000

/** Running tasks, and recent ones that failed or found something, without those that the administrator has closed. */
export function shownTasks(
  tasks: readonly Task[],
  { kinds, dismissed, now }: { kinds: readonly Task['kind'][]; dismissed: ReadonlySet<string>; now: number },
): readonly Task[] {
  return tasks.filter(task => {
    const { id, kind, status, endedAt } = task
    if (!kinds.includes(kind) || dismissed.has(id)) return false
    if (status === 'running') return true
    const isRecent = endedAt !== null && Date.parse(endedAt) > now - RECENT_MS
    return isRecent && (status === 'failed' || remarksOf(task).length > 0)
  })
}

export function taskRow(task: Task): TaskRow {
  const { rescan, pull, log = '' } = task
  const common = { task, remarks: remarksOf(task), log: log.trim() }
  if (rescan) {
    const { tagsDone, tagsTotal } = rescan
    const fraction = task.status === 'running' && tagsTotal > 0 ? tagsDone / tagsTotal : null
    return { ...common, text: rescanText(task), fraction, agents: [] }
  }
  return {
    ...common,
    text: agentsText(task),
    fraction: null,
    agents: task.kind === 'build' ? [] : (pull ?? []).map(one => agentBar(one, task.kind)),
  }
}

function rescanText({ status, rescan }: Task): string {
  if (!rescan) return ''
  const { tagsDone: done, tagsTotal: total, images } = rescan
  return status === 'done' ? t('rescanDone', { images }) : t('rescanText', { done, total })
}

/** An image is made on one agent, and pulled to many. */
function agentsText({ kind, pull }: Task): string {
  const [first] = pull ?? []
  if (kind === 'build' && first) return t('builtOn', { name: first.agentName })
  if (kind === 'save' && first) {
    return t(first.status === 'pushing' ? 'pushedFrom' : 'madeOn', { name: first.agentName })
  }
  const done = pull?.filter(({ status }) => status === 'done').length ?? 0
  return t('pullText', { done, total: pull?.length ?? 0 })
}

function agentBar({ agentName, status, progress, error, from }: AgentPull, kind: Task['kind']) {
  const isMade = kind === 'save' && status === 'pulling'
  const bytes = progress ? progressText(progress) : ''
  const state = bytes || (isMade ? t('making') : t(`pull_${status}`))
  return {
    label: agentName,
    text: messageText(error) ?? (from === undefined ? state : t('takenFrom', { text: state, name: from })),
    fraction: status === 'done' ? 1 : fractionOf(progress),
    layers: (progress?.layers ?? []).map(layer => ({
      label: layer.id.replace('sha256:', '').slice(0, 12),
      text: [layerState(layer.status), bytesText(layer)].filter(Boolean).join(' · '),
      fraction: layerFraction(layer),
    })),
  }
}

/** Our word for the engine's state of a layer. @see Docker Engine API, "ImageCreate" and "ImagePush" */
function layerState(status: string): string {
  if (/exists/i.test(status)) return t('layerThere')
  if (/^(pull complete|pushed|mounted)/i.test(status)) return t('pull_done')
  if (/^pushing/i.test(status)) return t('pull_pushing')
  if (/^(extracting|download complete|verifying)/i.test(status)) return t('layerUnpacking')
  return t(/^downloading/i.test(status) ? 'pull_pulling' : 'pull_waiting')
}

type Bytes = Pick<NonNullable<AgentPull['progress']>, 'bytesDone' | 'bytesTotal'>
type Layer = NonNullable<AgentPull['progress']>['layers'][number]
const bytesText = ({ bytesDone, bytesTotal }: Bytes) =>
  bytesTotal > 0 ? `${formatBytes(bytesDone)} / ${formatBytes(bytesTotal)}` : ''
/** With the rate and the time that is left, where they are measured. */
function progressText(progress: PullProgress): string {
  const bytes = bytesText(progress)
  const left = secondsLeft(progress)
  if (bytes === '' || left === undefined) return bytes
  return t('pulledLeft', { bytes, rate: formatBytes(progress.bytesPerSecond ?? 0), left: formatSeconds(left) })
}
const fractionOf = (bytes: Bytes | null) => (bytes && bytes.bytesTotal > 0 ? bytes.bytesDone / bytes.bytesTotal : 0)
/** A layer that the engine has already has no size. */
const layerFraction = (layer: Layer) =>
  layer.bytesTotal > 0 ? fractionOf(layer) : /complete|exists|pushed|mounted/i.test(layer.status) ? 1 : 0

function remarksOf({ status, error, rescan }: Task): readonly string[] {
  if (status === 'running') return []
  const failure = status === 'failed' ? [messageText(error) ?? t('failed')] : []
  if (!rescan) return failure
  const { unlabelled, removed, problems, problemsTotal } = rescan
  return [
    ...failure,
    ...(unlabelled > 0 ? [t('rescanUnlabelled', { count: unlabelled })] : []),
    ...(removed > 0 ? [t('rescanRemoved', { count: removed })] : []),
    ...problems.slice(0, FEW_PROBLEMS).map(({ reference, why }) => t('rescanProblem', { reference, why })),
    ...(problemsTotal > FEW_PROBLEMS ? [t('rescanMoreProblems', { count: problemsTotal - FEW_PROBLEMS })] : []),
  ]
}
const FEW_PROBLEMS = 5
