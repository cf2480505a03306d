import { isDeepStrictEqual } from 'node:util'
import { type AgentId, type FolderId, because, type Because, type KernelId, type PullProgress } from '#manager/contract'
import { isHostAddress, type KernelFolder, type Report } from '#agent/contract'
import { type AgentListener } from '../agent-link/listener.ts'
import { createAgentReads } from '../agent-link/reads.ts'
import { type Applied } from '../sessions/changes.ts'
import { type ChangedMounts } from '../sessions/added-folders.ts'
import { type LiveStats } from '../stats/live.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { findAgent, setProblem } from '../store/agents/agents.ts'
import { createClockWatch } from './agent-clock.ts'
import { type AgentFacts, createAgentFacts } from './agent-facts.ts'
import { type AgentMemory, createMemories, type AgentMemories } from './agent-memory.ts'
import { type AgentPresence, createAgentPresence } from './agent-presence.ts'
import { createKernelStats } from './kernel-stats.ts'
import { noteMemoryKill, noteWarning } from './running-news.ts'
import { clusterProblem, hostProblem, inOne, isUnfit, networkProblem, storageProblem } from './problems.ts'
import { createImageWriter } from './reported-images.ts'
import { createReportedKernels, type ReportedKernels, type ReportedKernelsDeps } from './reported-kernels.ts'
import { createStateWriter } from './reported-state.ts'
import { noteMounted, noteMounts, noteUnmounted } from './reported-mounts.ts'
import { createFaultTeller, type FaultTimings, type TellHost } from './tell-faults.ts'
import { createGpuFaultTeller } from './tell-gpu-faults.ts'
import { createModesTeller, type SendDeviceModes } from './tell-modes.ts'

export interface ReportsDeps extends Omit<ReportedKernelsDeps, 'reads' | 'memories' | 'kernels'> {
  readonly live: LiveStats
  readonly recorder: Pick<StatsRecorder, 'add'>
  readonly onMounts: (changed: ChangedMounts) => void
  readonly onImagePull: (agentId: AgentId, pullId: string, progress: PullProgress) => void
  readonly onBuildLog: (agentId: AgentId, buildId: string, text: string) => void
  readonly tellDeviceModes: SendDeviceModes
  readonly tellHost: TellHost
  readonly faultTimings?: Partial<FaultTimings> | undefined
}

/** Handles the messages of agents, and knows which agents may be given work. */
export interface Reports
  extends
    Omit<AgentListener, 'came' | 'gone'>,
    Omit<ReportedKernels, 'apply'>,
    AgentFacts,
    Pick<AgentPresence, 'takeOver'> {
  /** Records replies of the agent about folders that were added to a kernel, like a report. */
  noteMounted(agentId: AgentId, kernelId: KernelId, folder: KernelFolder): void
  noteUnmounted(agentId: AgentId, kernelId: KernelId, folder: FolderId): void
  /** Sends the device modes set by an admin to the agent, if it is connected here. */
  modesChanged(agentId: AgentId): Promise<void>
}

function noteProblems(problems: AgentMemory['problems'], report: Report, leftOut: readonly Because[]): void {
  const { network, host, storageAway } = report
  // Images are reported only when they change, so a note about left-out images holds until the next such report.
  if (report.images || leftOut.length > 0) problems.note('leftOut', inOne(leftOut))
  problems.note('network', networkProblem(network.problem ?? null, network.problemBy))
  problems.note('host', hostProblem(host?.problem ?? null, host?.problemBy))
  problems.note('storage', storageProblem(storageAway))
  problems.note('cluster', clusterProblem(network.clusterProblem ?? null, network.clusterProblemBy))
}

/** @returns whether they have changed */
function noteStorage(memory: AgentMemory, report: Report): boolean {
  const storage = new Set(report.storage)
  const isNews = !isDeepStrictEqual(storage, memory.storage)
  memory.storage = storage
  return isNews
}

/** Notes whether the agent can restrict the network of sessions. @returns whether it has changed */
function noteReach(memory: AgentMemory, { network: { restricts = false } }: Report): boolean {
  const isNews = restricts !== memory.restricts
  memory.restricts = restricts
  return isNews
}

/** @returns whether they have changed */
function noteArchitectures(memory: AgentMemory, { engine: { architectures = [] } }: Report): boolean {
  const now = architectures.length === 0 ? undefined : new Set(architectures)
  const isNews = !isDeepStrictEqual(now, memory.architectures)
  memory.architectures = now
  return isNews
}

/** @returns whether it has changed */
function noteClusterAddress(memory: AgentMemory, { network: { clusterAddress: named } }: Report): boolean {
  // An agent may report anything, and the frames of sessions are sent there.
  const clusterAddress = named !== undefined && isHostAddress(named) ? named : undefined
  const isNews = clusterAddress !== memory.clusterAddress
  memory.clusterAddress = clusterAddress
  return isNews
}

/** Notes containers whose end the agent has not confirmed: they hold its resources until it does. */
function noteOrphans(memories: AgentMemories, unconfirmed: Applied['unconfirmed'] = []): void {
  for (const { agentId, kernels } of unconfirmed) {
    const memory = memories.find(agentId)
    if (memory) memory.orphans = [...memory.orphans, ...kernels]
  }
}

