import { type IncomingMessage } from 'node:http'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { AgentId, AppError, ERRORS, type ManagerId, toWireError, type UserId } from '#manager/contract'
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
import { createAuthenticateUpgrade } from './http/credentials.ts'
import { createAccountRoutes } from './http/routes/accounts.ts'
import { createDomainRoutes } from './http/routes/domains.ts'
import { createIdentityRoutes } from './http/routes/identity.ts'
import { createBackupRoutes } from './http/routes/backups.ts'
import { createAuditRoutes } from './http/routes/audit.ts'
import { createPublishedAppRoutes } from './http/routes/published-apps.ts'
import { createManagerRoutes } from './http/routes/managers.ts'
import { createMessageRoutes } from './http/routes/messages.ts'
import { createSshKeypairRoutes } from './http/routes/ssh-keypair.ts'
import { createKeypairRoutes } from './http/routes/keypairs.ts'
import { createSignInProviderRoutes } from './http/routes/sign-in-providers.ts'
import { createSettingsRoutes } from './http/routes/settings.ts'
import { startHttpServer } from './http/server.ts'
import { clientAddress, consoleAddress, createOriginRules } from './http/origin.ts'
import { createUpgrades } from './agent-link/upgrades.ts'
import { startSessionMembers } from './sessions/members.ts'
import { createLogger, type Log } from './log.ts'
import { createMailer } from './mail/mailer.ts'
import { createMessages } from './sessions/messages.ts'
import { createMetrics } from './metrics.ts'
import { registerFigures } from './operation/figures.ts'
import { openSecretBox } from './secrets/open-secret-box.ts'
import { createManagerList } from './scheduler/managers.ts'
import { createSftpGateway } from './sftp/gateway.ts'
import { createDiagnosticsPart } from './wiring/diagnostics-part.ts'
import { startFoldersPart } from './wiring/folders-part.ts'
import { type SessionsPartTimings } from './wiring/sessions-core.ts'
import { startSessionsPart } from './wiring/sessions-part.ts'
import { startRetention } from './operation/retention.ts'
import { createSettings } from './settings/settings.ts'
import { createPublishedApps } from './grants/published-apps.ts'
import { createProviderClient } from './sso/provider-client.ts'
import { createSignInProviders } from './sso/providers.ts'
import { createSsoSignIns } from './sso/sign-in.ts'
import { openStore } from './store/open-store.ts'
import { readRestoredAt } from './store/operation/restored.ts'
import { readServerVersion } from './store/operation/server-version.ts'
import { loadManagerId } from './store/operation/settings.ts'
import { createTasks } from './tasks/tasks.ts'
import { createTunnelGateway } from './tunnels/gateway.ts'
import { createTerminalRecord } from './tunnels/record-terminals.ts'
import { createVia } from './tunnels/via.ts'
import { createDomains } from './users/domains.ts'
import { createGroups } from './users/groups.ts'
import { createSignUpRequests } from './users/sign-up-requests.ts'
import { createInvitations } from './users/invitations.ts'
import { createKeypairs } from './users/keypairs.ts'
import { lifetimesOf } from './users/login-lifetimes.ts'
import { createLogins } from './users/logins.ts'
import { credentialOf } from './users/authorize.ts'
import { createPasswordResets } from './users/password-reset.ts'
import { createPasswords } from './users/passwords.ts'
import { createSecondFactor } from './users/second-factor.ts'
import { createSignUps } from './users/sign-up.ts'
import { createSigners } from './users/signers.ts'
import { createSshKeypairs } from './users/ssh-keypairs.ts'
import { createKeypairCheck } from './users/keypair-check.ts'
import { createHomeFiles } from './users/home-files.ts'
import { createHomeFileRoutes } from './http/routes/home-files.ts'
import { credentialHolds } from './users/standing.ts'
import { createUserImports } from './users/user-import.ts'
import { createUsers, ensureFirstAdmin, firstAdminId } from './users/users.ts'
import { version } from './version.ts'

export interface Manager extends AsyncDisposable {
  readonly url: string
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

