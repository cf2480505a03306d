import { durationText } from '#base/duration'
import { choiceText, parseSlots, type Session, type SessionEvent, type SessionStats } from '#manager/contract'
import { counted } from '../counted.ts'
import { table } from '../output.ts'
import { clusterRows, startText } from './session-waiting.ts'
import { age, amounts, bytes } from './text.ts'

/** A session in one line: id, name and status. */
export const describe = (session: Session) => `${session.id}  ${session.name}  ${session.status}`

function statusCell({ status, ends, interruptAt }: Session): string {
  if (interruptAt !== null)
    return `${status} (interrupted in ${durationText((Date.parse(interruptAt) - Date.now()) / 1000)})`
  const soon = ends?.warnedAt ? ` (ends in ${durationText((Date.parse(ends.at) - Date.now()) / 1000)})` : ''
  return status + soon
}

/** Table of sessions, with a column of owners if it includes sessions of others, and one of tags if there are any. */
export function sessionTable(items: readonly Session[], me: string): string {
  const others = items.some(one => one.ownerId !== me)
  const tagged = items.some(one => one.tags.length > 0)
  return table(
    ['ID', 'NAME', ...(others ? ['OWNER'] : []), 'STATUS', 'IMAGE', 'RESOURCES', 'AGE', ...(tagged ? ['TAGS'] : [])],
    items.map(one => [
      ...[one.id, one.name, ...(others ? [one.ownerEmail] : []), statusCell(one)],
      ...[one.image, resourcesCell(one), age(one.createdAt), ...(tagged ? [one.tags.join(' ')] : [])],
    ]),
  )
}

const resourcesCell = ({ clusterSize, requested, gpu }: Session) =>
  `${clusterSize > 1 ? `${clusterSize} × ` : ''}${amounts(requested)}${gpu ? ` (${choiceText(gpu)})` : ''}`

export function card(session: Session): string {
  const waits = session.queuePosition === null ? '' : ` (position ${session.queuePosition})`
  const rows = [
    ['id', session.id],
    ['name', session.name],
    ['owner', session.ownerEmail + (session.sharedAs ? ` (shared with you to ${session.sharedAs})` : '')],
    ...(session.launchedBy === null ? [] : [['launched', `by ${session.launchedBy}, who chose its command`]]),
    ...(session.sharedWith ? [['shared', membersText(session.sharedWith)]] : []),
    ...(session.tags.length > 0 ? [['tags', session.tags.join(' ')]] : []),
    ...(session.note === '' ? [] : [['note', session.note.replaceAll('\n', `\n${' '.repeat(11)}`)]]),
    ['status', `${session.status}${waits}${session.reachable ? '' : ' (agent not reachable)'}`],
    ['reason', session.reason.message],
    ...(session.status === 'PENDING' ? [['starts', startText(session)]] : []),
    ['image', session.image],
    ['resources', `${resourcesCell(session)}, ${bytes(Number(session.shmem))} shared memory`],
    ...shareRows(session),
    ...clusterRows(session),
    ['apps', session.apps.map(app => app.name).join(', ') || '–'],
    ['agent', [...new Set(session.kernels.map(kernel => kernel.agentName ?? '–'))].join(', ')],
    ['created', session.createdAt],
    ['started', session.startedAt ?? '–'],
    ...(session.slurm ? [['slurm', slurmText(session.slurm)]] : []),
    ...(session.ends ? [['ends', endText(session)]] : []),
    // Another end may be nearer.
    ...(session.slurmEndsAt && session.ends?.why !== 'slurm_time_limit'
      ? [['time limit', `${session.slurmEndsAt} in Slurm`]]
      : []),
    ['ended', `${session.endedAt ?? '–'}${session.result ? ` (${session.result})` : ''}`],
    ...(session.usage ? [['used', usageText(session.usage)]] : []),
  ]
  return rows.map(([key = '', value = '']) => `${key.padEnd(10)} ${value}`).join('\n')
}

