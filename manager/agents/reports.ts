import {
  type AgentId,
  type Device,
  type DeviceFigures,
  type KernelId,
  type ManagerId,
  type PullProgress,
  toWireError,
} from '#manager/contract'
import { type AgentImage, type KernelLabel, type KernelReport } from '#agent/contract'
import { adoptWaiting } from '../sessions/adopt.ts'
import { type KernelSigner } from '../sessions/kernel-signature.ts'
import { isStarting } from '../sessions/transition.ts'
import {
  findAgent,
  listDeviceHolders,
  lockAgent,
  type ReportedState,
  saveReportedState,
  setAgent,
  setProblem,
} from '../store/agents/agents.ts'
import { replaceImages } from '../store/images/images.ts'
import { type StatsRecorder } from '../stats/recorder.ts'
import { type Db } from '../store/schema.ts'
import { type ActingDeps, createActing } from './act-on-report.ts'
import { type AgentListener, type Notice } from '../agent-link/gateway.ts'
import { type DeviceModes, takeUpDevices, withDevices } from './devices.ts'
import { createKernelFigures } from './kernel-figures.ts'
import { digestOf, isAsWritten } from './known-state.ts'
import { type LiveFigures } from '../stats/live.ts'
import { createAgentReads } from '../agent-link/reads.ts'
import { type Action, reconcile } from './reconcile.ts'
import { type Stray, straysOf, type UnknownContainer, unknownOf } from '../scheduler/strays.ts'

type Report = Extract<Notice, { type: 'report' }>

export interface ReportsDeps extends ActingDeps {
  readonly managerId: ManagerId
  readonly signer: Pick<KernelSigner, 'isSigned'>
  readonly live: LiveFigures
  readonly recorder: Pick<StatsRecorder, 'add'>
  readonly onImagePull: (agentId: AgentId, pullId: string, progress: PullProgress) => void
  readonly tellDeviceModes: (agentId: AgentId, modes: DeviceModes) => Promise<unknown>
}

/** Handles the messages of agents, and knows which agents may be given work. */
export interface Reports extends Omit<AgentListener, 'came' | 'gone'> {
  /** Whether the agent is connected, was reconciled at least once on this connection, and its engine answers. */
  isReady(agentId: AgentId): boolean
  /**
   * Containers that occupy resources the database considers free, according to the agent's reports on this connection.
   */
  strays(agentId: AgentId): readonly Stray[]
  /**
   * Whether a manager of this Berth requested the kernel from this agent, or an admin has confirmed that it is ours.
   */
  isOurs(agentId: AgentId, label: KernelLabel): boolean
  /** The reported containers that need an admin's decision: they run there, name this Berth, and are unknown to it. */
  unknown(agentId: AgentId, reported: readonly KernelReport[]): Promise<readonly UnknownContainer[]>
  /** Imports a container that an admin has confirmed as ours, as if it were signed. */
  confirm(agentId: AgentId, reported: KernelReport): Promise<void>
  /** Whether the agent is connected, but its engine has been away for so long that waiting for it is pointless. */
  engineIsDown(agentId: AgentId): boolean
  /** Whether the agent says that no session can start there now. */
  isUnfit(agentId: AgentId): boolean
  /** Figures of its devices, from its last report. */
  deviceFigures(agentId: AgentId): readonly DeviceFigures[]
  /** Sends the device modes set by an admin to the agent, if it is connected here. */
  modesChanged(agentId: AgentId): Promise<void>
  /**
   * Resumes, on every ready agent, work that another manager may have left unfinished. Called when this manager takes
   * over a turn (lease), or may have missed messages of other managers.
   */
  takeOver(): Promise<void>
  /**
   * Reconciles an agent's answer to a query, as the whole truth on the kernels that ran before the query.
   * @returns the actions that were necessary
   */
  takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]>
}

const MAX_SKEW_MS = 5_000
/** A restarting engine is back within this time. */
const ENGINE_LOST_MS = 60_000
/** `last_seen_at` is needed only after the connection is gone; writing it with every heartbeat would be a waste. */
const LAST_SEEN_EVERY_MS = 30_000