  const passwords = createPasswords()
  await ensureFirstAdmin({ store, passwords, dataDir, password: config.adminPassword, log })
  const onChanged = (userId: UserId) => logins.forget(userId)
  const secondFactor = createSecondFactor({ store, box, passwords, events: bus, onChanged })
  const settings = createSettings({
    store,
    box,
    hasAppsAddress: config.appsAddress !== undefined,
    requireWorkingProvider: () => providers.requireWorking(),
  })
  const lifetimes = async () => lifetimesOf(await settings.read())
  const logins = stack.use(
    createLogins({
      store,
      passwords,
      secondFactor,
      lifetimes,
      passwordSignIn: async () => (await settings.read()).passwordSignIn,
      checkKeypair: createKeypairCheck({ db: store.db, box }),
      peers: cluster.peers,
    }),
  )
  const mailer = stack.use(createMailer({ server: () => settings.mailServer(), log }))
  const restoredAt = await readRestoredAt(store.db)
  const signers = stack.use(createSigners({ store, box, log, restoredAt, peers: cluster.peers }))
  const audit = stack.use(createAuditRecorder({ store, log }))
  const folders = stack.use(
    await startFoldersPart({ store, dataDir, paths: config.storage, events: bus, mailer, settings, log }),
  )
  stack.use(startRetention({ store, settings, events: bus, log }))
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
  const authenticateUpgrade = createAuthenticateUpgrade({ logins, signers })
  const onActiveChanged = () => sessions.limitsChanged()
  const onMembersLeft = (userIds: readonly UserId[]) => sessions.membersLeft(userIds)
  const users = createUsers({ store, passwords, logins, events: bus, onActiveChanged, onMembersLeft })

  const client = createProviderClient({ now: () => store.now() })
  const providers = createSignInProviders({ store, box, client, settings, logins })
  const sso = createSsoSignIns({
    store,
    box,
    client,
    providers,
    settings,
    logins,
    secondFactor,
    passwords,
    events: bus,
    onMembersLeft,
    log,
  })

  // Closed before the HTTP server, which waits for the sockets that these parts took over.
  await using parts = new AsyncDisposableStack()
  const url = () => config.advertiseUrl ?? http.url
  const allowed = [...config.allowedHosts, ...hostsOf(config.advertiseUrl)]
  const rules = createOriginRules({ port: () => http.port, allowed })
  const sessions = parts.use(
    await startSessionsPart({
      settings,
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
    }),
  )
  const { agents, grants } = sessions
  const { appsAddress: address } = config
  const { peers } = cluster
  const published = parts.use(createPublishedApps({ store, box, passwords, settings, grants, address, peers }))
  const recordTerminal = createTerminalRecord({ db: store.db, audit, log })
  const tunnels = parts.use(
    createTunnelGateway({
      locate: id => sessions.locate(id),
      verifyGrant: async (grant, sessionId, app) => {
        const valid = await grants.verify(grant, sessionId, app)
        if (valid.isPublic) published.watch(valid.loginId)
        else signers.watch(valid.loginId)
        return valid
      },
      authenticateUpgrade: async request => {
        const caller = await authenticateUpgrade(request)
        const loginId = credentialOf(caller)
        signers.watch(loginId)
        return { ...caller, loginId }
      },
      credentialHolds: credential => credentialHolds(store.db, credential),
      recordTerminal: (terminal, request) => recordTerminal({ ...terminal, address: clientAddress(request) }),
      agents,
    }),
  )
  upgrades.on(
    address => tunnels.match(address),
    (request, socket, head) => tunnels.handle(request, socket, head),
  )
  const via = parts.use(createVia({ members: () => cluster.members(), agents }))
  upgrades.on(
    address => via.match(address),
    (request, socket, head) => via.handle(request, socket, head),
  )
  const sftp = parts.use(
    createSftpGateway({
      db: store.db,
      open: folders.open,
      room: folders.room,
      hints: folders.fileHints,
      authenticateUpgrade: async request => {
        const caller = await authenticateUpgrade(request)
        signers.watch(credentialOf(caller))
        return caller
      },
      credentialHolds: credential => credentialHolds(store.db, credential),
      addressOf: clientAddress,
      audit,
      log,
    }),
  )
  upgrades.on(
    address => sftp.match(address),
    (request, socket, head) => sftp.handle(request, socket, head),
  )
  sessions.onSessionEnded(id => tunnels.closeSession(id))
  members.onChanged(userId => void tunnels.checkShared(userId))
  sessions.watchTraffic(id => tunnels.activity(id))
  sessions.onAgentGone(id => tunnels.dropAgent(id))
  const endAll = (credential: string) => {
    grants.forgetLogin(credential)
    tunnels.closeLogin(credential)
    sftp.closeLogin(credential)
  }
  logins.onEnd(endAll)
  signers.onEnd(endAll)
  published.onEnd(endAll)
  sessions.onSessionEnded(
    id =>
      void published
        .endOfSession(id)
        .catch((error: unknown) => log.error({ err: error }, 'links to apps of an ended session were not deleted')),
  )
  logins.onChange(() => void signers.recheck().catch(() => undefined))

  // A sign-in may have ended at another manager, and the message about it been missed.
  cluster.peers.onGap(() => {
    const tunnelled = tunnels.openedWith().filter(id => !published.isWatched(id))
    void logins.recheck([...tunnelled, ...sftp.openedWith()]).catch(() => undefined)
  })

