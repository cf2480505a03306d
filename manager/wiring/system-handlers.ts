import { createAuditLog } from '../audit/audit-log.ts'
import { type Backups } from '../backup/backups.ts'
import { type Certificates } from '../certificates/certificates.ts'
import { runDoctor } from '../diagnostics/run-doctor.ts'
import { type EventBus } from '../events/bus.ts'
import { createAuditRoutes } from '../http/routes/audit.ts'
import { createBackupRoutes } from '../http/routes/backups.ts'
import { createManagerRoutes } from '../http/routes/managers.ts'
import { createMessageRoutes } from '../http/routes/messages.ts'
import { createServedAppRoutes } from '../http/routes/served-apps.ts'
import { createSettingsRoutes } from '../http/routes/settings.ts'
import { type Mailer } from '../mail/mailer.ts'
import { createManagerList } from '../scheduler/managers.ts'
import { createMessages } from '../sessions/messages.ts'
import { type Settings } from '../settings/settings.ts'
import { listAgentVersions } from '../store/agents/agents.ts'
import { readServerVersion } from '../store/operation/server-version.ts'
import { version } from '../version.ts'
import { type AccountsPart } from './accounts-part.ts'
import { type ConnectionsPart } from './connections-part.ts'
import { createDiagnosticsPart, type DiagnosticsPartDeps } from './diagnostics-part.ts'
import { type SessionsPart } from './sessions-part.ts'

export interface SystemHandlersDeps extends Pick<
  DiagnosticsPartDeps,
  'config' | 'store' | 'cluster' | 'box' | 'longRequests' | 'log'
> {
  /** Absolute. */
  readonly dataDir: string
  readonly settings: Settings
  readonly mailer: Mailer
  readonly events: EventBus
  readonly certificates: Certificates
  readonly backups: Backups
  readonly accounts: AccountsPart
  readonly sessions: SessionsPart
  readonly connections: Pick<ConnectionsPart, 'published' | 'ownApps'>
  /** URL of this manager's own server, for its doctor. */
  readonly ownUrl: () => string
  readonly backendAiPortChanged: () => Promise<void>
}

/** Routes about the system as a whole: settings, backups, the audit log, managers, diagnostics, messages to users. */
export function createSystemHandlers(deps: SystemHandlersDeps) {
  const { config, store, cluster, box, dataDir, settings, mailer, events, certificates, backups, log } = deps
  const { accounts, sessions } = deps
  const { published, ownApps } = deps.connections
  const managers = createManagerList({ db: store.db, cluster })
  return {
    ...createSettingsRoutes({
      settings,
      mailer,
      events,
      now: () => store.now(),
      endPublishedApps: () => published.endAll(),
      backendAiPortChanged: deps.backendAiPortChanged,
      haveSignInsEnded: () => accounts.logins.haveBrowsersEnded(),
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
      longRequests: deps.longRequests,
      doctor: () => runDoctor(dataDir, deps.ownUrl()),
      logLines: () => log.recent?.() ?? [],
      log,
    }),
    ...createMessageRoutes(createMessages({ store, settings, mailer, events })),
  }
}
