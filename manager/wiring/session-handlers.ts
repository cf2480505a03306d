import { type AgentId, AppError, type SessionId } from '#manager/contract'
import { type DownloadTickets } from '../agents/download-tickets.ts'
import { type HostBundles } from '../agents/host-bundle.ts'
import { type Audit } from '../audit/recorder.ts'
import { createLongAnswers } from '../agent-link/long-answers.ts'
import { createHostSetup } from '../agents/host-setup.ts'
import { type AgentRemovals, startAgentRemovals } from '../agents/removals.ts'
import { type AgentService, createAgentService } from '../agents/service.ts'
import { type AgentUpdates } from '../agents/updates.ts'
import { createUnknownContainers } from '../agents/unknown-containers.ts'
import { createAgentRoutes } from '../http/routes/agents.ts'
import { createHostSetupRoutes } from '../http/routes/host-setup.ts'
import { createGrantRoutes } from '../http/routes/grants.ts'
import { createQueueRoutes } from '../http/routes/queue.ts'
import { createQuotaRoutes } from '../http/routes/quotas.ts'
import { createResourceGroupRoutes } from '../http/routes/resource-groups.ts'
import { createSchedulingRoutes } from '../http/routes/scheduling.ts'
import { createSessionRoutes } from '../http/routes/sessions.ts'
import { createResourceGroupAccesses } from '../quotas/access.ts'
import { createResourcePolicies } from '../quotas/policies.ts'
import { createPresets } from '../quotas/presets.ts'
import { createResourceGroups } from '../quotas/resource-groups.ts'
import { requireOwner } from '../sessions/launch-owner.ts'
import { createCommandsOfSessions } from '../sessions/commands.ts'
import { createSessionFileRoutes } from '../http/routes/session-files.ts'
import { createSessionFiles } from '../session-files/session-files.ts'
import { type TunnelGateway } from '../tunnels/gateway.ts'
import { createLifetimeService } from '../sessions/lifetime/service.ts'
import { createLiveFolders } from '../sessions/live-folders.ts'
import { createSetPriority } from '../sessions/priority.ts'
import { createSessionQueue } from '../sessions/queue.ts'
import { createSessionService } from '../sessions/service.ts'
import { createSessionImages } from '../sessions/session-images.ts'
import { createImageDefaults } from '../sessions/image-defaults.ts'
import { createSessionTemplates } from '../sessions/templates.ts'
import { createSessionSharing, type SessionSharing } from '../sessions/sharing.ts'
import { type Settings } from '../settings/settings.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { type Logins } from '../users/logins.ts'
import { type LongRequests } from '../users/long-requests.ts'
import { type OverviewDeps } from '../usage/overview.ts'
import { createUsages } from '../usage/usage.ts'
import { type ImagesPart } from './images-part.ts'
import { followCluster } from './in-cluster.ts'
import { type SessionsCore } from './sessions-core.ts'

export interface SessionHandlersDeps {
  /** URL at which agents reach this manager; read when a join token is created. */
  readonly url: () => string
  readonly keyFingerprint: string
  /** Same as in `AgentServiceDeps`. */
  readonly tlsKeyFor: (url: string) => Promise<string | undefined>
  readonly hostBundles: HostBundles
  readonly updates: AgentUpdates
  readonly tickets: DownloadTickets
  readonly audit: Audit | undefined
  readonly removalsEveryMs: number | undefined
  readonly settings: Pick<Settings, 'read'>
  readonly notifier: AccountNotifier
  /** Tells which accounts may have changed. */
  readonly logins: Pick<Logins, 'onChange'>
  readonly longRequests: Pick<LongRequests, 'watch'>
  /** Called after a resource policy, or its assignment, has changed. */
  readonly onPoliciesChanged: () => void
  readonly readSetUp: OverviewDeps['readSetUp']
}

export type SessionHandlers = ReturnType<typeof createSessionRoutes> &
  ReturnType<typeof createAgentRoutes> &
  ReturnType<typeof createHostSetupRoutes> &
  ReturnType<typeof createSessionFileRoutes> &
  ReturnType<typeof createGrantRoutes> &
  ReturnType<typeof createSchedulingRoutes> &
  ReturnType<typeof createQueueRoutes> &
  ReturnType<typeof createResourceGroupRoutes> &
  ImagesPart['handlers'] &
  ReturnType<typeof createQuotaRoutes>