/** Rows that say what each share of a GPU means in memory, once the host tells the size of the GPU. */
function shareRows({ requested, kernels, stats }: Session): [string, string][] {
  if (parseSlots(requested)['cuda.shares'] === undefined) return []
  const held = kernels.flatMap(({ devices }) => devices.filter(({ slot }) => slot === 'cuda.shares'))
  return held.map(({ uuid, amount }): [string, string] => {
    const total = stats?.gpus.find(gpu => gpu.uuid === uuid)?.device?.totalBytes ?? 0
    const memory = total > 0 ? `: about ${bytes(total * Number(amount))} of its ${bytes(total)} of memory` : ''
    return ['gpu share', `${amount} of ${uuid}${memory}; BERTH_GPU_SHARE in the session`]
  })
}

const membersText = (count: number) => `with ${counted(count, 'member')} of the project (berth session members)`

export function endText({ ends }: Session): string {
  if (!ends) return ''
  const left = durationText((Date.parse(ends.at) - Date.now()) / 1000)
  if (ends.why === 'slurm_time_limit') return `in ${left}, at ${ends.at} (time limit in Slurm)`
  const how = ends.why === 'idle_timeout' ? 'unless it is used' : 'maximum lifetime'
  return `in ${left}, at ${ends.at} (${how}; berth session extend)`
}

function slurmText({ timeLimitMinutes, ...names }: NonNullable<Session['slurm']>): string {
  const limit = timeLimitMinutes === undefined ? [] : [`time limit ${durationText(timeLimitMinutes * 60)}`]
  return [...limit, ...Object.entries(names).map(([name, value]) => `${name} ${value}`)].join(', ')
}

function usageText({ cpuSeconds, gpuSeconds, memPeakBytes }: NonNullable<Session['usage']>): string {
  const gpu = gpuSeconds > 0 ? `, ${durationText(gpuSeconds)} of GPU held` : ''
  return `${durationText(cpuSeconds)} of CPU${gpu}, ${bytes(memPeakBytes)} of memory at most`
}

type Gpu = SessionStats['gpus'][number]

export function statsTable(items: readonly SessionStats[]): string {
  const text = table(
    ['AT', 'CPU', 'MEMORY', 'GPU', 'GPU MEMORY', 'NET IN', 'NET OUT', 'READ', 'WRITTEN'],
    items.map(one => [
      one.at,
      (one.cpuMilli / 1000).toFixed(2),
      bytes(one.memBytes),
      gpuCell(one, 'utilization', percent => `${Math.round(percent)}%`),
      gpuCell(one, 'memBytes', bytes),
      bytes(one.netRxBytes),
      bytes(one.netTxBytes),
      bytes(one.diskReadBytes),
      bytes(one.diskWriteBytes),
    ]),
  )
  return items.some(({ gpus }) => gpus.some(isShared)) ? `${text}\n\n${LEGEND}` : text
}

const LEGEND = 'In parentheses: the whole GPU, which other sessions use too. ? is not known.'

/** `30% (90%)`: of the session, and of the device where that is not the same. */
function gpuCell(
  { gpus }: SessionStats,
  figure: 'utilization' | 'memBytes',
  toText: (value: number) => string,
): string {
  const text = (value: number | null) => (value === null ? '?' : toText(value))
  const cells = gpus.map(gpu => {
    const own = text(gpu[figure])
    return gpu.device && isShared(gpu) ? `${own} (${text(gpu.device[figure])})` : own
  })
  return cells.join(' ') || '–'
}

/** Whether the figures of the device are others than those of the session. */
const isShared = ({ utilization, memBytes, device }: Gpu) =>
  device !== undefined && (device.utilization !== utilization || device.memBytes !== memBytes)

export const eventLine = (event: SessionEvent) =>
  `${event.at}  ${event.from ? `${event.from} → ` : ''}${event.to}  ${event.reason.message}${event.actor ? ` (${event.actor})` : ''}`
