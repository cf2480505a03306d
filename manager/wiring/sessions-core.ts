import { defined } from '#base/defined'
import { type AgentId, type ManagerId, type SessionId } from '#manager/contract'
import { type AgentGateway, startAgentGateway } from '../agent-link/gateway.ts'
import { type ManagerKey } from '../agent-link/manager-key.ts'
import { strangerOf } from '../http/sender.ts'
import { createLiveStats } from '../stats/live.ts'
import { type ChangedMounts } from '../sessions/added-folders.ts'
import { createReports } from '../agents/reports.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type Audit } from '../audit/recorder.ts'
import { type EventPublisher } from '../events/bus.ts'
import { startGrants } from '../grants/grants.ts'
import { type Upgrades } from '../agent-link/upgrades.ts'
import { createSessionTransfers } from '../images/session-transfers.ts'
import { type Log } from '../log.ts'
import { createImagesPart } from './images-part.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { createInterruptions } from '../scheduler/interruptions.ts'
import { createSchedulingSwitch } from '../scheduler/pause.ts'
import { type MountsMemory, type PlacingPresence } from '../scheduler/snapshot.ts'
import { startScheduler } from '../scheduler/tick.ts'
import { createSlurmAllocator } from '../allocators/slurm/slurm-allocator.ts'
import { type AllocationsDeps, startAllocations } from '../allocators/start-allocations.ts'
import { type JudgeTimes } from '../allocators/judge.ts'
import { listAgents } from '../store/agents/agents.ts'
import { startStatsRecorder } from '../stats/recorder.ts'
import { type Store } from '../store/open-store.ts'
import { keptLog } from '../store/sessions/kept-log.ts'
import { NO_ACTIVITY, type SessionActivity } from '../tunnels/activity.ts'
import { createSessionChanges } from '../sessions/changes.ts'
import { startDeadlines } from '../sessions/deadlines.ts'
import { type SessionMembers } from '../sessions/members.ts'
import { createSeek, createTellReplaced } from './in-cluster.ts'
import { readRights } from '../sessions/rights/read-rights.ts'
import { createKernelSigner } from '../sessions/kernel-signature.ts'
import { createLifecycle } from '../sessions/lifecycle/lifecycle.ts'
import { type FaultTimings, type TellHost } from '../agents/tell-faults.ts'
import { startLifetimes } from '../sessions/lifetime/start-lifetimes.ts'
import { DEFAULT_TIMINGS, type Timings } from '../scheduler/timings.ts'
import { createStartFiles } from '../users/start-files.ts'

export interface SessionsCoreDeps {
  readonly store: Store
  readonly managerId: ManagerId
  /** This manager's view of all managers on the database. */
  readonly cluster: Cluster
  /** Key with which this manager authenticates to agents. */
  readonly key: ManagerKey
  readonly events: EventPublisher
  readonly members: SessionMembers
  /** Opens the passwords of registries. */
  readonly box: SecretBox
  readonly upgrades: Upgrades
  /** Informs superadmins about a host. */
  readonly tellHost: TellHost
  /** Client commands of Slurm, and how often they are called. */
  readonly slurm?: { readonly commands?: string | undefined; readonly pollMs?: number | undefined } | undefined
  readonly log: Log
  readonly timings?: SessionsPartTimings | undefined
  readonly audit?: Audit | undefined
}

/** Times can be set shorter in tests. */
export type SessionsPartTimings = Partial<Timings> & {
  readonly agentLostMs?: number
  readonly slowTickMs?: number
  readonly updatesEveryMs?: number
  readonly faults?: Partial<FaultTimings>
  readonly allocations?: Partial<JudgeTimes> & Pick<AllocationsDeps, 'pollMs' | 'giveUpMs' | 'mostWaiting'>
}

/** Number of lines at the end of a log that are kept when the container ends. */
const LAST_LINES = 10_000
const LAST_LOG_MS = 3_000
const DEVICE_MODES_MS = 10_000
const WARN_MS = 10_000

/** The running parts, by name, for the services that are created on them. */
export type SessionsCore = Awaited<ReturnType<typeof startSessionsCore>>

/**
 * Wires and starts all parts. They are closed in reverse order: first the connections to the agents, so that requests in flight end, then
 * the parts that wait for them. Kernels that are being started continue; the next manager that starts takes them over.
 */