export function createReports(deps: ReportsDeps): Reports {
  const { store, events, changes, lifecycle, log } = deps
  const reads = createAgentReads(store.db)
  const memories = createMemories()
  const publishResources = () => events.publish({ topic: 'resources', id: 'all', version: store.now() }, 'everyone')
  const presence = createAgentPresence({ ...deps, reads, memories, publishResources })
  /** Kernels that this process has seen run. */
  const running = new Set<KernelId>()
  /** The attempt of each kernel for which its agent last reported that it pulls the image. */
  const pulling = new Map<KernelId, number>()
  const stats = createKernelStats(deps)
  const watchClock = createClockWatch(deps)
  const writeImages = createImageWriter({ ...deps, reads })
  const writeState = createStateWriter({ ...deps, reads })
  const tellFault = createFaultTeller({ store, tell: deps.tellHost, log, timings: deps.faultTimings })
  const tellGpuFaults = createGpuFaultTeller({ store, tell: deps.tellHost, log, timings: deps.faultTimings })
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
    const before = isUnfit(problems)
    noteProblems(problems, report, leftOut)
    const turned = isUnfit(problems) !== before
    watchClock(agentId, memory, { clockMs: report.clockMs, arrivedAt })
    const otherImages = await writeImages(agentId, memory, report.images)
    const otherStorage = noteStorage(memory, report)
    memory.busy = report.program?.busy ?? true
    const otherArchitectures = noteArchitectures(memory, report)
    const otherAddress = noteClusterAddress(memory, report)
    const otherReach = noteReach(memory, report)
    const mounts = noteMounts(memory, report.kernels, true)
    memory.deviceFigures = report.deviceFigures ?? []
    memory.engineDownSince = report.engine.reachable ? undefined : (memory.engineDownSince ?? arrivedAt)
    const otherState = await writeState(agentId, memory, report)
    if (otherState) publishResources()
    tellModes(agentId, memory, report.devices)
    const failed = await takeUpKernels(agentId, memory, { report, arrivedAt })
    const fault = report.engine.reachable ? problems.fault() : because('docker_silent')
    await tellFault(agentId, memory, fault)
    if (fault === null) await tellGpuFaults(agentId, memory, report.devices)
    if (mounts.kernelIds.length > 0) deps.onMounts(mounts)
    if (turned) publishResources()
    if (otherState || otherImages || otherStorage || otherArchitectures || otherAddress || otherReach || turned)
      deps.onAgentChanged()
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
      if (!memory.ready) await presence.becomeReady(agentId, memory)
      return failed
    }
    // If an agent's engine is down, the agent sees no containers, and that means nothing.
    if (memory.ready) await presence.becomeUnready(agentId, memory)
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

  changes.onApplied(({ kernelIds, from, to, effects, remote, unconfirmed }) => {
    noteOrphans(memories, unconfirmed)
    if (!remote && (from === 'SCHEDULED' || effects.freed)) publishResources()
    for (const kernelId of kernelIds) {
      stats.forget(kernelId, to, effects)
      if (to === 'RUNNING' || effects.freed) pulling.delete(kernelId)
      if (to === 'RUNNING') running.add(kernelId)
      if (effects.ended) running.delete(kernelId)
    }
  })

  return {
    ...kernels,
    ...createAgentFacts(memories),
    ...presence,
    noteMounted: (agentId, kernelId, folder) => noteMounted(memories.of(agentId), kernelId, folder),
    noteUnmounted: (agentId, kernelId, folder) => noteUnmounted(memories.of(agentId), kernelId, folder),
    async modesChanged(agentId) {
      const row = await findAgent(store.db, agentId)
      const memory = memories.find(agentId)
      if (!row || !memory) return
      memory.modes = row.device_modes
      await deps.tellDeviceModes(agentId, row.device_modes)
    },
    async message(agentId, message, arrivedAt, leftOut) {
      switch (message.type) {
        case 'report':
          return onReport(agentId, message, { arrivedAt, leftOut })
        case 'kernel_changed': {
          // The reply to create_kernel will contain the same; if it is lost, the next report contains it.
          const { kernelId, attempt, state } = message.kernel
          noteMounts(memories.of(agentId), [message.kernel], false)
          if (message.memoryKill) {
            // Record it at once: the end of the session may be reported while the timeline is being written.
            memories.of(agentId).memoryKills.note(kernelId)
            await noteMemoryKill(deps, agentId, kernelId)
          }
          const { warning } = message
          if (warning) await noteWarning(deps, agentId, kernelId, warning)
          if (state.state === 'running' && lifecycle.isStarting(kernelId, { agentId, attempt })) return []
          const memory = memories.of(agentId)
          const failed = await kernels.apply(agentId, [message.kernel], { complete: false, arrivedAt })
          await tellProblems(agentId, memory)
          return failed
        }
        case 'pull':
          await stats.onPull(agentId, message.kernelId, message.progress)
          break
        case 'image_pull':
          deps.onImagePull(agentId, message.pullId, message.progress)
          break
        case 'build_log':
          deps.onBuildLog(agentId, message.buildId, message.text)
          break
        case 'stats':
          await stats.onStats(agentId, message.kernels)
      }
      return []
    },
    started(_agentId, report) {
      if (report.engine.reachable) return []
      return report.kernels.map(({ kernelId }) => kernelId).filter(kernelId => running.has(kernelId))
    },
  }
}
