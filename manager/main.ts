import { mkdir } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { answerParent, onParentGone } from '#base/parent-channel'
import { AgentId, AppError, ERRORS, type ManagerId, toWireError } from '#manager/contract'
import { openManagerKey } from './agent-link/manager-key.ts'
import { judgeDatabaseClock } from './cluster/judge-managers.ts'
import { type ClusterTimings, openCluster, standAlone } from './cluster/cluster.ts'
import { SILENT_MS } from './cluster/dedicated-connection.ts'
import { backup } from './backup/backup.ts'
import { createBackups } from './backup/backups.ts'
import { createAuditLog } from './audit/audit-log.ts'
import { createAuditRecorder } from './audit/recorder.ts'
import { type ManagerConfig, readConfig } from './config.ts'
import { runDoctor } from './diagnostics/run-doctor.ts'
import { createEventBus, type EventBus } from './events/bus.ts'
import { type Handlers } from './http/handlers.ts'
import { createBackupRoutes } from './http/routes/backups.ts'
import { createAuditRoutes } from './http/routes/audit.ts'
import { createServedAppRoutes } from './http/routes/served-apps.ts'
import { createManagerRoutes } from './http/routes/managers.ts'
import { createMessageRoutes } from './http/routes/messages.ts'
import { createSettingsRoutes } from './http/routes/settings.ts'
import { startHttpServer } from './http/server.ts'
import { consoleAddress, createOriginRules } from './http/origin.ts'
import { createUpgrades } from './agent-link/upgrades.ts'
import { startSessionMembers } from './sessions/members.ts'
import { createLogger, type Log } from './log.ts'
import { createMailer } from './mail/mailer.ts'
import { createMessages } from './sessions/messages.ts'
import { createMetrics } from './metrics.ts'
import { createCertificates } from './certificates/certificates.ts'
import { registerFigures } from './operation/figures.ts'
import { openSecretBox } from './secrets/open-secret-box.ts'
import { createManagerList } from './scheduler/managers.ts'
import { createDiagnosticsPart } from './wiring/diagnostics-part.ts'
import { startFoldersPart } from './wiring/folders-part.ts'
import { type SessionsPartTimings } from './wiring/sessions-core.ts'
import { tellHostNews } from './agents/tell-host-news.ts'
import { startSessionsPart } from './wiring/sessions-part.ts'
import { startAccountsPart } from './wiring/accounts-part.ts'
import { startConnectionsPart } from './wiring/connections-part.ts'
import { startRetention } from './operation/retention.ts'
import { hasCallsInFlight } from './storage/calls.ts'
import { createSettings } from './settings/settings.ts'
import { listAgentVersions } from './store/agents/agents.ts'
import { openStore } from './store/open-store.ts'
import { readServerVersion } from './store/operation/server-version.ts'
import { loadManagerId } from './store/operation/settings.ts'
import { createTasks } from './tasks/tasks.ts'
import { startDailySums } from './usage/daily-sums.ts'
import { readSetUp } from './usage/set-up.ts'
import { firstAdminId } from './users/first-admin.ts'
import { createTelling } from './users/telling.ts'
import { version } from './version.ts'

export interface Manager extends AsyncDisposable {
  readonly url: string
  /** Takes a connection that the parent process has accepted at our port. */
  take(socket: Socket): void
  readonly managerId: ManagerId
  readonly events: EventBus
  /** Ticket for signing in on this machine as `admin@localhost`: single-use, valid for ten minutes. */
  createSignInTicket(): Promise<{ ticket: string }>
  /** Join string for an agent: single-use, valid for fifteen minutes. */
  createJoinToken(): Promise<{ join: string }>
  /**
   * As `createJoinToken`, for the agent of this computer whose data directory is lost, e.g. after a restore into a new
   * one.
   * @throws AppError `agent_not_found` if it is no agent of this manager, `agent_running_elsewhere` if it is connected
   */
  createReplaceToken(agentId: string): Promise<{ join: string }>
  /** Ends all sign-ins of browsers, because another program may have had the console's port. */
  endBrowserSignIns(): Promise<void>
}