/** Kinds of problems of an agent, in display order. */
const SUBJECTS = ['network', 'kernels', 'unknown', 'images', 'leftOut'] as const
type Subject = (typeof SUBJECTS)[number]

interface AgentMemory {
  ready: boolean
  /** When its engine stopped answering, on the clock of `performance.now()`. */
  engineDownSince: number | undefined
  missing: ReadonlySet<KernelId>
  /** Containers that occupy resources the database considers free. */
  strays: readonly Stray[]
  /** Problems to show to admins, by subject. */
  readonly problems: Map<Subject, string>
  /** The problem text as last written; undefined until the first write. */
  problem: string | null | undefined
  /** The state as last written, so that only changes are written. */
  written: string
  modes: DeviceModes
  tellingModes: boolean
  /** Images that are not written yet. */
  images: readonly AgentImage[] | undefined
  deviceFigures: readonly DeviceFigures[]
  writtenAt: number
  /** Milliseconds by which its clock is ahead of the database's. */
  skewMs: number
  skewLogged: boolean
  /** Reported ends that may belong to a start in flight at another manager, with the time of the first report. */
  readonly endedSince: Map<string, number>
}

export function createReports(deps: ReportsDeps): Reports {
  const { store, managerId, events, changes, lifecycle, log } = deps
  const reads = createAgentReads(store.db)
  const memories = new Map<AgentId, AgentMemory>()
  /** When this process learned that a kernel runs, on the clock of `performance.now()`. */
  const startedAt = new Map<KernelId, number>()
  const pulling = new Map<KernelId, number>()
  /** Containers that an admin has confirmed as ours. */
  const confirmed = new Map<AgentId, Set<KernelId>>()
  const figures = createKernelFigures(deps)

  const memoryOf = (agentId: AgentId): AgentMemory => {
    const memory = memories.get(agentId) ?? {
      ready: false,
      engineDownSince: undefined,
      missing: new Set<KernelId>(),
      strays: [],
      problems: new Map<Subject, string>(),
      problem: undefined,
      written: '',
      modes: {},
      tellingModes: false,
      images: undefined,
      deviceFigures: [],
      writtenAt: 0,
      skewMs: 0,
      skewLogged: false,
      endedSince: new Map<string, number>(),
    }
    memories.set(agentId, memory)
    return memory
  }

  const actOnAll = createActing({
    ...deps,
    endedSince: agentId => memoryOf(agentId).endedSince,
    isKnownToRun: kernelId => startedAt.has(kernelId),
    pulling,
  })

  async function onReport(
    agentId: AgentId,
    report: Report,
    { arrivedAt, leftOut }: { arrivedAt: number; leftOut: readonly string[] },
  ): Promise<readonly KernelId[]> {
    const memory = memoryOf(agentId)
    // Images are reported only when they change, so a note about left-out images holds until the next such report.
    if (report.images || leftOut.length > 0) note(memory, 'leftOut', leftOut.join(' ') || null)
    const wasUnfit = memory.problems.has('network')
    note(memory, 'network', toldNetwork(report.network.problem ?? null))
    noteSkew(memory, agentId, report, arrivedAt)
    // Images are reported only when they change: if writing them fails, the next report writes them.
    memory.images = report.images ?? memory.images
    const otherImages = memory.images !== undefined && (await trySaveImages(agentId, memory, memory.images))
    memory.deviceFigures = report.deviceFigures ?? []
    memory.engineDownSince = report.engine.reachable ? undefined : (memory.engineDownSince ?? arrivedAt)
    const changed = await saveState(agentId, memory, report)
    tellModes(agentId, memory, report.devices)
    // An agent whose engine is down sees no containers; that says nothing about them.
    let failed: readonly KernelId[] = []
    if (report.engine.reachable) {
      failed = await applyReport(agentId, report.kernels, { complete: true, arrivedAt })
      if (!memory.ready) await becomeReady(agentId, memory)
    } else if (memory.ready) {
      memory.ready = false
      await touchSessionsOn(agentId)
    }
    const isUnfit = memory.problems.has('network')
    if (isUnfit !== wasUnfit) publishResources()
    if (changed || otherImages || isUnfit !== wasUnfit) deps.onAgentChanged()
    return failed
  }

  /** A failure to write images must not keep the agent from its work; the next report tries again. */
  async function trySaveImages(agentId: AgentId, memory: AgentMemory, images: readonly AgentImage[]): Promise<boolean> {
    try {
      const other = await saveImages(agentId, images)
      memory.images = undefined
      note(memory, 'images', null)
      return other
    } catch (error) {
      log.error({ err: error, agentId }, 'the images of an agent could not be written')
      note(memory, 'images', `Its images could not be written: ${toWireError(error).message}. It is tried again.`)
      return false
    }
  }

  /** @returns false if the images are stored already */
  async function saveImages(agentId: AgentId, images: readonly AgentImage[]): Promise<boolean> {
    const digest = await digestOf(images)
    if ((await reads.find(agentId))?.images_digest === digest) return false
    await store.transaction(async trx => {
      // Every manager receives the report and writes the images: the lock serialises them.
      await lockAgent(trx, agentId)
      await replaceImages(trx, agentId, images, digest)
    })
    events.publish({ topic: 'image', id: agentId, version: store.now() }, 'everyone')
    return true
  }

  function noteSkew(memory: AgentMemory, agentId: AgentId, { clockMs }: Report, arrivedAt: number): void {
    memory.skewMs = Math.round(clockMs - store.now() + (performance.now() - arrivedAt))
    if (Math.abs(memory.skewMs) <= MAX_SKEW_MS || memory.skewLogged) return
    memory.skewLogged = true
    const { skewMs } = memory
    if (store.clock.lastStep())
      log.warn({ agentId, skewMs }, 'the database was set to another time than this agent has')
    else log.warn({ agentId, skewMs }, 'the clock of this agent differs; times in its logs will, too')
  }

  async function saveState(agentId: AgentId, memory: AgentMemory, report: Report): Promise<boolean> {
    const state: ReportedState = {
      capacity: report.capacity,
      devices: report.devices,
      networkIsolation: report.network.isolation,
      networkIsolationReason: report.network.reason,
      version: report.version,
      engineVersion: report.engine.version,
    }
    const text = JSON.stringify(state)
    const now = performance.now()
    if (memory.written === '') {
      const row = await reads.find(agentId)
      if (row && isAsWritten(row, state)) {
        Object.assign(memory, { written: text, writtenAt: now, modes: row.device_modes, problem: row.problem })
        return false
      }
    }
    if (memory.written !== text) {
      const saved = await store.transaction(trx => saveInModes(trx, agentId, state))
      if (!saved) return false
      const { version, modes } = saved
      Object.assign(memory, { written: text, writtenAt: now, modes })
      events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
      publishResources()
      return true
    }
    if (now - memory.writtenAt > LAST_SEEN_EVERY_MS) {
      memory.writtenAt = now
      await reads.seen(agentId)
    }
    return false
  }

  /** Saves the state under the agent's lock, so that a mode an admin sets meanwhile is not lost. */
  async function saveInModes(
    trx: Db,
    agentId: AgentId,
    state: ReportedState,
  ): Promise<{ version: number; modes: DeviceModes } | undefined> {
    const row = await lockAgent(trx, agentId)
    if (!row) return undefined
    const here = new Set(state.devices.map(({ uuid }) => uuid))
    const isLost = row.devices.some(({ uuid }) => !here.has(uuid))
    const held = new Set(isLost ? (await listDeviceHolders(trx, agentId)).map(({ uuid }) => uuid) : [])
    const known = { devices: row.devices, modes: row.device_modes, held }
    const { devices, modes } = takeUpDevices(state.devices, known)
    const capacity = withDevices(state.capacity, devices)
    const version = await saveReportedState(trx, agentId, { ...state, capacity, devices, modes })
    return version === undefined ? undefined : { version, modes }
  }

  /**
   * Sends the modes in the background, as the agent may answer late. Its next report shows whether they must be sent
   * again.
   */
  function tellModes(agentId: AgentId, memory: AgentMemory, devices: readonly Device[]): void {
    const knows = devices.every(({ uuid, mode }) => mode === 'mig' || mode === (memory.modes[uuid] ?? mode))
    if (knows || memory.tellingModes) return
    memory.tellingModes = true
    deps
      .tellDeviceModes(agentId, memory.modes)
      .catch((error: unknown) => log.warn({ err: error, agentId }, 'an agent was not told how devices are given out'))
      .finally(() => (memory.tellingModes = false))
  }

  async function applyReport(
    agentId: AgentId,
    reported: readonly KernelReport[],
    { complete, arrivedAt }: { complete: boolean; arrivedAt: number },
  ): Promise<readonly KernelId[]> {
    const memory = memoryOf(agentId)
    const kernels = inOurTime(reported, memory)
    const ids = kernels.map(report => report.kernelId)
    if (complete && (await deps.isRestored())) {
      await adopt(agentId, kernels)
    }
    const known = await reads.kernels({ agentId, kernelIds: ids })
    const { actions, missing } = reconcile({
      agentId,
      managerId,
      isOurs: label => isOurs(agentId, label),
      known,
      reported: kernels,
      complete,
      ageMs: performance.now() - arrivedAt,
      missingBefore: memory.missing,
    })
    memory.missing = missing
    const { problem, kernelIds } = await actOnAll(agentId, actions, !memory.ready)
    const kernelsNow = actions.some(action => action.do === 'import')
      ? await reads.kernels({ agentId, kernelIds: ids })
      : known
    const input = { agentId, managerId, known: kernelsNow }
    noteStrays(memory, kernels, { complete, strays: straysOf(kernels, input) })
    if (complete) note(memory, 'unknown', toldUnknown(unknownOf(kernels, input)))
    if (complete || problem) note(memory, 'kernels', problem)
    await tellProblems(agentId, memory)
    return kernelIds
  }

  function noteStrays(
    memory: AgentMemory,
    reported: readonly KernelReport[],
    { complete, strays }: { complete: boolean; strays: readonly Stray[] },
  ): void {
    const told = new Set(reported.map(report => report.kernelId))
    const others = complete ? [] : memory.strays.filter(stray => !told.has(stray.kernelId))
    const before = memory.strays.length
    memory.strays = [...others, ...strays]
    if (memory.strays.length < before) deps.onAgentChanged()
  }

  function isOurs(agentId: AgentId, label: KernelLabel): boolean {
    return deps.signer.isSigned(label, agentId) || (confirmed.get(agentId)?.has(label.kernelId) ?? false)
  }

  async function adopt(agentId: AgentId, kernels: readonly KernelReport[]): Promise<void> {
    const resourceGroup = (await findAgent(store.db, agentId))?.resource_group ?? 'default'
    const how = { agentId, resourceGroup, isOurs: (label: KernelLabel) => isOurs(agentId, label) }
    changes.hint(await adoptWaiting(store, how, kernels))
  }

  /** Sets or clears a problem; it lasts until a report says otherwise. */
  function note(memory: AgentMemory, subject: Subject, problem: string | null): void {
    if (problem === null) memory.problems.delete(subject)
    else memory.problems.set(subject, problem)
  }

  /** Writes the agent's problems for admins, if they have changed. */
  async function tellProblems(agentId: AgentId, memory: AgentMemory): Promise<void> {
    const problem = SUBJECTS.flatMap(subject => memory.problems.get(subject) ?? []).join(' ') || null
    if (memory.problem === problem) return
    const version = await setProblem(store.db, agentId, problem)
    memory.problem = problem
    if (version !== undefined) events.publish({ topic: 'agent', id: agentId, version }, 'superadmins')
  }

  async function takeUp(
    agentId: AgentId,
    reported: readonly KernelReport[],
    ranBefore: ReadonlySet<KernelId>,
  ): Promise<readonly Action[]> {
    const ids = reported.map(report => report.kernelId)
    const { actions } = reconcile({
      agentId,
      managerId,
      isOurs: label => isOurs(agentId, label),
      known: await reads.kernels({ agentId, kernelIds: ids }),
      reported: inOurTime(reported, memoryOf(agentId)),
      complete: true,
      ageMs: 0,
      missingBefore: ranBefore,
    })
    await actOnAll(agentId, actions, false)
    return actions
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

  changes.onApplied(({ kernelIds, from, to, effects, remote }) => {
    if (!remote && (from === 'SCHEDULED' || effects.freed)) publishResources()
    for (const kernelId of kernelIds) {
      figures.forget(kernelId, to, effects)
      if (to === 'RUNNING' || effects.freed) pulling.delete(kernelId)
      if (to === 'RUNNING') startedAt.set(kernelId, performance.now())
      if (effects.ended) startedAt.delete(kernelId)
    }
  })

  return {
    isReady: agentId => memories.get(agentId)?.ready ?? false,
    engineIsDown: agentId => performance.now() - (memories.get(agentId)?.engineDownSince ?? Infinity) > ENGINE_LOST_MS,
    isUnfit: agentId => memories.get(agentId)?.problems.has('network') ?? false,
    strays: agentId => memories.get(agentId)?.strays ?? [],
    deviceFigures: agentId => memories.get(agentId)?.deviceFigures ?? [],
    async modesChanged(agentId) {
      const row = await findAgent(store.db, agentId)
      const memory = memories.get(agentId)
      if (!row || !memory) return
      memory.modes = row.device_modes
      await deps.tellDeviceModes(agentId, row.device_modes)
    },
    takeUp,
    isOurs,
    async unknown(agentId, reported) {
      const kernelIds = reported.map(({ kernelId }) => kernelId)
      const known = await reads.kernels({ agentId, kernelIds })
      return unknownOf(inOurTime(reported, memoryOf(agentId)), { agentId, managerId, known })
    },
    async confirm(agentId, reported) {
      confirmed.set(agentId, (confirmed.get(agentId) ?? new Set()).add(reported.kernelId))
      if (await deps.isRestored()) await adopt(agentId, inOurTime([reported], memoryOf(agentId)))
      await takeUp(agentId, [reported], new Set())
    },
    connected(agentId) {
      // Start with empty memory: reports of an earlier connection prove nothing about this one.
      memories.delete(agentId)
      return Promise.resolve()
    },
    async message(agentId, message, arrivedAt, leftOut) {
      switch (message.type) {
        case 'report':
          return onReport(agentId, message, { arrivedAt, leftOut })
        case 'kernel_changed':
          return applyReport(agentId, [message.kernel], { complete: false, arrivedAt })
        case 'pull':
          await figures.onPull(agentId, message.kernelId, message.progress)
          break
        case 'image_pull':
          deps.onImagePull(agentId, message.pullId, message.progress)
          break
        case 'stats':
          await figures.onStats(agentId, message.kernels)
      }
      return []
    },
    started(_agentId, { engine, kernels }) {
      if (engine.reachable) return []
      return kernels.map(({ kernelId }) => kernelId).filter(kernelId => startedAt.has(kernelId))
    },
    async disconnected(agentId) {
      memories.delete(agentId)
      deps.onAgentChanged()
      await touchSessionsOn(agentId)
    },
    async takeOver() {
      for (const [agentId, { ready }] of memories) if (ready) await takeUpWork(agentId)
    },
    async lost(agentId) {
      memories.delete(agentId)
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

function toldNetwork(problem: string | null): string | null {
  return problem === null ? null : `No session starts there, because none can have a network: ${problem}`
}

function toldUnknown(containers: readonly UnknownContainer[]): string | null {
  const { length } = containers
  if (length === 0) return null
  const what = length === 1 ? 'A container there names' : `${length} containers there name`
  return `${what} this Berth, which did not sign ${length === 1 ? 'it' : 'them'}: nothing else is started in their place. See \`berth admin agent unknown ls\`.`
}

/** The end of the year 9999: later times have another text form. */
const LATEST_MS = 253_402_300_799_999

/** Converts start times from the clock of the agent's machine to the database's clock. */
function inOurTime(kernels: readonly KernelReport[], { skewMs }: { skewMs: number }): KernelReport[] {
  return kernels.map(kernel => {
    if (kernel.state.state !== 'running') return kernel
    const ms = Math.min(Math.max(0, Date.parse(kernel.state.startedAt) - skewMs), LATEST_MS)
    const startedAt = new Date(ms).toISOString()
    return { ...kernel, state: { ...kernel.state, startedAt } }
  })
}
