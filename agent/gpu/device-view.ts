import { sizeText } from '#base/size-text'
import { type Because, because, type Device, type DeviceMode, keysOf, together } from '#manager/contract'
import { type GpuGuardMode } from './gpu-guard-mode.ts'
import { type FoundGpu, type GpuPlugin, type Verdict } from './gpu-plugin.ts'

/** Findings of the guard of GPU shares about one GPU. */
export interface WatchedShares {
  /** Why the guard cannot see what sessions use. */
  readonly blind?: Because
  /** Bytes that belong to no process, while several sessions use the GPU. */
  readonly unattributed?: number
}

/** A GPU, and all that is known about it. */
export interface DeviceState {
  readonly gpu: FoundGpu
  readonly plugin: GpuPlugin
  readonly mode: DeviceMode
  /** Why it can be handed to nobody now. */
  readonly problem: Because | null
  /** Whether its driver was seen to limit shares; undefined before the first probe. */
  readonly verdict: Verdict | undefined
  readonly isHeld: boolean
  readonly watched: WatchedShares
}

/** Reaction of the agent to sessions that use more than their share. */
export interface Guard {
  readonly mode: GpuGuardMode
  /** Whether the engine's processes are those of this host: the guard sees no others. */
  readonly seesProcesses: boolean
}

/** A GPU as managers see it. Pure. */
export function toDevice(state: DeviceState, guard: Guard): Device {
  const { gpu, plugin, mode, problem, watched, isHeld } = state
  const { uuid, model, memBytes, sharedBecause } = gpu
  const fault = { problem: problem?.why ?? null, ...(problem && { problemBy: keysOf(problem) }) }
  const warning = inOne([gpu.warning, mode === 'shared' ? warningOf(watched) : null])
  const told = warning && { warning: warning.why, warningBy: keysOf(warning) }
  const common = { uuid, model, memBytes, mode, ...fault, ...told, plugin: plugin.name }
  if (mode === 'shared') {
    const verdict = state.verdict ?? untested(plugin, isHeld)
    return {
      ...common,
      slot: 'cuda.shares',
      ...isolationOf(isGuardable(state) ? guardedBy(state, verdict, guard) : verdict),
    }
  }
  const isolation = isolationOf({ isolation: sharedBecause === null ? mode : 'accounted', reason: sharedBecause })
  return { ...common, slot: 'cuda.device', ...isolation }
}

/** Whether the agent has to watch the shares of this GPU: it can, and the driver was not seen to limit them. */
export function isGuardable({ plugin, mode, verdict }: Pick<DeviceState, 'plugin' | 'mode' | 'verdict'>): boolean {
  return plugin.shares.by === 'driver' && mode === 'shared' && verdict?.isolation !== 'enforced'
}

/** A share of a GPU whose memory is not known (a driver that fails, or one without memory of its own) has no size. */
export const isMeasured = ({ memBytes }: Pick<FoundGpu, 'memBytes'>) => memBytes > 0

interface Classified {
  readonly isolation: Device['isolation']
  readonly reason: Because | null
}

/** The class of shares of a GPU whose driver does not limit them. */
function guardedBy(
  { gpu, watched }: DeviceState,
  { reason }: Pick<Verdict, 'reason'>,
  { mode, seesProcesses }: Guard,
): Classified {
  if (mode === 'off') return { isolation: 'accounted', reason }
  const unseen = seesProcesses ? undefined : because('guard_without_processes')
  const hindrance = isMeasured(gpu) ? (watched.blind ?? unseen) : because('guard_without_size')
  if (hindrance) return { isolation: 'accounted', reason: together(hindrance, reason) }
  if (mode === 'warn') return { isolation: 'accounted', reason: together(because('guard_warns'), reason) }
  return { isolation: 'guarded', reason: together(because('guard_ends'), reason) }
}

/** The class of shares that were not tested. */
function untested({ shares }: GpuPlugin, isHeld: boolean): Verdict {
  if (shares.by === 'nobody') return { isolation: 'accounted', reason: shares.reason }
  return { isolation: 'accounted', reason: because(isHeld ? 'limits_tested_later' : 'limits_being_tested') }
}

/** Several texts as one; null for none. */
function inOne(texts: readonly (Because | null | undefined)[]): Because | null {
  const [first, ...rest] = texts.flatMap(text => text ?? [])
  return first ? together(first, ...rest) : null
}

const warningOf = ({ unattributed }: WatchedShares): Because | null =>
  unattributed === undefined ? null : because('gpu_memory_unattributed', { size: sizeText(unattributed) })

const isolationOf = ({ isolation, reason }: Classified) => ({
  isolation,
  isolationReason: reason?.why ?? null,
  ...(reason && { isolationReasonBy: keysOf(reason) }),
})