export type ManagerTimings = SessionsPartTimings & { readonly cluster?: Partial<ClusterTimings> }

/**
 * Starts a manager: database, identity, agents, scheduler, tunnels, HTTP. All parts are closed in reverse order, also
 * when the start fails half way.
 *
 * @param timings deadlines of sessions and agents; only tests have a reason to change them
 * @param signal cuts the start short between two of its steps
 * @throws AppError `config_invalid`, `weak_password`, `data_version_unsupported`, `data_dir_locked`, `unavailable`,
 *   `master_key_mismatch`
 */
export async function startManager(
  config: ManagerConfig,
  log: Log,
  timings?: ManagerTimings,
  signal?: AbortSignal,
): Promise<Manager> {
  await using stack = new AsyncDisposableStack()
  const dataDir = resolve(config.dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const { databaseUrl } = config
  signal?.throwIfAborted()
  // With an external database, other managers may wait for the locks of a hung transaction.
  const silentMs = databaseUrl === undefined ? undefined : SILENT_MS
  const store = stack.use(await openStore({ databaseUrl, dataDir, log, silentMs }))
  signal?.throwIfAborted()
  const managerId = await loadManagerId(store.db)
  const box = await openSecretBox({ store, dataDir, file: config.masterKeyFile, log })
  const key = await openManagerKey(store.db, box)
  const cluster = stack.use(
    databaseUrl === undefined
      ? standAlone(version, () => store.now())
      : await openCluster({ store, databaseUrl, version, log, timings: timings?.cluster }),
  )
  signal?.throwIfAborted()
  const members = stack.use(await startSessionMembers({ store, peers: cluster.peers, log }))
  const bus = createEventBus(cluster.peers, undefined, id => members.of(id))
  const metrics = createMetrics()
  const upgrades = createUpgrades()

  const settings = createSettings({
    store,
    box,
    hasAppsAddress: config.appsAddress !== undefined,
    requireWorkingProvider: () => accounts.requireWorkingProvider(),
  })
  const mailer = stack.use(createMailer({ server: () => settings.mailServer(), log }))
  const telling = createTelling({ store, settings, mailer, events: bus })
  const certificates = createCertificates({ store, settings, mailer, events: bus })
  const url = () => config.advertiseUrl ?? http.url
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
      telling,
      events: bus,
      peers: cluster.peers,
      consoleAddress: request => consoleAddress(request, rules, config.advertiseUrl),
      onLimitsChanged: () => sessions.limitsChanged(),
      onFolderLimitsChanged: () => folders.room.enforceAll(),
      onMembersLeft: userIds => sessions.membersLeft(userIds),
      log,
    }),
  )
  const audit = stack.use(createAuditRecorder({ store, log }))
  const folders = stack.use(
    await startFoldersPart({ store, dataDir, paths: config.storage, events: bus, mailer, settings, log }),
  )
  stack.use(startRetention({ store, settings, events: bus, log }))
  stack.use(startDailySums({ store, log }))
  const backups = stack.use(
    createBackups({
      store,
      settings,
      tasks: createTasks({ store, events: bus, log }),
      mailer,
      events: bus,
      directory: resolve(config.backupDirectory ?? join(dataDir, 'backups')),
      // The master key stays out: a passphrase for it would have to lie beside the backups.
      write: (file, options) =>
        backup({ dataDir, databaseUrl, log, file, masterKeyFile: '', passphrase: undefined, ...options }),
      url: () => url(),
      log,
    }),
  )

  // Closed before the HTTP server, which waits for the sockets that these parts took over.
  await using parts = new AsyncDisposableStack()
  const sessions = parts.use(
    await startSessionsPart({
      settings,
      telling,
      tlsKeyFor: url => certificates.keyFor(url),
      tellHost: news => tellHostNews({ store, settings, mailer, events: bus }, news),
      store,
      managerId,
      cluster,
      key,
      events: bus,
      members,
      box,
      upgrades,
      url,
      log,
      timings,
      audit,
      onPoliciesChanged: () => folders.room.enforceAll(),
      readSetUp: () => readSetUp({ settings, backups, certificates, appsAddress: config.appsAddress !== undefined }),
    }),
  )
  const { published, ownApps, tunnels, sftp } = parts.use(
    startConnectionsPart({
      store,
      box,
      settings,
      cluster,
      upgrades,
      accounts,
      sessions,
      members,
      folders,
      audit,
      appsAddress: config.appsAddress,
      log,
    }),
  )

  const managers = createManagerList({ db: store.db, cluster })
  const handlers: Handlers = {
    ...accounts.handlers,
    ...createSettingsRoutes({
      settings,
      mailer,
      events: bus,
      now: () => store.now(),
      endPublishedApps: () => published.endAll(),
      haveSignInsEnded: () => accounts.logins.haveBrowsersEnded,
    }),
    ...createServedAppRoutes(published, ownApps, settings),
    ...createAuditRoutes(createAuditLog(store.db)),
    ...createBackupRoutes(backups),
    ...createManagerRoutes({
      managers,
      certificates,
      versions: async () => ({
        manager: version,
        node: process.version,
        postgresql: await readServerVersion(store.db),
        platform: `${process.platform} ${process.arch}`,
        agents: await listAgentVersions(store.db),
      }),
    }),
    ...createDiagnosticsPart({
      config,
      store,
      cluster,
      box,
      agents: sessions.agentRequests,
      agentService: sessions.agentService,
      managers,
      settings,
      doctor: () => runDoctor(dataDir, http.url),
      logLines: () => log.recent?.() ?? [],
      log,
    }),
    ...createMessageRoutes(createMessages({ store, settings, mailer, events: bus })),
    ...sessions.handlers,
    ...folders.handlers,
  }
  signal?.throwIfAborted()
  const http = stack.use(
    await startHttpServer({
      ...config,
      rules,
      handlers,
      sso: accounts.sso,
      upgrades,
      logins: accounts.logins,
      signers: accounts.signers,
      audit,
      db: store.db,
      box,
      bus,
      fileWatches: folders.fileWatches,
      heavyWork: folders.heavyWork,
      metrics,
      warnings: () => [...cluster.warnings(), ...judgeDatabaseClock(store.clock.lastStep())],
      check: () => store.check(),
      log,
    }),
  )
  registerFigures({
    metrics,
    db: store.db,
    onApplied: listener => sessions.onApplied(listener),
    tunnels: () => tunnels.counts(),
    sftp: () => sftp.counts(),
    eventStreams: () => bus.count(),
    auditQueue: () => audit.waiting,
  })
  log.info({ url: http.url, managerId }, 'manager ready')

  await cluster.join(url())
  backups.watch()
  stack.use(parts.move())
  const opened = stack.move()
  return {
    url: http.url,
    take: socket => http.take(socket),
    managerId,
    events: bus,
    async createJoinToken() {
      const made = await sessions.agentService.createJoinToken({ resourceGroup: 'default', createdBy: null })
      await audit.record({ action: 'createJoinToken', result: 'ok', detail: { resourceGroup: 'default' } })
      return made
    },
    async createReplaceToken(id) {
      const { data: replaces } = AgentId.safeParse(id)
      if (!replaces) throw new AppError('agent_not_found', { agentId: id })
      if (sessions.agents.isConnected(replaces)) throw new AppError('agent_running_elsewhere', { agentId: replaces })
      const resourceGroup = 'default' // ignored: the group of the replaced agent is used
      const made = await sessions.agentService.createJoinToken({ resourceGroup, createdBy: null, replaces })
      await audit.record({ action: 'createJoinToken', result: 'ok', detail: { replaces } })
      return made
    },
    async endBrowserSignIns() {
      const count = await accounts.logins.endBrowsers()
      if (count > 0) log.info({ count }, 'the sign-ins of browsers have ended with the start of Berth')
    },
    async createSignInTicket() {
      const userId = await firstAdminId(store)
      const ticket = await accounts.logins.createTicket(userId)
      await audit.record({ action: 'createSignInTicket', target: `user:${userId}`, result: 'ok' })
      return { ticket }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Agents send the advertised name as the Host, so it must be allowed. */
function hostsOf(advertiseUrl: string | undefined): string[] {
  return advertiseUrl === undefined ? [] : [new URL(advertiseUrl).host]
}

/**
 * Runs the manager as a process: configuration from the environment (`config.ts`), one JSON line on stdout when ready
 * or failed, logs on stderr. Stops on SIGINT, SIGTERM, and when the parent that gave it an IPC channel goes away.
 */
async function main(): Promise<void> {
  // Before the first call that runs on a thread of libuv. Storages that do not answer occupy threads (storage/calls.ts).
  process.env.UV_THREADPOOL_SIZE ??= '16'
  const config = readConfig(process.env)
  const log = createLogger(config.logLevel)
  const cut = new AbortController()
  const starting = startManager(config, log, undefined, cut.signal)
  const exit = async (code: number) => {
    const until = performance.now() + LAST_CALLS_MS
    while (hasCallsInFlight() && performance.now() < until) await delay(20)
    if (hasCallsInFlight()) {
      log.warn({}, 'a storage does not answer: the manager ends without its calls')
      process.kill(process.pid, 'SIGKILL')
    }
    process.exit(code)
  }
  const stop = (why: string) => {
    if (cut.signal.aborted) return
    log.info({ why }, 'manager stops')
    cut.abort(new Error(why))
    // A start or a stop that hangs (a database that does not answer) must not keep the process alive.
    setTimeout(() => {
      log.error({ withinMs: STOP_TIMEOUT_MS }, 'the manager did not stop in time')
      void exit(1)
    }, STOP_TIMEOUT_MS).unref()
    // A start in flight ends at its next step, and closes whatever it has opened.
    starting
      .then(
        manager => manager[Symbol.asyncDispose](),
        () => undefined,
      )
      .then(
        () => exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'the manager did not stop cleanly')
          return exit(1)
        },
      )
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  onParentGone(process, () => stop('parent gone'))
  const manager = await starting.catch((error: unknown) => {
    if (!cut.signal.aborted) throw error
    return undefined
  })
  if (!manager) return
  if (process.channel) {
    process.on('message', (message, handle) => {
      if (handle instanceof Socket) manager.take(handle)
      else void answer(manager, message)
    })
  }
  process.stdout.write(`${JSON.stringify({ ready: 'manager', url: manager.url, managerId: manager.managerId })}\n`)
}

/** Time for calls to storages that have begun and answer. */
const LAST_CALLS_MS = 1_000

/** Shorter than the time after which `berth up` kills its children. */
const STOP_TIMEOUT_MS = 8_000

/**
 * Answers requests of the parent process, over the channel that only it has: `{ id, type, about }`.
 */
async function answer(manager: Manager, message: unknown): Promise<void> {
  const { id, type, about } = (message ?? {}) as { id?: unknown; type?: unknown; about?: unknown }
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    create_sign_in_ticket: () => manager.createSignInTicket(),
    create_join_token: () => manager.createJoinToken(),
    end_browser_sign_ins: () => manager.endBrowserSignIns(),
    create_replace_token: () => manager.createReplaceToken(String(about)),
  }
  const request = typeof type === 'string' ? requests[type] : undefined
  if (!request) return
  try {
    answerParent(process, { id, ok: true, value: await request() })
  } catch (error) {
    answerParent(process, { id, ok: false, error: toWireError(error) })
  }
}

if (import.meta.main) {
  main().catch((error: unknown) => {
    const { code, message, detail } = toWireError(error)
    if (code === 'internal')
      process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    process.stdout.write(`${JSON.stringify({ error: { code, message: message || ERRORS[code].title, detail } })}\n`)
    process.exit(1)
  })
}
