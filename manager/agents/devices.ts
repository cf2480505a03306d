import {
  because,
  type Device,
  type DeviceMode,
  formatAmount,
  type GpuStock,
  keysOf,
  type Resources,
  type ResourceSlots,
  type SettableMode,
} from '#manager/contract'
import { type AgentSnapshot } from '../scheduler/plan/index.ts'

/** Modes by device UUID. */
export type DeviceModes = Readonly<Record<string, SettableMode>>

export interface KnownDevices {
  /** Devices as last reported. */
  readonly devices: readonly Device[]
  readonly modes: DeviceModes
  /** UUIDs that kernels hold. */
  readonly held: ReadonlySet<string>
}

const GONE = because('gpu_gone_in_use')
const NOT_REPORTED = because('limits_not_reported')

/**
 * Combines the reported devices of an agent with the modes set here. A device whose mode no admin has set keeps the mode in which it was
 * first seen, so that a changed agent configuration does not switch the mode while sessions hold the device. A device that disappears while
 * kernels hold it stays listed, with a problem.
 */
export function takeUpDevices(
  reported: readonly Device[],
  { devices, modes, held }: KnownDevices,
): { readonly devices: readonly Device[]; readonly modes: DeviceModes } {
  const first = reported.flatMap(({ uuid, mode }) => (mode === 'mig' ? [] : [[uuid, mode] as const]))
  const all = { ...Object.fromEntries(first), ...modes }
  const here = new Set(reported.map(({ uuid }) => uuid))
  const lost = devices
    .filter(({ uuid }) => !here.has(uuid) && held.has(uuid))
    .map(device => ({ ...device, problem: GONE.why, problemBy: keysOf(GONE) }))
  return { modes: all, devices: [...reported, ...lost].map(device => inMode(device, all[device.uuid])) }
}

/**
 * The device in the given mode; MIG instances stay unchanged. The agent's statement on isolation applies to the mode it
 * knows, so another mode resets it.
 */
export function inMode(device: Device, mode: SettableMode = 'whole'): Device {
  if (device.mode === 'mig' || device.mode === mode) return device
  const { isolationReasonBy: _, warning: _warning, warningBy: _warningBy, ...rest } = device
  return mode === 'whole'
    ? { ...rest, mode, slot: 'cuda.device', isolation: 'whole', isolationReason: null }
    : {
        ...rest,
        mode,
        slot: 'cuda.shares',
        isolation: 'accounted',
        isolationReason: NOT_REPORTED.why,
        isolationReasonBy: keysOf(NOT_REPORTED),
      }
}

/**
 * Adds the slots of the devices to the capacity. A device with a problem counts too, because its holders still hold it.
 * @param capacity of CPU and memory, as reported
 */
export function withDevices({ cpu = 0, mem = 0 }: ResourceSlots, devices: readonly Device[]): ResourceSlots {
  const count = (slot: Device['slot']) => devices.filter(device => device.slot === slot).length
  const gpus = count('cuda.device')
  const shared = count('cuda.shares')
  return {
    cpu,
    mem,
    ...(gpus > 0 ? { 'cuda.device': gpus } : {}),
    // A physical GPU is 1.00 share, stored in hundredths.
    ...(shared > 0 ? { 'cuda.shares': shared * 100 } : {}),
  }
}

/** Devices of which sessions can get shares. */
export function sharedOf(devices: readonly Device[]): Device[] {
  return devices.filter(({ mode, problem }) => mode === 'shared' && problem === null)
}

/** @param shared devices in the mode `shared` */
export function howPartsHold(shared: readonly Device[]): Resources['partsHold'] {
  if (shared.length === 0) return null
  const classes = new Set(shared.map(({ isolation }) => isolation))
  return classes.has('accounted') ? 'accounted' : classes.has('guarded') ? 'guarded' : 'enforced'
}

/** Each model once, the largest memory first; a device whose memory is not known is left out. */
export function modelsOf(devices: readonly Device[]): Resources['sharedGpus'] {
  const models = new Map(devices.map(({ model, memBytes }) => [`${model} ${memBytes}`, { model, memBytes }]))
  return [...models.values()].filter(({ memBytes }) => memBytes > 0).toSorted((a, b) => b.memBytes - a.memBytes)
}

type CountedDevice = AgentSnapshot['devices'][number]

/** The devices by model, memory and mode, in order of their models. */
export function stockOf(devices: readonly CountedDevice[]): GpuStock[] {
  const kinds = Map.groupBy(
    devices.filter(({ kind }) => kind !== undefined),
    device => `${device.kind?.model} ${device.kind?.memBytes} ${modeOf(device)}`,
  )
  const stocks = [...kinds.values()].flatMap(([first, ...others]) => {
    if (!first?.kind) return []
    const { model, memBytes } = first.kind
    const free = [first, ...others].reduce((sum, device) => sum + freeOf(device), 0)
    return [{ model, memBytes, mode: modeOf(first), total: 1 + others.length, free: formatAmount(first.slot, free) }]
  })
  return stocks.toSorted((a, b) => a.model.localeCompare(b.model, 'en') || b.memBytes - a.memBytes)
}

const modeOf = ({ slot, kind }: CountedDevice): DeviceMode =>
  kind?.isMig ? 'mig' : slot === 'cuda.shares' ? 'shared' : 'whole'

const freeOf = ({ total, occupied }: CountedDevice) => Math.max(0, total - occupied)
