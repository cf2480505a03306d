import { defined } from '#base/defined'
import { type KernelMounts, type KernelReport, type RequestReply, type StoppedFor } from '#agent/contract'
import { type AppError } from '#manager/contract'
import { type RunningKernel } from '../running-kernel.ts'
import { type FoundContainer } from './containers.ts'
import { withBuiltIn } from './kernel-rules.ts'
import { type KernelRecord } from './kernel-record.ts'
import { type StartDeadline } from './start-deadline.ts'

/** A kernel of this agent, with its operations in flight. */
export interface Entry extends KernelRecord {
  creation?: {
    readonly promise: Promise<RequestReply<'create_kernel'>>
    readonly deadline: StartDeadline
    readonly abort: (why: AppError) => void
  }
  destruction?: Promise<RequestReply<'destroy_kernel'>>
  /** Clean-up after a container was removed; a new attempt waits for it. */
  clearing?: Promise<unknown>
}

/** The kernels that this agent knows, and the information about them for others. Nothing here asks the engine. */
export interface KernelEntries {
  readonly get: (kernelId: string) => Entry | undefined
  readonly values: () => Iterable<Entry>
  /** The current entries, for checking later which of them have changed. */
  readonly snapshot: () => ReadonlyMap<string, Entry>
  /** Adds or replaces an entry, and reports a changed state. A destruction in flight is kept. */
  readonly set: (kernelId: string, entry: Entry) => void
  /** Records the result of inspecting the kernel's container. */
  readonly adopt: (found: FoundContainer) => void
  readonly forget: (kernelId: string) => void
  /** Records that this process kills the container; its end is reported with this reason. */
  readonly noteHalt: (containerId: string, why: StoppedFor) => void
  /** Undefined unless the kernel's container runs now. */
  readonly find: (kernelId: string) => RunningKernel | undefined
  readonly running: () => RunningKernel[]
  readonly reports: () => KernelReport[]
  /** True while a creation or a destruction is in flight; only that operation changes the entry then. */
  readonly isBusy: (kernelId: string) => boolean
  /** True unless the container was removed by someone else, or the kernel is unknown. */
  readonly isLive: (kernelId: string) => boolean
}

export interface KernelEntriesDeps {
  /** Number of starts before a waiting start; undefined if it does not wait. */
  readonly aheadOf: (kernelId: string) => number | undefined
  /** The folders that were added to a kernel; undefined if that is not known. */
  readonly mountsOf: (kernelId: string) => KernelMounts | undefined
  readonly onChange: (report: KernelReport) => void
  readonly onForgotten: (kernelId: string) => void
}

export function createKernelEntries({ aheadOf, mountsOf, onChange, onForgotten }: KernelEntriesDeps): KernelEntries {
  const entries = new Map<string, Entry>()
  /** Reasons why this process has killed containers, by container id. */
  const halted = new Map<string, StoppedFor>()

  function find(kernelId: string): RunningKernel | undefined {
    const entry = entries.get(kernelId)
    if (entry?.state.state !== 'running' || entry.address === null) return undefined
    return {
      kernelId: entry.label.kernelId,
      sessionId: entry.label.sessionId,
      containerId: entry.state.containerId,
      address: entry.address,
      user: entry.user,
      apps: withBuiltIn(entry.label.apps),
      environ: entry.label.environ,
      pid: entry.pid,
      ...defined({ volumes: entry.volumes }),
      devices: entry.label.devices.map(device => device.uuid),
      shares: entry.label.devices.filter(({ slot }) => slot === 'cuda.shares'),
    }
  }

  function reportOf({ label, state }: Entry): KernelReport {
    const { kernelId, sessionId, attempt } = label
    if (state.state === 'running') {
      const mounts = mountsOf(kernelId)
      return { kernelId, sessionId, attempt, state, label, ...(mounts && { mounts }) }
    }
    if (state.state !== 'starting') return { kernelId, sessionId, attempt, state, label }
    const ahead = aheadOf(kernelId)
    return { kernelId, sessionId, attempt, state: { ...state, ...defined({ ahead }) }, label }
  }

  function set(kernelId: string, entry: Entry): void {
    const before = entries.get(kernelId)
    // Keep a destruction in flight, whatever becomes known about the container meanwhile.
    entries.set(kernelId, before?.destruction ? { ...entry, destruction: before.destruction } : entry)
    if (before && JSON.stringify(before.state) === JSON.stringify(entry.state)) return
    onChange(reportOf(entry))
  }

  return {
    get: kernelId => entries.get(kernelId),
    values: () => entries.values(),
    snapshot: () => new Map(entries),
    set,
    adopt(found) {
      if (found.state.state === 'created') return
      const { label, address, pid, cpus, user, volumes } = found
      const before = entries.get(label.kernelId)
      // The check that first saw the end knows best how the container ended.
      const isKnownEnd = before?.containerId === found.id && before.state.state === 'exited'
      const stopped = halted.get(found.id)
      const seen = found.state.state === 'exited' && stopped ? { ...found.state, stopped } : found.state
      const state = isKnownEnd ? before.state : seen
      set(label.kernelId, { label, state, containerId: found.id, address, pid, cpus, user, volumes })
    },
    forget(kernelId) {
      halted.delete(entries.get(kernelId)?.containerId ?? '')
      entries.delete(kernelId)
      onForgotten(kernelId)
    },
    noteHalt: (containerId, why) => void halted.set(containerId, why),
    find,
    running: () => [...entries.keys()].flatMap(kernelId => find(kernelId) ?? []),
    reports: () => [...entries.values()].map(reportOf),
    isBusy(kernelId) {
      const entry = entries.get(kernelId)
      return entry !== undefined && (entry.state.state === 'starting' || entry.destruction !== undefined)
    },
    isLive(kernelId) {
      const entry = entries.get(kernelId)
      return entry !== undefined && entry.state.state !== 'gone'
    },
  }
}
