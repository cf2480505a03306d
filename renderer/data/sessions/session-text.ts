import { mdiAlertCircle, mdiCheckCircle } from '@mdi/js'
import {
  choiceText,
  isFinished,
  parseAmount,
  parseSlots,
  type ResourceSlots,
  type Session,
  type SessionStatus,
  SLOT_NAMES,
  type UserId,
} from '#manager/contract'
import { serverNow } from '../../api/server-clock.ts'
import { formatBytes, formatCores, formatNumber } from '../../ui/format.ts'
import { t } from '../../words/en/sessions.ts'
import { reasonText } from './reason-text.ts'

export type Tone = 'neutral' | 'busy' | 'good' | 'warn' | 'bad'
export interface StatusText {
  readonly label: string
  readonly tone: Tone
  /** True while something is in progress. */
  readonly pulse: boolean
  /** SVG path of a glyph that repeats the meaning of the colour; a dot is shown if there is none. */
  readonly icon?: string
  /** The reason as a sentence; empty if the label says it all. */
  readonly reason: string
}

const STATUS: Readonly<Record<SessionStatus, Omit<StatusText, 'label' | 'reason'>>> = {
  PENDING: { tone: 'warn', pulse: true },
  SCHEDULED: { tone: 'busy', pulse: true },
  PREPARING: { tone: 'busy', pulse: true },
  PULLING: { tone: 'busy', pulse: true },
  RUNNING: { tone: 'good', pulse: false },
  TERMINATING: { tone: 'busy', pulse: true },
  TERMINATED: { tone: 'neutral', pulse: false },
  CANCELLED: { tone: 'neutral', pulse: false },
  ERROR: { tone: 'bad', pulse: false, icon: mdiAlertCircle },
}

export function statusLabel(status: SessionStatus): string {
  return t(status)
}

type Told = Pick<Session, 'status' | 'reason' | 'reachable' | 'queuePosition'> &
  Partial<Pick<Session, 'result' | 'kernels'>>

/** True for errors and for a batch job whose command failed: the manager calls it terminated, its owner calls it failed. */
export function hasFailed({ status, result, reason }: Pick<Told, 'status' | 'result' | 'reason'>): boolean {
  return status === 'ERROR' || (status === 'TERMINATED' && result === 'failure' && reason.code === 'exited')
}

/** The status under which lists filter and sort a session: `ERROR` also for a failed batch job. */
export function shownStatus(session: Pick<Told, 'status' | 'result' | 'reason'>): SessionStatus {
  return hasFailed(session) ? 'ERROR' : session.status
}

const ORDINAL = new Intl.PluralRules('en', { type: 'ordinal' })
/** The position in the queue, such as `3rd in line`; only English needs the ending of the number. */
const positionText = (position: number) => t('position', { position, which: ORDINAL.select(position) })

/** Reasons that a running session shows for a while. */
const TOLD_WHILE_RUNNING = ['memory_killed', 'gpu_failed', 'gpu_warned']

/** The state of a session in words, for the list, the detail and the terminal. */
export function statusText(session: Told, now = serverNow()): StatusText {
  const { status, reason, reachable, queuePosition } = session
  if (status === 'RUNNING' && !reachable) {
    return { label: t('unreachable'), tone: 'warn', pulse: true, reason: t('unreachableWhy') }
  }
  const message = reasonText(reason).replace(/\.$/, '')
  if (status === 'PENDING') {
    const position = queuePosition === null || reason.code === 'reserved' ? '' : positionText(queuePosition)
    return { ...STATUS.PENDING, label: t('PENDING'), reason: [message, position].filter(Boolean).join(' · ') }
  }
  if (status === 'TERMINATED' && hasFailed(session)) {
    const code = session.kernels?.find(({ role }) => role === 'main1')?.exitCode ?? null
    return { ...STATUS.ERROR, label: code === null ? t('ERROR') : t('failedWithExit', { code }), reason: message }
  }
  if (status === 'TERMINATED' && session.result === 'success') {
    return { ...STATUS.TERMINATED, label: t('succeeded'), tone: 'good', icon: mdiCheckCircle, reason: message }
  }
  const isNew = reason.until === undefined || Date.parse(reason.until) > now.getTime()
  const isTold = status !== 'RUNNING' || (TOLD_WHILE_RUNNING.includes(reason.code) && isNew)
  return { ...STATUS[status], label: t(status), reason: isTold ? message : '' }
}

/** How long an agent keeps the home folder of an ended session by default; less if its disk space is short. */
const KEPT_MS = 24 * 3600_000
type Left = Pick<Session, 'status' | 'startedAt' | 'endedAt' | 'kernels'>

/** Whether the agent may still keep the home folder: the session ran, ended less than `KEPT_MS` ago, and had one container. */
export function leftFiles({ status, startedAt, endedAt, kernels }: Left, now: Date): boolean {
  if (!isFinished(status) || startedAt === null || endedAt === null || kernels.length !== 1) return false
  return now.getTime() - Date.parse(endedAt) < KEPT_MS
}

