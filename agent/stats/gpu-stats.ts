import { within } from '#base/within'
import { type Device, type DeviceFigures, type SessionGpu } from '#manager/contract'
import { type Devices } from '../gpu/devices.ts'
import { type GpuProcess } from '../gpu/gpu-plugin.ts'
import { readKernelText } from '../read-kernel-text.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { ownGpuUse, UNKNOWN_USE } from './own-gpu-use.ts'

/** Time that the other figures wait for the driver. */
const WAIT_MS = 2_000

/** Answer of the driver at one moment. */
export interface GpuLook {
  readonly devices: ReadonlyMap<string, Device>
  readonly figures: readonly DeviceFigures[]
  readonly processes: ReadonlyMap<string, readonly GpuProcess[]>
}

export type GpuSource = Pick<Devices, 'list' | 'measure' | 'processes'>
type Holder = Pick<RunningKernel, 'containerId' | 'pid' | 'devices'>

/**
 * Looks at the GPUs that kernels hold. At most one look is under way: the first figures wait two seconds for a driver that does not
 * answer, and none wait after these. Until it answers, the figures of GPUs are unknown, and all others come in time.
 */
export function createGpuLooks(
  source: GpuSource,
): (kernels: readonly Holder[], signal: AbortSignal) => Promise<GpuLook> {
  let running: Promise<GpuLook> | undefined
  let isLate = false

  async function look(devices: ReadonlyMap<string, Device>, shared: readonly string[], signal: AbortSignal) {
    const [figures, processes] = await Promise.all([
      source.measure(signal),
      shared.length > 0 ? source.processes(shared, signal) : new Map<string, never>(),
    ])
    return { devices, figures, processes }
  }

  return async (kernels, signal) => {
    const held = new Set(kernels.flatMap(kernel => kernel.devices))
    const devices = new Map(source.list().map(device => [device.uuid, device]))
    const unknown: GpuLook = { devices, figures: [], processes: new Map() }
    if (held.size === 0) return unknown
    const shared = [...held].filter(uuid => devices.get(uuid)?.mode === 'shared')
    running ??= look(devices, shared, signal).finally(() => {
      running = undefined
      isLate = false
    })
    const wait = isLate ? 0 : WAIT_MS
    const late = () => {
      isLate = true
      return new Error('the driver does not answer')
    }
    // A failure is told by the check of the devices, every ten seconds.
    return await within(wait, running, late).catch(() => unknown)
  }
}

/**
 * Use of a kernel's GPUs: its own, beside that of the whole device.
 *
 * @param groupOf text of /proc/PID/cgroup, '' for a process that is not there
 */
export function sessionGpus(
  { containerId, pid, devices: uuids }: Holder,
  { devices, figures, processes }: GpuLook,
  groupOf = groupsOfProcesses(),
): SessionGpu[] {
  return uuids.flatMap((uuid): SessionGpu[] => {
    const device = devices.get(uuid)
    const { utilization, memBytes } = figures.find(one => one.uuid === uuid) ?? UNKNOWN_USE
    // Simulated GPUs have no figures.
    if (!device || device.plugin === 'simulated') return []
    const whole = { utilization, memBytes, totalBytes: device.memBytes }
    if (device.mode !== 'shared') {
      // Compute instances of one MIG instance have its memory together, and nothing lists their processes.
      const own = device.isolation === 'accounted' ? UNKNOWN_USE : { utilization, memBytes }
      return [{ uuid, ...own, device: whole }]
    }
    const listed = processes.get(uuid)
    const isIn = (process: number) => groupOf(process).includes(containerId)
    // Where the container's own process is not to be seen, those of the driver's list belong to another host or namespace.
    if (!listed || !isIn(pid)) return [{ uuid, ...UNKNOWN_USE, device: whole }]
    const alive = listed.filter(process => groupOf(process.pid) !== '')
    return [{ uuid, ...ownGpuUse(whole, alive, isIn), device: whole }]
  })
}

/** Control groups, each read once. */
export function groupsOfProcesses(): (pid: number) => string {
  const read = new Map<number, string>()
  return pid => {
    const known = read.get(pid)
    if (known !== undefined) return known
    const text = pid > 0 ? readKernelText(`/proc/${pid}/cgroup`) : ''
    read.set(pid, text)
    return text
  }
}
