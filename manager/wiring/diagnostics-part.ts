import { type Diagnosis, urlsOfServers } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type AgentService } from '../agents/service.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type ManagerConfig } from '../config.ts'
import { createRedactor } from '../diagnostics/redact-secrets.ts'
import { createOtherManagers } from '../diagnostics/other-managers.ts'
import { createDiagnostics, type Diagnostics } from '../diagnostics/diagnostics.ts'
import { createDiagnosticsRoutes } from '../http/routes/diagnostics.ts'
import { type Log } from '../log.ts'
import { type ManagerList } from '../scheduler/managers.ts'
import { readKnownSecrets } from '../secrets/known-secrets.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Settings } from '../settings/settings.ts'
import { readMigrationNames } from '../store/operation/snapshot.ts'
import { listResourceGroups } from '../store/quotas/resource-groups.ts'
import { listPending } from '../store/sessions/queue.ts'
import { type Store } from '../store/open-store.ts'
import { type LongRequests } from '../users/long-requests.ts'
import { requireStillAuthorized } from '../users/still-authorized.ts'
import { version } from '../version.ts'

export interface DiagnosticsPartDeps {
  readonly config: ManagerConfig
  readonly store: Store
  readonly cluster: Cluster
  readonly box: SecretBox
  readonly agents: AgentRequests
  readonly agentService: Pick<AgentService, 'list' | 'get'>
  readonly managers: ManagerList
  readonly settings: Pick<Settings, 'read'>
  readonly longRequests: LongRequests
  readonly doctor: () => Promise<Diagnosis>
  readonly logLines: () => readonly string[]
  readonly log: Log
}

/** Creates the routes of the diagnostics, and defines the contents of the bundle. */
export function createDiagnosticsPart(deps: DiagnosticsPartDeps): ReturnType<typeof createDiagnosticsRoutes> {
  const { config, store, cluster, box, agents, agentService, managers, settings } = deps
  const { db } = store
  const { databaseUrl, metricsToken, consoleSecret, adminPassword } = config
  const configured = [databaseUrl, passwordOf(databaseUrl), metricsToken, consoleSecret, adminPassword]
  const secrets = async () => [
    ...configured.filter(secret => secret !== undefined),
    ...(await readKnownSecrets(db, box)),
  ]
  const others = createOtherManagers({
    db,
    cluster,
    async own(withLog) {
      const diagnosis = await diagnostics.own()
      if (!withLog) return { diagnosis, log: [] }
      // The manager that creates the bundle replaces addresses, each by the same name in all files.
      const redactor = createRedactor({ known: await secrets(), addresses: false })
      return { diagnosis, log: deps.logLines().map(line => redactor.line(line)) }
    },
    log: deps.log,
  })
  const diagnostics: Diagnostics = createDiagnostics({
    agents,
    listAgents: () => agentService.list(),
    getAgent: id => agentService.get(id),
    processId: cluster.processId,
    listManagers: async () => (await managers.list()).items,
    doctor: deps.doctor,
    others,
    facts: {
      'versions.json': () => ({
        at: new Date(store.now()).toISOString(),
        manager: version,
        node: process.version,
        platform: `${process.platform} ${process.arch}`,
      }),
      'settings.json': () => settings.read(),
      'managers.json': () => managers.list(),
      'agents.json': () => agentService.list(),
      'queue.json': async () => {
        const groups = await listResourceGroups(db)
        return Promise.all(groups.map(async ({ name }) => ({ name, waiting: await waitingIn(name) })))
      },
      'migrations.json': () => readMigrationNames(db),
    },
    logLines: deps.logLines,
    secrets,
    log: deps.log,
  })
  return createDiagnosticsRoutes(diagnostics, {
    longRequests: deps.longRequests,
    check: caller => requireStillAuthorized(db, caller),
  })

  /** Excludes texts of users: commands and environments are private. */
  async function waitingIn(group: string) {
    const rows = await listPending(db, group)
    return rows.map(row => ({
      id: row.id,
      priority: row.priority,
      createdAt: row.created_at,
      requested: row.requested,
      reason: row.reason,
    }))
  }
}

function passwordOf(url: string | undefined): string | undefined {
  const [server] = url === undefined ? [] : (urlsOfServers(url) ?? [])
  return server !== undefined && URL.canParse(server) ? decodeURIComponent(new URL(server).password) : undefined
}