/** Whether the use of resources is shown: that of a session whose agent cannot be reached is stale. */
export const hasStats = ({ status, reachable }: Pick<Session, 'status' | 'reachable'>) =>
  status === 'RUNNING' && reachable

type Request = Pick<Session, 'requested' | 'clusterSize'> & Partial<Pick<Session, 'gpu'>>

/** Slots that all containers of a session request together. */
export function wholeRequest({ requested, clusterSize }: Request): ResourceSlots {
  const slots = parseSlots(requested)
  return Object.fromEntries(
    SLOT_NAMES.flatMap(name => (slots[name] === undefined ? [] : [[name, slots[name] * clusterSize]])),
  )
}

/** `2 CPU · 4 GiB · 1 GPU`; `3 × 2 CPU · 4 GiB · 1 GPU` for three containers. */
export function resourcesText(session: Request): string {
  return [computeText(session), gpuText(session)].filter(Boolean).join(' · ')
}

export function shmemText(session: Pick<Session, 'shmem'>): string {
  return t('sharedMemory', { size: formatBytes(parseAmount('mem', session.shmem) ?? 0) })
}

/** The resources on two short lines: `2 CPU · 4 GiB`, and GPUs with shared memory. The first has the number of containers. */
export function resourceLines(session: Request & Pick<Session, 'shmem'>): readonly [string, string] {
  const shmem = t('sharedShort', { size: formatBytes(parseAmount('mem', session.shmem) ?? 0) })
  return [computeText(session), [gpuText(session), shmem].filter(Boolean).join(' · ')]
}

/** The lines of `resourceLines` as one, in words: for several containers it says that each has these resources. */
export function resourcesHint(session: Request & Pick<Session, 'shmem'>): string {
  const size = resourceLines({ ...session, clusterSize: 1 })
    .filter(Boolean)
    .join(' · ')
  return session.clusterSize === 1 ? size : t('eachOf', { count: session.clusterSize, size })
}

function computeText({ requested, clusterSize }: Request): string {
  const { cpu = 0, mem = 0 } = parseSlots(requested)
  const one = `${formatCores(cpu)} CPU · ${formatBytes(mem)}`
  return clusterSize === 1 ? one : `${clusterSize} × ${one}`
}

function gpuText({ requested, gpu }: Request): string {
  const chosen = gpu ? ` (${choiceText(gpu)})` : ''
  const { 'cuda.device': gpus = 0, 'cuda.shares': shares = 0 } = parseSlots(requested)
  if (gpus > 0) return `${gpus} GPU${chosen}`
  return shares > 0 ? `${formatNumber(shares / 100)} fGPU${chosen}` : ''
}

/** `registry.example.com:5000/team/python:3.13` → `team/python:3.13`: the part by which people know an image. */
export function imageText(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  return rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost')
    ? rest.join('/')
    : reference
}

/** May this person end the session now? Members with whom it is shared never. */
export function canTerminate(session: Pick<Session, 'status' | 'sharedAs'>): boolean {
  if (session.sharedAs !== null) return false
  return ['PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING'].includes(session.status)
}

/** The reason why this person cannot open the apps and the terminal of a session now; empty if they can. */
export function entryHindrance(
  session: Pick<Session, 'ownerId' | 'ownerEmail' | 'sharedAs' | 'status' | 'reachable'>,
  userId: UserId | undefined,
): string {
  const { ownerId, ownerEmail: owner, sharedAs, status, reachable } = session
  if (ownerId !== userId && sharedAs !== 'use') return t(sharedAs === 'view' ? 'viewOnly' : 'ownerOnly', { owner })
  if (isFinished(status)) return t('hasEnded')
  if (status !== 'RUNNING') return t('onceRunning')
  return reachable ? '' : t('hostAway')
}

/** The line below the name of a session in lists: whether it is shared, its image, its tags. */
export function aboutText(session: Pick<Session, 'image' | 'tags' | 'sharedAs' | 'sharedWith'>): string {
  return [sharedMark(session), imageText(session.image), ...session.tags.map(tag => `#${tag}`)]
    .filter(Boolean)
    .join(' · ')
}

/** Whether a session is shared, from the point of view of the person; empty if it is not. */
export function sharedText({ sharedAs, sharedWith }: Pick<Session, 'sharedAs' | 'sharedWith'>): string {
  if (sharedAs !== null) return t(sharedAs === 'use' ? 'sharedToUse' : 'sharedToView')
  return sharedWith ? t('sharedWith', { count: sharedWith }) : ''
}

/** Like `sharedText`, in one or two words, for lists. */
function sharedMark({ sharedAs, sharedWith }: Pick<Session, 'sharedAs' | 'sharedWith'>): string {
  if (sharedAs !== null) return t(sharedAs === 'use' ? 'markUse' : 'markView')
  return sharedWith ? t('markWith', { count: sharedWith }) : ''
}
