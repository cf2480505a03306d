import { type JoinAgents } from '../images/transfers.ts'
import { type AgentId, type SessionId, type UserId } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type AgentGateway } from '../agent-link/gateway.ts'
import { createDownloadTickets } from '../agents/download-tickets.ts'
import { type HostBundles } from '../agents/host-bundle.ts'
import { type AgentService } from '../agents/service.ts'
import { type Grants } from '../grants/grants.ts'
import { startAgentUpdates } from '../agents/updates.ts'
import { type Scheduler } from '../scheduler/tick.ts'
import { type Applied } from '../sessions/changes.ts'
import { createLocator, type SessionLocation } from '../sessions/locate.ts'
import { type Settings } from '../settings/settings.ts'
import { type SessionActivity } from '../tunnels/activity.ts'
import { type TunnelGateway } from '../tunnels/gateway.ts'
import { type OverviewDeps } from '../usage/overview.ts'
import { type AccountNotifier } from '../users/account-notifier.ts'
import { type Logins } from '../users/logins.ts'
import { type LongRequests } from '../users/long-requests.ts'
import { version } from '../version.ts'
import { createSessionHandlers, type SessionHandlers } from './session-handlers.ts'
import { type SessionsCoreDeps, startSessionsCore } from './sessions-core.ts'

export interface SessionsPartDeps extends SessionsCoreDeps {
  /** URL at which agents reach this manager; read when a join token is created. */
  readonly url: () => string
  /** Fingerprint of the TLS key that agents pin for an address; undefined if a public authority certifies it. */
  readonly tlsKeyFor: (url: string) => Promise<string | undefined>
  readonly hostBundles: HostBundles
  readonly settings: Pick<Settings, 'read'>
  readonly notifier: AccountNotifier
  /** Tells which accounts may have changed. */
  readonly logins: Pick<Logins, 'onChange'>
  readonly longRequests: Pick<LongRequests, 'watch'>
  /** Called after a resource policy has changed, or was assigned to another user. */
  readonly onPoliciesChanged: () => void
  readonly readSetUp: OverviewDeps['readSetUp']
}

/** Sessions, agents, scheduler and grants of one manager. */
export interface SessionsPart extends AsyncDisposable {
  readonly handlers: SessionHandlers
  readonly agents: Pick<AgentGateway, 'isConnected' | 'reach' | 'verifyDataToken' | 'verifyDataProof'>
  readonly agentService: AgentService
  /** Requests to agents, through the manager to which each is connected. */
  readonly agentRequests: AgentRequests
  readonly grants: Grants
  readonly scheduler: Scheduler
  /** @throws AppError `session_not_found` */
  locate(id: SessionId): Promise<SessionLocation>
  onSessionEnded(listener: (id: SessionId) => void): void
  /** Called after every change of a session's state, here or at another manager. */
  onApplied(listener: (applied: Applied) => void): void
  /** Call it after limits change: waiting sessions may start now, or not any more. */
  limitsChanged(): void
  /** Call it after users were removed from projects: ends their access to sessions that were shared with them there. */
  membersLeft(userIds: readonly UserId[]): void
  /** Sets the source of tunnel traffic, which counts as activity of a session. */
  watchTraffic(activityOf: (id: SessionId) => SessionActivity): void
  /** Sets how streams of commands are opened; before that, no file of a session is read. */
  openCommandsBy(open: TunnelGateway['openCommand']): void
  /** Sets how the data sockets of two agents are joined; before that, no agent takes an image from another one. */
  joinAgentsBy(join: JoinAgents): void
  /** Called when the control connection of an agent is lost. */
  onAgentGone(listener: (id: AgentId) => void): void
}

/** Starts the parts (`sessions-core.ts`), and creates the services and routes on them (`session-handlers.ts`). */
export async function startSessionsPart(deps: SessionsPartDeps): Promise<SessionsPart> {
  await using stack = new AsyncDisposableStack()
  const core = stack.use(await startSessionsCore(deps))
  const tickets = createDownloadTickets()
  const updates = stack.use(
    startAgentUpdates({
      ...core,
      version,
      isReady: id => core.presence.isReady(id),
      isBusy: id => core.reports.isBusy(id),
      bundles: deps.hostBundles,
      tickets,
      settings: deps.settings,
      tellHost: deps.tellHost,
      audit: deps.audit,
      everyMs: deps.timings?.updatesEveryMs,
    }),
  )
  const { handlers, agentService, sharing, removals, openCommandsBy } = createSessionHandlers(core, {
    url: deps.url,
    keyFingerprint: deps.key.fingerprint,
    tlsKeyFor: deps.tlsKeyFor,
    hostBundles: deps.hostBundles,
    updates,
    tickets,
    audit: deps.audit,
    removalsEveryMs: deps.timings?.updatesEveryMs,
    settings: deps.settings,
    notifier: deps.notifier,
    logins: deps.logins,
    longRequests: deps.longRequests,
    onPoliciesChanged: deps.onPoliciesChanged,
    readSetUp: deps.readSetUp,
  })
  stack.use(removals)
  const opened = stack.move()
  return {
    handlers,
    agents: core.gateway,
    agentService,
    agentRequests: core.agents,
    grants: core.grants,
    scheduler: core.scheduler,
    locate: createLocator(core.store, core.changes, core.members),
    limitsChanged: core.limitsChanged,
    membersLeft: userIds => void sharing.membersLeft(userIds),
    watchTraffic: core.watchTraffic,
    openCommandsBy,
    joinAgentsBy: join => core.images.joinAgentsBy(join),
    onSessionEnded: core.onSessionEnded,
    onApplied: listener => core.changes.onApplied(listener),
    onAgentGone: core.onAgentGone,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
