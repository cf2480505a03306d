import { defined } from '#base/defined'
import { type AgentId, type ManagerId, type SessionId } from '#manager/contract'
import { startAgentGateway } from '../agent-link/gateway.ts'
import { type ManagerKey } from '../agent-link/manager-key.ts'
import { strangerOf } from '../http/sender.ts'
import { createLiveStats, type LiveStats } from '../stats/live.ts'
import { type ChangedMounts } from '../sessions/added-folders.ts'
import { type AgentLinks } from '../cluster/agent-links.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type Audit } from '../audit/recorder.ts'
import { type EventPublisher } from '../events/bus.ts'
import { startGrants } from '../grants/grants.ts'
import { type Upgrades } from '../agent-link/upgrades.ts'
import { createSessionTransfers } from '../images/session-transfers.ts'
import { type Log } from '../log.ts'
import { createAgentReports, createListener, knownAgents } from './agent-reports.ts'
import { createImagesPart } from './images-part.ts'
import { type PlacingPartDeps, type PlacingTimings, startPlacingPart } from './placing-part.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { createSchedulingSwitch } from '../scheduler/pause.ts'
import { listAgents } from '../store/agents/agents.ts'
import { startStatsRecorder } from '../stats/recorder.ts'
import { type Store } from '../store/open-store.ts'
import { NO_ACTIVITY, type SessionActivity } from '../tunnels/activity.ts'
import { createSessionChanges } from '../sessions/changes.ts'
import { startDeadlines } from '../sessions/deadlines.ts'
import { type SessionMembers } from '../sessions/members.ts'
import { createSeek, createTellReplaced } from './in-cluster.ts'
import { createKernelSigner } from '../sessions/kernel-signature.ts'
import { createLifecycle, type Lifecycle } from '../sessions/lifecycle/lifecycle.ts'
import { type FaultTimings, type TellHost } from '../agents/tell-faults.ts'
import { type LifetimesDeps, startLifetimes } from '../sessions/lifetime/start-lifetimes.ts'
import { type Timings } from '../scheduler/timings.ts'
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
  readonly slurm?: PlacingPartDeps['slurm']
  readonly log: Log
  readonly timings?: SessionsPartTimings | undefined
  readonly audit?: Audit | undefined
}

/** Times can be set shorter in tests. */
export type SessionsPartTimings = Partial<Timings> &
  PlacingTimings & {
    readonly agentLostMs?: number
    readonly updatesEveryMs?: number
    readonly faults?: Partial<FaultTimings>
  }

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

  // Gateway, reports, lifecycle and scheduler know each other only through this; gateway and reports are set before anything runs.
  const agents = knownAgents({ gateway: () => gateway, reports: () => reports })
  const wakeHere = () => placing.trigger()
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
  let onMounts: (changed: ChangedMounts) => Promise<void> = () => Promise.resolve()
  const reports = createAgentReports({
    store,
    managerId,
    signer,
    events,
    changes,
    lifecycle,
    live,
    links: cluster.links,
    isRestored: () => scheduling.isRestored(),
    recorder,
    agents,
    images,
    onMounts: changed => void onMounts(changed),
    tellHost: deps.tellHost,
    faultTimings: timings.faults,
    // Wakes only this manager's scheduler: every manager gets the agent's report itself.
    onAgentChanged: () => placing.scheduler.trigger(),
    log,
    timings,
  })
  const listener = createListener({
    reports,
    links: cluster.links,
    isConnected: id => gateway.isConnected(id),
    onCame: id => cameListeners.forEach(came => came(id)),
    onGone: id => goneListeners.forEach(gone => gone(id)),
  })
  const { audit } = deps
  const shared = { store, presence: agents, lifecycle, changes, audit, log, timings }
  const placing = stack.use(
    startPlacingPart({ ...shared, managerId, agents, scheduling, jobLocks: cluster.jobLocks, slurm: deps.slurm }),
  )
  changes.onApplied(({ effects, to }) => {
    // Other sessions may depend on a session that ended without ever holding resources.
    if (effects.freed || effects.ended || to === 'PENDING') wakeHere()
  })
  const grants = stack.use(startGrants({ store, agents, changes, members, log }))
  let activityOf: (id: SessionId) => SessionActivity = () => NO_ACTIVITY
  stack.use(startTimeLimits({ ...shared, live, links: cluster.links, activityOf: id => activityOf(id) }))
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
      audit,
      log,
      ...defined({ lostMs: timings.agentLostMs }),
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
    presence: agents,
    agents,
    gateway,
    images,
    scheduling,
    lifecycle,
    reports,
    scheduler: placing.scheduler,
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

interface TimeLimitsDeps extends Pick<
  LifetimesDeps,
  'store' | 'presence' | 'changes' | 'activityOf' | 'audit' | 'log'
> {
  readonly lifecycle: Lifecycle
  readonly live: LiveStats
  readonly links: Pick<AgentLinks, 'isElsewhere'>
  readonly timings: SessionsPartTimings
}

/** Ends what takes too long: starts and ends by their deadlines, sessions by their idle time and lifetime. */
function startTimeLimits({ live, links, activityOf, audit, ...shared }: TimeLimitsDeps): AsyncDisposable {
  const stack = new AsyncDisposableStack()
  stack.use(
    startDeadlines({
      ...shared,
      pullQuietMs: ids => live.pullQuietMs(ids),
      sinceWaitingMs: ids => live.sinceWaitingMs(ids),
      isElsewhere: id => links.isElsewhere(id),
    }),
  )
  stack.use(startLifetimes({ ...shared, windowOf: (...given) => live.window(...given), activityOf, audit }))
  return stack
}
