import { type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { defined } from '#base/defined'
import { type ManagerId } from '#manager/contract'
import { createUpgrades } from './agent-link/upgrades.ts'
import { createHostBundles } from './agents/host-bundle.ts'
import { tellHostNews } from './agents/tell-host-news.ts'
import { createAuditRecorder } from './audit/recorder.ts'
import { createCertificates } from './certificates/certificates.ts'
import { type ClusterTimings } from './cluster/cluster.ts'
import { type ManagerConfig } from './config.ts'
import { descriptorLimit } from './descriptors.ts'
import { type EventBus } from './events/bus.ts'
import { type Handlers } from './http/handlers.ts'
import { requireFreePort, startCompatAdapter } from './http/compat/adapter.ts'
import { consoleAddress, createOriginRules, isReachedAs } from './http/origin.ts'
import { type Log } from './log.ts'
import { createMailer } from './mail/mailer.ts'
import { type DepartureTimings } from './sso/directory/departures.ts'
import { createSettings } from './settings/settings.ts'
import { readSetUp } from './usage/set-up.ts'
import { createLongRequests } from './users/long-requests.ts'
import { createAccountNotifier } from './users/account-notifier.ts'
import { startAccountsPart } from './wiring/accounts-part.ts'
import { startConnectionsPart } from './wiring/connections-part.ts'
import { startFoldersPart } from './wiring/folders-part.ts'
import { startHttpPart } from './wiring/http-part.ts'
import { startOperationPart } from './wiring/operation-part.ts'
import { createParentRequests, type ParentRequests } from './wiring/parent-requests.ts'
import { type SessionsPartTimings } from './wiring/sessions-core.ts'
import { startSessionsPart } from './wiring/sessions-part.ts'
import { openStorePart } from './wiring/store-part.ts'
import { createSystemHandlers } from './wiring/system-handlers.ts'
import { startWebhooksPart, type WebhookTimings } from './wiring/webhooks-part.ts'

export interface Manager extends ParentRequests, AsyncDisposable {
  readonly url: string
  /** Takes a connection that the parent process has accepted at our port. */
  take(socket: Socket): void
  readonly managerId: ManagerId
  readonly events: EventBus
}

export type ManagerTimings = SessionsPartTimings & {
  readonly cluster?: Partial<ClusterTimings>
  /** Program that packs the bundle for hosts. */
  readonly hostProgram?: string
  /** Interval at which the rights of a long request are checked again. */
  readonly recheckMs?: number
  readonly webhooks?: WebhookTimings
  readonly departures?: DepartureTimings
}

/**
 * Starts a manager: database, identity, agents, scheduler, tunnels, HTTP. All parts are closed in reverse order, also when the start fails
 * half way.
 *
 * @param timings deadlines of sessions and agents; only tests change them
 * @param signal aborts the start between two of its steps
 * @throws AppError `config_invalid`, `weak_password`, `data_version_unsupported`, `data_dir_locked`, `unavailable`, `master_key_mismatch`
 */
export async function startManager(
  config: ManagerConfig,
  log: Log,
  timings?: ManagerTimings,
  signal?: AbortSignal,
): Promise<Manager> {
  await using stack = new AsyncDisposableStack()
  const dataDir = resolve(config.dataDir)
  const { databaseUrl, masterKeyFile, appsAddress, floorBytes, storage: paths } = config
  const opened = stack.use(
    await openStorePart({ dataDir, databaseUrl, masterKeyFile, timings: timings?.cluster, signal, log }),
  )
  const { store, managerId, box, key, cluster, members, bus: events } = opened
  const { jobLocks, peers } = cluster

  const hasAppsAddress = appsAddress !== undefined
  const requireWorkingProvider = () => accounts.requireWorkingProvider()
  const settings = createSettings({
    store,
    box,
    hasAppsAddress,
    requireWorkingProvider,
    requireFreePort: port => requireFreePort(config.host, port),
  })
  const mailer = stack.use(createMailer({ server: () => settings.mailServer(), log }))
  const notifier = createAccountNotifier({ store, settings, mailer, events })
  const certificates = createCertificates({ store, settings, mailer, events })
  const url = (): string => config.advertiseUrl ?? http.url
  const allowed = [...config.allowedHosts, ...hostsOf(config.advertiseUrl)]
  const rules = createOriginRules({ port: () => http.port, allowed })
  const accounts = stack.use(
    await startAccountsPart({
      store,
      box,
      dataDir,
      adminPassword: config.adminPassword,
      settings,
      mailer,
      notifier,
      events,
      peers,
      consoleAddress: request => consoleAddress(request, rules, config.advertiseUrl),
      isReachedAs: (request, host) => isReachedAs(request, rules, host),
      onLimitsChanged: () => sessions.limitsChanged(),
      onFolderLimitsChanged: () => folders.quotas.enforceAll(),
      onMembersLeft: userIds => sessions.membersLeft(userIds),
      timings,
      log,
    }),
  )
  const { logins, signers } = accounts
  const longRequests = stack.use(createLongRequests({ logins, signers, recheckMs: timings?.recheckMs }))
  const audit = stack.use(createAuditRecorder({ store, log }))
  const folders = stack.use(
    await startFoldersPart({ store, dataDir, floorBytes, paths, events, mailer, settings, log, longRequests }),
  )
  const { backups } = stack.use(startOperationPart({ config, store, dataDir, settings, mailer, events, url, log }))
  const webhooks = stack.use(
    startWebhooksPart({ store, box, settings, mailer, events, jobLocks, log, timings: timings?.webhooks }),
  )
  const hostBundles = stack.use(
    createHostBundles({ directory: join(dataDir, 'host-bundles'), log, ...defined({ program: timings?.hostProgram }) }),
  )

  // The parts below need nearly all of it.
  const upgrades = createUpgrades()
  const descriptors = descriptorLimit()
  const ground = { config, store, box, cluster, members, events, settings, upgrades, descriptors, audit, log }

  // Closed before the HTTP server, which waits for the sockets that these parts took over.
  await using parts = new AsyncDisposableStack()
  const sessions = parts.use(
    await startSessionsPart({
      ...ground,
      managerId,
      key,
      notifier,
      logins,
      longRequests,
      tlsKeyFor: url => certificates.keyFor(url),
      hostBundles,
      tellHost: news => tellHostNews({ store, settings, mailer, events }, news),
      url,
      slurm: slurmOf(config),
      timings,
      onPoliciesChanged: () => folders.quotas.enforceAll(),
      readSetUp: () => readSetUp({ settings, backups, certificates, appsAddress: hasAppsAddress }),
    }),
  )
  const connections = parts.use(startConnectionsPart({ ...ground, accounts, sessions, folders, appsAddress }))

  const handlers: Handlers = {
    ...accounts.handlers,
    ...createSystemHandlers({
      ...ground,
      dataDir,
      mailer,
      certificates,
      backups,
      accounts,
      sessions,
      connections,
      longRequests,
      ownUrl: () => http.url,
      backendAiPortChanged: () => compat.settingsChanged(),
    }),
    ...sessions.handlers,
    ...folders.handlers,
    ...webhooks.handlers,
  }
  signal?.throwIfAborted()
  const http = stack.use(
    await startHttpPart({ ...ground, bus: events, rules, handlers, accounts, sessions, folders, connections }),
  )
  const compat = parts.use(
    await startCompatAdapter({
      ...config,
      ...ground,
      trustedProxies: [...(config.trustedProxies ?? []), ...(config.backendAiProxies ?? [])],
      server: http,
      now: () => store.now(),
      logins,
      signers,
      peers,
    }),
  )
  log.info({ url: http.url, managerId }, 'manager ready')

  await cluster.join(url())
  backups.watch()
  stack.use(parts.move())
  const running = stack.move()
  const { agentService, agents } = sessions
  return {
    url: http.url,
    take: socket => http.take(socket),
    managerId,
    events,
    ...createParentRequests({ store, logins, agentService, agents, audit, log }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Where the client commands of Slurm are, and how often they are called. */
function slurmOf({ slurmCommands: commands, slurmPollSeconds: seconds }: ManagerConfig) {
  return { commands, pollMs: seconds === undefined ? undefined : seconds * 1000 }
}

/** Agents send the advertised name as the Host, so it must be allowed. */
function hostsOf(advertiseUrl: string | undefined): string[] {
  return advertiseUrl === undefined ? [] : [new URL(advertiseUrl).host]
}
