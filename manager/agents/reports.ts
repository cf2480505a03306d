import { isDeepStrictEqual } from 'node:util'
import {
  type AgentId,
  type FolderId,
  because,
  type Because,
  type DeviceFigures,
  type KernelId,
  type PullProgress,
} from '#manager/contract'
import { type KernelFolder, type KernelMounts, type Report } from '#agent/contract'
import { type AgentListener } from '../agent-link/listener.ts'
import { createAgentReads } from '../agent-link/reads.ts'
import { type Orphan } from '../scheduler/orphans.ts'
import { type ChangedMounts } from '../sessions/added-folders.ts'
import { isStarting } from '../sessions/transition.ts'
import { type LiveFigures } from '../stats/live.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { findAgent, setAgent, setProblem } from '../store/agents/agents.ts'
import { createClockWatch } from './agent-clock.ts'
import { type AgentMemory, createMemories } from './agent-memory.ts'
import { createKernelFigures } from './kernel-figures.ts'
import { noteMemoryKill } from './memory-kills.ts'
import { hostProblem, inOne, isUnfit, networkProblem } from './problems.ts'
import { createImageWriter } from './reported-images.ts'
import { createReportedKernels, type ReportedKernels, type ReportedKernelsDeps } from './reported-kernels.ts'
import { createStateWriter } from './reported-state.ts'
import { noteMounted, noteMounts, noteUnmounted } from './reported-mounts.ts'
import { createFaultTeller, type FaultTimings, type TellHost } from './tell-faults.ts'
import { createModesTeller, type SendDeviceModes } from './tell-modes.ts'

export interface ReportsDeps extends Omit<ReportedKernelsDeps, 'reads' | 'memories' | 'kernels'> {
  readonly live: LiveFigures
  readonly recorder: Pick<StatsRecorder, 'add'>
  readonly onMounts: (changed: ChangedMounts) => void
  readonly onImagePull: (agentId: AgentId, pullId: string, progress: PullProgress) => void
  readonly onBuildLog: (agentId: AgentId, buildId: string, text: string) => void
  readonly tellDeviceModes: SendDeviceModes
  readonly tellHost: TellHost
  readonly faultTimings?: Partial<FaultTimings> | undefined
}

/** Handles the messages of agents, and knows which agents may be given work. */
export interface Reports extends Omit<AgentListener, 'came' | 'gone'>, Omit<ReportedKernels, 'apply'> {
  /** Whether the agent is connected, was reconciled at least once on this connection, and its engine answers. */
  isReady(agentId: AgentId): boolean
  /**
   * Containers that occupy resources the database considers free, according to the agent's reports on this connection.
   */
  orphans(agentId: AgentId): readonly Orphan[]
  /** Whether the agent is connected, but its engine has been away for so long that waiting for it is pointless. */
  engineIsDown(agentId: AgentId): boolean
  /** Whether the agent says that no session can start there now. */
  isUnfit(agentId: AgentId): boolean
  /** Markers of the storages that are mounted on the agent. */
  storage(agentId: AgentId): ReadonlySet<string>
  /** Architectures of images that the agent runs; undefined where it does not say. */
  architectures(agentId: AgentId): ReadonlySet<string> | undefined
  /** Folders that were added to the kernel, as its agent reports them. */
  mounts(agentId: AgentId, kernelId: KernelId): KernelMounts | undefined
  /** Replies of the agent about such folders: they count like a report. */
  noteMounted(agentId: AgentId, kernelId: KernelId, folder: KernelFolder): void
  noteUnmounted(agentId: AgentId, kernelId: KernelId, folder: FolderId): void
  /** Figures of its devices, from its last report. */
  deviceFigures(agentId: AgentId): readonly DeviceFigures[]
  /** Sends the device modes set by an admin to the agent, if it is connected here. */
  modesChanged(agentId: AgentId): Promise<void>
  /**
   * Resumes, on every ready agent, work that another manager may have left unfinished. Called when this manager takes
   * over a turn (lease), or may have missed messages of other managers.
   */
  takeOver(): Promise<void>
}

/** @returns whether that is news */
function noteArchitectures(memory: AgentMemory, { engine: { architectures = [] } }: Report): boolean {
  const now = architectures.length === 0 ? undefined : new Set(architectures)
  const isNews = !isDeepStrictEqual(now, memory.architectures)
  memory.architectures = now
  return isNews
}

/** A restarting engine is back within this time. */
const ENGINE_LOST_MS = 60_000