  const endKeypair = (accessKey: string, loginIds: readonly string[]) => {
    signers.end(accessKey)
    void logins.tellEnd(loginIds)
  }
  const addressOfConsole = (request: IncomingMessage) => consoleAddress(request, rules, config.advertiseUrl)
  const managers = createManagerList({ db: store.db, cluster })
  const handlers: Handlers = {
    ...createIdentityRoutes({
      logins,
      users,
      userImports: createUserImports({ store, passwords, settings, mailer, events: bus }),
      consoleAddress: addressOfConsole,
    }),
    ...createSettingsRoutes({
      settings,
      mailer,
      events: bus,
      now: () => store.now(),
      endPublishedApps: () => published.endAll(),
    }),
    ...createAccountRoutes({
      signUps: createSignUps({ store, passwords, settings, mailer, events: bus }),
      signUpRequests: createSignUpRequests({ store, passwords, settings, mailer, events: bus }),
      passwordResets: createPasswordResets({ store, passwords, logins, settings, mailer }),
      invitations: createInvitations({ store, settings }),
      consoleAddress: addressOfConsole,
      secondFactor,
    }),
    ...createSignInProviderRoutes({
      providers,
      sso,
      settings,
      consoleAddress: addressOfConsole,
    }),
    ...createDomainRoutes({
      domains: createDomains({ store, logins, onLimitsChanged: () => sessions.limitsChanged() }),
      groups: createGroups({ store, events: bus, onLimitsChanged: () => sessions.limitsChanged(), onMembersLeft }),
    }),
    ...createPublishedAppRoutes(published),
    ...createAuditRoutes(createAuditLog(store.db)),
    ...createBackupRoutes(backups),
    ...createManagerRoutes({
      managers,
      versions: async () => ({
        manager: version,
        node: process.version,
        postgresql: await readServerVersion(store.db),
        platform: `${process.platform} ${process.arch}`,
      }),
    }),
    ...createDiagnosticsPart({
      config,
      store,
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
    ...createSshKeypairRoutes(createSshKeypairs(store)),
    ...createHomeFileRoutes(createHomeFiles({ store, box })),
    ...createKeypairRoutes(createKeypairs({ store, box, onEnd: endKeypair })),
    ...sessions.handlers,
    ...folders.handlers,
  }
  signal?.throwIfAborted()
  const http = stack.use(
    await startHttpServer({
      ...config,
      rules,
      handlers,
      sso,
      upgrades,
      logins,
      signers,
      audit,
      db: store.db,
      box,
      bus,
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
    async createSignInTicket() {
      const userId = await firstAdminId(store)
      const ticket = await logins.createTicket(userId)
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
  const stop = (why: string) => {
    if (cut.signal.aborted) return
    log.info({ why }, 'manager stops')
    cut.abort(new Error(why))
    // A start or a stop that hangs (a database that does not answer) must not keep the process alive.
    setTimeout(() => {
      log.error({ withinMs: STOP_TIMEOUT_MS }, 'the manager did not stop in time')
      process.exit(1)
    }, STOP_TIMEOUT_MS).unref()
    // A start in flight ends at its next step, and closes whatever it has opened.
    starting
      .then(
        manager => manager[Symbol.asyncDispose](),
        () => undefined,
      )
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'the manager did not stop cleanly')
          process.exit(1)
        },
      )
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  if (process.channel) process.on('disconnect', () => stop('parent gone'))
  const manager = await starting.catch((error: unknown) => {
    if (!cut.signal.aborted) throw error
    return undefined
  })
  if (!manager) return
  if (process.channel) process.on('message', message => void answer(manager, message))
  process.stdout.write(`${JSON.stringify({ ready: 'manager', url: manager.url, managerId: manager.managerId })}\n`)
}

/** Shorter than the time after which `berth up` kills its children. */
const STOP_TIMEOUT_MS = 8_000

/**
 * Answers requests of the parent process, over the channel that only it has.
 * `{ id, type, about }` → `{ id, ok, value | error }`
 */
async function answer(manager: Manager, message: unknown): Promise<void> {
  const { id, type, about } = (message ?? {}) as { id?: unknown; type?: unknown; about?: unknown }
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    create_sign_in_ticket: () => manager.createSignInTicket(),
    create_join_token: () => manager.createJoinToken(),
    create_replace_token: () => manager.createReplaceToken(String(about)),
  }
  const request = typeof type === 'string' ? requests[type] : undefined
  if (!request) return
  try {
    process.send?.({ id, ok: true, value: await request() })
  } catch (error) {
    process.send?.({ id, ok: false, error: toWireError(error) })
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