/** Creates the services that users and admins call, on the running parts of `core`, with their routes. */
export function createSessionHandlers(
  core: SessionsCore,
  {
    url,
    keyFingerprint,
    tlsKeyFor,
    hostBundles,
    updates,
    tickets,
    audit,
    removalsEveryMs,
    settings,
    notifier,
    logins,
    longRequests,
    onPoliciesChanged,
    readSetUp,
  }: SessionHandlersDeps,
): {
  readonly handlers: SessionHandlers
  readonly agentService: AgentService
  readonly sharing: SessionSharing
  readonly removals: AgentRemovals
  /** Sets how streams of commands are opened; before that, no file of a session is read. */
  readonly openCommandsBy: (open: TunnelGateway['openCommand']) => void
} {
  const { store, log, events, live, changes, members, presence, agents, images, scheduling, lifecycle } = core
  const { reports, scheduler, grants, trigger, limitsChanged } = core
  const agentService = createAgentService({
    store,
    log,
    gateway: followCluster(core),
    presence,
    changes,
    events,
    url,
    keyFingerprint,
    tlsKeyFor,
    onAgentChanged: trigger,
    deviceFigures: id => reports.deviceFigures(id),
    updates,
    onModesChanged: createTellModes(core),
  })
  const removals = startAgentRemovals({
    ...core,
    isReady: id => presence.isReady(id),
    forget: (id, actor) => agentService.forget(id, actor),
    audit,
    everyMs: removalsEveryMs,
  })
  const setup = createHostSetup({ agents: agentService, bundles: hostBundles, tickets })
  const positionOf = (id: SessionId) => scheduler.positionOf(id)
  const longAnswers = createLongAnswers(agents)
  const sessions = createSessionService({
    store,
    agents,
    longAnswers,
    lifecycle,
    changes,
    events,
    live,
    presence,
    positionOf,
    notifier,
    copyRate: () => images.transfers.rate(),
    onEnqueued: trigger,
  })
  const liveFolders = createLiveFolders({
    store,
    agents,
    presence,
    changes,
    get: (...given) => sessions.get(...given),
    log,
  })
  core.watchMounts(changed => liveFolders.reported(changed))
  const lifetimes = createLifetimeService({ store, changes, live, get: (...given) => sessions.get(...given) })
  const setPriority = createSetPriority({
    store,
    changes,
    onChanged: trigger,
    get: (...given) => sessions.get(...given),
  })
  const sharing = createSessionSharing({ store, changes, events, members, log })
  const commands = createCommandsOfSessions({
    store,
    agents,
    longAnswers,
    isConnected: id => core.gateway.isConnected(id),
    log,
  })
  let openCommand: TunnelGateway['openCommand'] = () => Promise.reject(new AppError('unavailable'))
  const files = createSessionFiles({ store, agents, openCommand: (...given) => openCommand(...given), longRequests })
  // These promises never reject.
  members.onChanged(userId => void commands.checkRights(userId))
  logins.onChange(userIds => void commands.checkAccounts(userIds))
  core.onAgentCame(id => void commands.checkAgent(id))
  const handlers = {
    ...createSessionRoutes({
      sessions,
      liveFolders,
      lifetimes,
      setPriority,
      templates: createSessionTemplates({ store }),
      imageDefaults: createImageDefaults({ store }),
      sharing,
      sessionImages: createSessionImages({
        store,
        settings,
        agents,
        tasks: images.tasks,
        pulls: images.pulls,
        registries: images.registries,
        events,
      }),
      commands,
    }),
    ...createAgentRoutes({
      agents: agentService,
      updates,
      removals,
      unknown: createUnknownContainers({ store, agents, reports }),
      setup,
    }),
    ...createHostSetupRoutes(setup),
    ...images.handlers,
    ...createSessionFileRoutes(files),
    ...createGrantRoutes({ grants }),
    ...createSchedulingRoutes(scheduling),
    ...createQueueRoutes({ queue: createSessionQueue({ db: store.db, live, presence, positionOf }) }),
    ...createResourceGroupRoutes({
      groups: createResourceGroups({ store, onChanged: trigger }),
      accesses: createResourceGroupAccesses({ db: store.db, onChanged: limitsChanged }),
    }),
    ...createQuotaHandlers(core, { notifier, onPoliciesChanged, readSetUp, agentService }),
  }
  return {
    ...{ handlers, agentService, sharing, removals },
    openCommandsBy(given) {
      openCommand = given
    },
  }
}

interface QuotaHandlersDeps extends Pick<SessionHandlersDeps, 'notifier' | 'onPoliciesChanged' | 'readSetUp'> {
  readonly agentService: AgentService
}

/** Limits, presets and use of resources. */
function createQuotaHandlers(core: SessionsCore, deps: QuotaHandlersDeps) {
  const { store, presence, agents, reports, scheduling, log, trigger, limitsChanged } = core
  const { notifier, onPoliciesChanged, readSetUp, agentService } = deps
  return createQuotaRoutes({
    policies: createResourcePolicies({
      store,
      notifier,
      onChanged() {
        limitsChanged()
        onPoliciesChanged()
      },
    }),
    presets: createPresets({ db: store.db, presence }),
    usages: createUsages({
      ...{ store, agents, reports, scheduling, readSetUp, log },
      figures: agentService,
      onChanged: trigger,
    }),
    ownerOf: (caller, wanted) => requireOwner(store.db, caller, wanted),
  })
}

/** Sends the agent its device modes, through the manager to which it is connected. */
function createTellModes({ cluster, reports, log }: Pick<SessionsCore, 'cluster' | 'reports' | 'log'>) {
  const modesChanged = cluster.peers.topic<AgentId>('device_modes_changed')
  const tellModesHere = (id: AgentId) =>
    void reports
      .modesChanged(id)
      .catch((error: unknown) => log.info({ err: error, agentId: id }, 'an agent is told of its devices later'))
  modesChanged.on(tellModesHere)
  return (id: AgentId) => {
    tellModesHere(id)
    modesChanged.tell(id)
  }
}