export function createReports(deps: ReportsDeps): Reports {
  const { store, events, changes, lifecycle, log } = deps
  const reads = createAgentReads(store.db)
  const memories = createMemories()
  /** Kernels that this process has seen run. */
  const running = new Set<KernelId>()
  /** The attempt of each kernel for which its agent last reported that it pulls the image. */
  const pulling = new Map<KernelId, number>()
  const figures = createKernelFigures(deps)
  const watchClock = createClockWatch(deps)
  const writeImages = createImageWriter({ ...deps, reads })
  const writeState = createStateWriter({ ...deps, reads })
  const tellFault = createFaultTeller({ store, tell: deps.tellHost, log, timings: deps.faultTimings })
  const tellModes = createModesTeller({ send: deps.tellDeviceModes, log })
  const kernels = createReportedKernels({
    ...deps,
    reads,
    memories,
    kernels: { isKnownToRun: kernelId => running.has(kernelId), pulling },
  })

  async function onReport(
    agentId: AgentId,
    report: Report,
    { arrivedAt, leftOut }: { arrivedAt: number; leftOut: readonly Because[] },
  ): Promise<readonly KernelId[]> {
    const memory = memories.of(agentId)
    const { problems } = memory
    // Images are reported only when they change, so a note about left-out images holds until the next such report.
    if (report.images || leftOut.length > 0) problems.note('leftOut', inOne(leftOut))
    const before = isUnfit(problems)
    problems.note('network', networkProblem(report.network.problem ?? null, report.network.problemBy))
    problems.note('host', hostProblem(report.host?.problem ?? null, report.host?.problemBy))
    const turned = isUnfit(problems) !== before
    watchClock(agentId, memory, { clockMs: report.clockMs, arrivedAt })
    const otherImages = await writeImages(agentId, memory, report.images)
    const storage = new Set(report.storage)
    const otherStorage = !isDeepStrictEqual(storage, memory.storage)
    memory.storage = storage
    const otherArchitectures = noteArchitectures(memory, report)
    const mounts = noteMounts(memory, report.kernels, true)
    memory.deviceFigures = report.deviceFigures ?? []
    memory.engineDownSince = report.engine.reachable ? undefined : (memory.engineDownSince ?? arrivedAt)
    const otherState = await writeState(agentId, memory, report)
    if (otherState) publishResources()
    tellModes(agentId, memory, report.devices)
    const failed = await takeUpKernels(agentId, memory, { report, arrivedAt })
    await tellFault(agentId, memory, report.engine.reachable ? problems.fault() : because('docker_silent'))
    if (mounts.kernelIds.length > 0) deps.onMounts(mounts)
    if (turned) publishResources()
    if (otherState || otherImages || otherStorage || otherArchitectures || turned) deps.onAgentChanged()
    return failed
  }

  async function takeUpKernels(
    agentId: AgentId,
    memory: AgentMemory,
    { report, arrivedAt }: { report: Report; arrivedAt: number },
  ): Promise<readonly KernelId[]> {
    if (report.engine.reachable) {
      const failed = await kernels.apply(agentId, report.kernels, { complete: true, arrivedAt })
      await tellProblems(agentId, memory)
      if (!memory.ready) await becomeReady(agentId, memory)
      return failed
    }
    // An agent whose engine is down sees no containers; that says nothing about them.
    if (memory.ready) {
      memory.ready = false
      await touchSessionsOn(agentId)
    }
    return []
  }

  /** Writes the agent's problems for admins, if they have changed. */
  async function tellProblems(agentId: AgentId, { problems }: Pick<AgentMemory, 'problems'>): Promise<void> {
    const problem = problems.all()
    const text = problem?.why ?? null
    if (problems.written === text) return
    const version = await setProblem(store.db, agentId, problem)
    problems.written = text
    if (version !== undefined) events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
  }

  /** Marks the agent ready for work, and resumes work left unfinished when it, or the manager, went away. */
  async function becomeReady(agentId: AgentId, memory: AgentMemory): Promise<void> {
    memory.ready = true
    await takeUpWork(agentId)
    await touchSessionsOn(agentId)
    publishResources()
    deps.onAgentChanged()
  }

  async function takeUpWork(agentId: AgentId): Promise<void> {
    for (const { sessionId, status } of await reads.sessionsOn(agentId)) {
      if (isStarting(status)) lifecycle.start(sessionId)
      else if (status === 'TERMINATING') lifecycle.finishTermination(sessionId)
    }
  }

  /** Sends hints for the agent's sessions: clients show whether a session is reachable. */
  async function touchSessionsOn(agentId: AgentId): Promise<void> {
    changes.hint(await reads.touchSessionsOn(agentId))
  }

  function publishResources(): void {
    events.publish({ topic: 'resources', id: 'all', version: store.now() }, 'everyone')
  }

  changes.onApplied(({ kernelIds, from, to, effects, remote, unconfirmed }) => {
    const memory = unconfirmed && memories.find(unconfirmed.agentId)
    if (memory) memory.orphans = [...memory.orphans, ...unconfirmed.kernels]
    if (!remote && (from === 'SCHEDULED' || effects.freed)) publishResources()
    for (const kernelId of kernelIds) {
      figures.forget(kernelId, to, effects)
      if (to === 'RUNNING' || effects.freed) pulling.delete(kernelId)
      if (to === 'RUNNING') running.add(kernelId)
      if (effects.ended) running.delete(kernelId)
    }
  })

  return {
    ...kernels,
    isReady: agentId => memories.find(agentId)?.ready ?? false,
    engineIsDown: agentId => performance.now() - (memories.find(agentId)?.engineDownSince ?? Infinity) > ENGINE_LOST_MS,
    isUnfit(agentId) {
      const memory = memories.find(agentId)
      return memory !== undefined && isUnfit(memory.problems)
    },
    storage: agentId => memories.find(agentId)?.storage ?? new Set(),
    architectures: agentId => memories.find(agentId)?.architectures,
    mounts: (agentId, kernelId) => memories.find(agentId)?.mounts.get(kernelId),
    noteMounted: (agentId, kernelId, folder) => noteMounted(memories.of(agentId), kernelId, folder),
    noteUnmounted: (agentId, kernelId, folder) => noteUnmounted(memories.of(agentId), kernelId, folder),
    orphans: agentId => memories.find(agentId)?.orphans ?? [],
    deviceFigures: agentId => memories.find(agentId)?.deviceFigures ?? [],
    async modesChanged(agentId) {
      const row = await findAgent(store.db, agentId)
      const memory = memories.find(agentId)
      if (!row || !memory) return
      memory.modes = row.device_modes
      await deps.tellDeviceModes(agentId, row.device_modes)
    },
    connected(agentId) {
      // Start with empty memory: reports of an earlier connection prove nothing about this one.
      memories.forget(agentId)
      return Promise.resolve()
    },
    async message(agentId, message, arrivedAt, leftOut) {
      switch (message.type) {
        case 'report':
          return onReport(agentId, message, { arrivedAt, leftOut })
        case 'kernel_changed': {
          // The reply to create_kernel says the same in a moment; should it be lost, the next report says it.
          const { kernelId, attempt, state } = message.kernel
          noteMounts(memories.of(agentId), [message.kernel], false)
          if (message.memoryKill) {
            // At once: the end of the session may be reported while the timeline is being written.
            memories.of(agentId).memoryKills.note(kernelId)
            await noteMemoryKill(deps, agentId, kernelId)
          }
          if (state.state === 'running' && lifecycle.isStarting(kernelId, { agentId, attempt })) return []
          const memory = memories.of(agentId)
          const failed = await kernels.apply(agentId, [message.kernel], { complete: false, arrivedAt })
          await tellProblems(agentId, memory)
          return failed
        }
        case 'pull':
          await figures.onPull(agentId, message.kernelId, message.progress)
          break
        case 'image_pull':
          deps.onImagePull(agentId, message.pullId, message.progress)
          break
        case 'build_log':
          deps.onBuildLog(agentId, message.buildId, message.text)
          break
        case 'stats':
          await figures.onStats(agentId, message.kernels)
      }
      return []
    },
    started(_agentId, report) {
      if (report.engine.reachable) return []
      return report.kernels.map(({ kernelId }) => kernelId).filter(kernelId => running.has(kernelId))
    },
    async disconnected(agentId) {
      memories.forget(agentId)
      deps.onAgentChanged()
      await touchSessionsOn(agentId)
    },
    async takeOver() {
      for (const agentId of memories.ready()) await takeUpWork(agentId)
    },
    async lost(agentId) {
      memories.forget(agentId)
      if (await deps.links.isElsewhere(agentId)) return
      const agent = await setAgent(store.db, agentId, { status: 'LOST' })
      if (!agent) return
      log.warn({ agentId, name: agent.name }, 'agent lost')
      events.publish({ topic: 'agent', id: agentId, version: agent.row_version }, 'superadmins')
      publishResources()
      await touchSessionsOn(agentId)
      deps.onAgentChanged()
    },
  }
}
