import { type Device, type ResourceSlots, type SettableMode } from '#manager/contract'

/** By UUID. */
export type DeviceModes = Readonly<Record<string, SettableMode>>

export interface KnownDevices {
  /** As they were reported last. */
  readonly devices: readonly Device[]
  readonly modes: DeviceModes
  /** UUIDs that kernels hold. */
  readonly held: ReadonlySet<string>
}

/**
 * What an agent reports, in the modes that hold here. A device that nobody has set keeps the mode in which it was first
 * seen: a changed configuration of its agent does not turn it over under the sessions that hold it. One that is gone
 * while kernels hold it stays, as a problem.
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
    .map(device => ({ ...device, problem: 'Its agent does not find it any more; sessions hold it.' }))
  return { modes: all, devices: [...reported, ...lost].map(device => inMode(device, all[device.uuid])) }
}

/** Nothing changes for MIG instances. What the agent says of the limits of a device is about the mode that it knows. */
export function inMode(device: Device, mode: SettableMode = 'whole'): Device {
  if (device.mode === 'mig' || device.mode === mode) return device
  return mode === 'whole'
    ? { ...device, mode, slot: 'cuda.device', isolation: 'whole', isolationReason: null }
    : {
        ...device,
        mode,
        slot: 'cuda.shares',
        isolation: 'accounted',
        isolationReason: 'Its agent has not said yet whether limits hold on it.',
      }
}

/** A device with a problem counts: whoever holds it holds it still. @param capacity of CPU and memory, as reported */
export function withDevices({ cpu = 0, mem = 0 }: ResourceSlots, devices: readonly Device[]): ResourceSlots {
  const count = (slot: Device['slot']) => devices.filter(device => device.slot === slot).length
  const gpus = count('cuda.device')
  const shared = count('cuda.shares')
  return {
    cpu,
    mem,
    ...(gpus > 0 ? { 'cuda.device': gpus } : {}),
    // One physical GPU is 1.00 share, in 1/100.
    ...(shared > 0 ? { 'cuda.shares': shared * 100 } : {}),
  }
}
