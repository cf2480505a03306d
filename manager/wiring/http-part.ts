import { type ManagerConfig } from '../config.ts'
import { judgeDatabaseClock } from '../cluster/judge-managers.ts'
import { type Upgrades } from '../agent-link/upgrades.ts'
import { type AuditRecorder } from '../audit/recorder.ts'
import { type Handlers } from '../http/handlers.ts'
import { type OriginRules } from '../http/origin.ts'
import { type HttpServer, startHttpServer } from '../http/server.ts'
import { type Log } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { registerMetrics } from '../operation/metrics.ts'
import { requireCurrentKey } from '../secrets/open-secret-box.ts'
import { type AccountsPart } from './accounts-part.ts'
import { type ConnectionsPart } from './connections-part.ts'
import { type FoldersPart } from './folders-part.ts'
import { type SessionsPart } from './sessions-part.ts'
import { type StorePart } from './store-part.ts'

export interface HttpPartDeps extends Pick<StorePart, 'store' | 'box' | 'cluster' | 'bus'> {
  readonly config: ManagerConfig
  readonly rules: OriginRules
  readonly handlers: Handlers
  readonly upgrades: Upgrades
  readonly audit: AuditRecorder
  readonly accounts: AccountsPart
  readonly sessions: Pick<SessionsPart, 'onApplied'>
  readonly folders: Pick<FoldersPart, 'fileWatches' | 'heavyWork'>
  readonly connections: Pick<ConnectionsPart, 'tunnels' | 'sftp'>
  /** How many this process may open. */
  readonly descriptors: number
  readonly log: Log
}

/** Starts the HTTP server, with its health check and the figures of /metrics. */
export function startHttpPart(deps: HttpPartDeps): Promise<HttpServer> {
  const { config, rules, handlers, store, box, cluster, bus, upgrades, audit, folders, descriptors, log } = deps
  const { accounts, sessions, connections } = deps
  const metrics = createMetrics()
  registerMetrics({
    metrics,
    db: store.db,
    onApplied: listener => sessions.onApplied(listener),
    tunnels: () => connections.tunnels.counts(),
    sftp: () => connections.sftp.counts(),
    eventStreams: () => bus.count(),
    auditQueue: () => audit.waiting,
  })
  return startHttpServer({
    ...config,
    rules,
    handlers,
    sso: accounts.sso,
    scim: accounts.scim,
    upgrades,
    logins: accounts.logins,
    signers: accounts.signers,
    audit,
    db: store.db,
    box,
    bus,
    fileWatches: folders.fileWatches,
    heavyWork: folders.heavyWork,
    descriptors,
    metrics,
    warnings: () => [...cluster.warnings(), ...judgeDatabaseClock(store.clock.lastStep())],
    check: async () => {
      await store.check()
      await requireCurrentKey(store, box)
    },
    log,
  })
}
