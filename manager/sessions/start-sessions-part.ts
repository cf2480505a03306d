import { type AgentId, type ManagerId, type SessionId } from '#manager/contract'
import { type AgentGateway, startAgentGateway } from '../agents/gateway.ts'
import { createLiveFigures } from '../agents/live.ts'
import { createReports } from '../agents/reports.ts'
import { type AgentService, createAgentService } from '../agents/service.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Grants, startGrants } from '../grants/grants.ts'
import { createAgentRoutes } from '../http/routes/agents.ts'
import { createGrantRoutes } from '../http/routes/grants.ts'
import { createResourceGroupRoutes } from '../http/routes/resource-groups.ts'
import { createSessionRoutes } from '../http/routes/sessions.ts'
import { type Upgrades } from '../http/upgrades.ts'
import { type Log } from '../log.ts'
import { createResourceGroups } from '../scheduler/groups.ts'
import { type AgentPresence } from '../scheduler/snapshot.ts'
import { startScheduler, type Scheduler } from '../scheduler/tick.ts'
import { listAgents } from '../store/agents.ts'
import { type Store } from '../store/open-store.ts'
import { createSessionChanges } from './changes.ts'
import { startDeadlines } from './deadlines.ts'
import { createLifecycle } from './lifecycle.ts'
import { createLocator, type SessionLocation } from './locate.ts'
import { createSessionService } from './service.ts'
import { type Timings } from './timings.ts'

export interface SessionsPartDeps {
  readonly store: Store
  readonly managerId: ManagerId
  readonly events: EventPublisher
  readonly upgrades: Upgrades
  /** Where agents reach this manager; asked when a join token is made. */
  readonly url: () => string
  readonly log: Log
  readonly timings?: SessionsPartTimings | undefined
}

/** Shorter in tests. */
export type SessionsPartTimings = Partial<Timings> & { readonly agentLostMs?: number; readonly slowTickMs?: number }

/** Sessions, agents, scheduler and grants of one manager. */
export interface SessionsPart extends AsyncDisposable {
  readonly handlers: ReturnType<typeof createSessionRoutes> &
    ReturnType<typeof createAgentRoutes> &
    ReturnType<typeof createGrantRoutes> &
    ReturnType<typeof createResourceGroupRoutes>
  readonly agents: Pick<AgentGateway, 'isConnected' | 'verifyDataToken'>
  readonly agentService: AgentService
  readonly grants: Grants
  readonly scheduler: Scheduler
  /** @throws AppError `session_not_found` */
  locate(id: SessionId): Promise<SessionLocation>
  onSessionEnded(listener: (id: SessionId) => void): void
  /** The control connection of an agent is gone. */
  onAgentGone(listener: (id: AgentId) => void): void
}

/**
 * Wires and starts. Closed in reverse: first the connections to the agents, so that requests in flight end, then
 * what waits for them. Kernels that are being started go on; the next start takes them up again.
 */
export async function startSessionsPart(deps: SessionsPartDeps): Promise<SessionsPart> {
  const { store, managerId, events, upgrades, log, timings = {} } = deps
  await using stack = new AsyncDisposableStack()
  const endedListeners: ((id: SessionId) => void)[] = []
  const goneListeners: ((id: AgentId) => void)[] = []
  const live = createLiveFigures()
  const changes = createSessionChanges({ store, events })
  changes.onApplied(({ sessionId, effects }) => {
    if (effects.ended) for (const listener of endedListeners) listener(sessionId)
  })

  // Gateway, reports, lifecycle and scheduler know each other only through these two; both are set before anything runs.
  const presence: AgentPresence = { isReady: id => gateway.isConnected(id) && reports.isReady(id) }
  const agents = {
    ...presence,
    request: ((agentId, name, input, options) =>
      gateway.request(agentId, name, input, options)) as AgentGateway['request'],
  }
  const trigger = () => scheduler.trigger()

  const lifecycle = stack.use(createLifecycle({ store, changes, agents, log, timings }))
  const reports = createReports({ store, managerId, events, changes, lifecycle, live, log, onAgentChanged: trigger })
  const listener = {
    ...reports,
    gone(id: AgentId) {
      for (const gone of goneListeners) gone(id)
    },
  }
  const { agentLostMs, slowTickMs } = timings
  const scheduler = stack.use(
    startScheduler({
      store,
      presence,
      start: id => lifecycle.start(id),
      hint: touched => changes.hint(touched),
      log,
      ...(slowTickMs === undefined ? {} : { slowTickMs }),
    }),
  )
  changes.onApplied(({ effects, to }) => {
    if (effects.freed || to === 'PENDING') trigger()
  })
  const grants = stack.use(startGrants({ store, agents, changes, log }))
  stack.use(
    startDeadlines({ store, presence, lifecycle, changes, pullMovedAt: id => live.pullMovedAt(id), log, timings }),
  )
  const gateway = stack.use(
    startAgentGateway({
      store,
      managerId,
      upgrades,
      listener,
      log,
      ...(agentLostMs === undefined ? {} : { lostMs: agentLostMs }),
    }),
  )
  gateway.expect((await listAgents(store.db)).filter(agent => agent.status === 'CONNECTED').map(agent => agent.id))

  const { url } = deps
  const agentService = createAgentService({ store, gateway, presence, changes, events, url, onAgentChanged: trigger })
  const positionOf = (id: SessionId) => scheduler.positionOf(id)
  const sessions = createSessionService({
    store,
    agents,
    lifecycle,
    events,
    live,
    presence,
    positionOf,
    onEnqueued: trigger,
  })
  const opened = stack.move()
  return {
    handlers: {
      ...createSessionRoutes({ sessions }),
      ...createAgentRoutes({ agents: agentService }),
      ...createGrantRoutes({ grants }),
      ...createResourceGroupRoutes({ groups: createResourceGroups({ db: store.db, onChanged: trigger }) }),
    },
    agents: gateway,
    agentService,
    grants,
    scheduler,
    locate: createLocator(store, changes),
    onSessionEnded: listener => void endedListeners.push(listener),
    onAgentGone: listener => void goneListeners.push(listener),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