export async function startSessionsCore(deps: SessionsCoreDeps) {
  const { store, managerId, cluster, key, events, members, box, upgrades, log, timings = {} } = deps
  await using stack = new AsyncDisposableStack()
  const endedListeners: ((id: SessionId) => void)[] = []
  const cameListeners: ((id: AgentId) => void)[] = []
  const goneListeners: ((id: AgentId) => void)[] = []
  const live = createLiveStats(store.now)
  const changes = createSessionChanges({ store, events, peers: cluster.peers })
  changes.onApplied(({ sessionId, effects }) => {
    if (effects.ended) for (const listener of endedListeners) listener(sessionId)
  })

  // Gateway, reports, lifecycle and scheduler know each other only through these two; both are set before anything runs.
  const presence: PlacingPresence & MountsMemory = {
    isReady: id => gateway.isConnected(id) && reports.isReady(id),
    orphans: id => reports.orphans(id),
    engineIsDown: id => reports.engineIsDown(id),
    isUnfit: id => reports.isUnfit(id),
    storage: id => reports.storage(id),
    architectures: id => reports.architectures(id),
    clusterAddress: id => reports.clusterAddress(id),
    restricts: id => reports.restricts(id),
    mounts: (agentId, kernelId) => reports.mounts(agentId, kernelId),
    noteMounted: (agentId, kernelId, folder) => reports.noteMounted(agentId, kernelId, folder),
    noteUnmounted: (agentId, kernelId, folder) => reports.noteUnmounted(agentId, kernelId, folder),
  }
  const agents = {
    ...presence,
    request: ((agentId, name, input, options) =>
      gateway.request(agentId, name, input, options)) as AgentGateway['request'],
  }
  const wakeScheduler = () => scheduler.trigger()
  const wakeHere = () => {
    wakeScheduler()
    allocations.trigger()
  }
  const wake = cluster.peers.topic<null>('wake')
  wake.on(wakeHere)
  cluster.jobLocks.onTaken(wakeHere)
  /** Wakes the schedulers of all managers, because it is not known here which of them schedules the group. */
  const trigger = () => {
    wakeHere()
    wake.tell(null)
  }

  const images = createImagesPart({ store, box, events, agents, log })
  const pullOf: typeof images.registries.pullOf = (...given) => images.registries.pullOf(...given)
  const transfers = createSessionTransfers(store.db, images.transfers)
  const scheduling = createSchedulingSwitch({ store, onResumed: trigger })
  const signer = createKernelSigner(box, managerId)
  const startFiles = createStartFiles({ store, box })
  const lifecycle = stack.use(
    createLifecycle({ store, changes, agents, pullOf, transfers, signer, startFiles, log, timings }),
  )
  const recorder = stack.use(startStatsRecorder({ store, log }))
  changes.onApplied(({ sessionId, effects }) => {
    if (effects.ended || effects.interrupted) recorder.end(sessionId)
  })
  const { preparingMs, replyMarginMs } = { ...DEFAULT_TIMINGS, ...timings }
  let onMounts: (changed: ChangedMounts) => Promise<void> = () => Promise.resolve()
  const reports = createReports({
    store,
    managerId,
    signer,
    events,
    changes,
    lifecycle,
    live,
    links: cluster.links,
    isRestored: () => scheduling.isRestored(),
    prepareWithinMs: preparingMs + replyMarginMs,
    recorder,
    lastLog: (agentId, kernelId) =>
      agents
        .request(agentId, 'get_logs', { kernelId, tail: LAST_LINES }, { timeoutMs: LAST_LOG_MS })
        .then(keptLog, () => undefined),
    log,
    onMounts: changed => void onMounts(changed),
    onImagePull: (...given) => images.pulls.onProgress(...given),
    onBuildLog: (...given) => images.builds.onLog(...given),
    tellDeviceModes: (agentId, modes) =>
      agents.request(agentId, 'set_device_modes', { modes }, { timeoutMs: DEVICE_MODES_MS }),
    tellHost: deps.tellHost,
    faultTimings: timings.faults,
    // Wakes only this manager's scheduler: every manager gets the agent's report itself.
    onAgentChanged: wakeScheduler,
  })
  const listener = {
    ...reports,
    came(id: AgentId, via: string | null) {
      cluster.links.add(id, via)
      for (const came of cameListeners) came(id)
    },
    gone(id: AgentId) {
      cluster.links.remove(id)
      for (const gone of goneListeners) gone(id)
    },
    lost(id: AgentId): Promise<void> {
      // The connection was closed here, but its close event has not arrived yet.
      if (!gateway.isConnected(id)) cluster.links.remove(id)
      return reports.lost(id)
    },
  }
  const { agentLostMs, slowTickMs } = timings
  const scheduler = stack.use(
    startScheduler({
      store,
      presence,
      rights: readRights,
      start: id => lifecycle.start(id),
      cancel: (id, reason) => lifecycle.cancel(id, reason),
      hint: touched => changes.hint(touched),
      interruptions: createInterruptions({
        store,
        presence,
        warn: async (agentId, kernelId, at) =>
          void (await agents.request(agentId, 'warn_kernel', { kernelId, at }, { timeoutMs: WARN_MS })),
        stop: (id, at) => lifecycle.interrupt(id, at),
        hint: touched => changes.hint(touched),
        audit: deps.audit,
        log,
      }),
      jobLocks: cluster.jobLocks,
      isPaused: () => scheduling.isPaused(),
      log,
      ...defined({ slowTickMs }),
    }),
  )
  const allocations = stack.use(
    startAllocations({
      store,
      managerId,
      presence,
      rights: readRights,
      allocatorFor: signal => createSlurmAllocator({ commands: deps.slurm?.commands, signal }),
      start: id => lifecycle.start(id),
      cancel: (id, reason) => lifecycle.cancel(id, reason),
      end: (id, reason, { isWaiting }) =>
        lifecycle.terminate(id, { reason, still: ({ status }) => (status === 'PENDING') === isWaiting }),
      warn: async (agentId, kernelId, { at, continues }) => {
        const notice = { kernelId, at, ...(continues ? {} : { isEnd: true as const }) }
        await agents.request(agentId, 'warn_kernel', notice, { timeoutMs: WARN_MS })
      },
      interrupt: (id, at, reason) => lifecycle.interrupt(id, at, reason),
      audit: deps.audit,
      hint: touched => changes.hint(touched),
      jobLocks: cluster.jobLocks,
      isPaused: () => scheduling.isPaused(),
      isRestored: () => scheduling.isRestored(),
      log,
      ...defined({
        pollMs: timings.allocations?.pollMs ?? deps.slurm?.pollMs,
        giveUpMs: timings.allocations?.giveUpMs,
        mostWaiting: timings.allocations?.mostWaiting,
        times: timings.allocations,
      }),
    }),
  )
  changes.onApplied(({ effects, to }) => {
    // Other sessions may depend on a session that ended without ever holding resources.
    if (effects.freed || effects.ended || to === 'PENDING') wakeHere()
  })
  const grants = stack.use(startGrants({ store, agents, changes, members, log }))
  stack.use(
    startDeadlines({
      store,
      presence,
      lifecycle,
      changes,
      pullQuietMs: ids => live.pullQuietMs(ids),
      sinceWaitingMs: ids => live.sinceWaitingMs(ids),
      isElsewhere: id => cluster.links.isElsewhere(id),
      log,
      timings,
    }),
  )
  let activityOf: (id: SessionId) => SessionActivity = () => NO_ACTIVITY
  stack.use(
    startLifetimes({
      store,
      presence,
      lifecycle,
      changes,
      windowOf: (...given) => live.window(...given),
      activityOf: id => activityOf(id),
      audit: deps.audit,
      log,
      timings,
    }),
  )
  const gateway = stack.use(
    startAgentGateway({
      strangerOf,
      store,
      managerId,
      processId: cluster.processId,
      key,
      managers: () => cluster.members(),
      seek: createSeek(cluster),
      onReplaced: createTellReplaced(cluster),
      upgrades,
      listener,
      audit: deps.audit,
      log,
      ...defined({ lostMs: agentLostMs }),
    }),
  )
  // Closed before the gateway, so that tasks cancelled here do not count as failed.
  stack.use(images)
  gateway.expect((await listAgents(store.db)).filter(agent => agent.status === 'CONNECTED').map(agent => agent.id))

  const limitsChanged = () => {
    trigger()
    events.publish({ topic: 'resources', id: 'all', version: store.now() }, 'everyone')
  }
  const opened = stack.move()
  return {
    store,
    cluster,
    events,
    log,
    live,
    changes,
    members,
    presence,
    agents,
    gateway,
    images,
    scheduling,
    lifecycle,
    reports,
    scheduler,
    grants,
    trigger,
    limitsChanged,
    watchMounts: (then: typeof onMounts) => void (onMounts = then),
    watchTraffic: (of: (id: SessionId) => SessionActivity) => void (activityOf = of),
    onSessionEnded: (listener: (id: SessionId) => void) => void endedListeners.push(listener),
    onAgentCame: (listener: (id: AgentId) => void) => void cameListeners.push(listener),
    onAgentGone: (listener: (id: AgentId) => void) => void goneListeners.push(listener),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
