import { every } from '#base/every'
import { type Log } from '../log.ts'
import { type AgentId, type Manager, type ManagerWarning } from '#manager/contract'
import {
  countLinks,
  deleteManager,
  endSessionsNamed,
  type LinkCounts,
  listLockHolders,
  listManagers,
  MANAGER_GONE_MS,
  type ManagerRow,
  saveManager,
} from '../store/operation/managers.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type DedicatedConnection, openDedicatedConnection, type Query, SILENT_MS } from './dedicated-connection.ts'
import { createAgentLinks, type AgentLinks, NO_LINKS } from './agent-links.ts'
import { judgeManagers } from './judge-managers.ts'
import { createPeers, NO_PEERS, type Peers } from './peers.ts'
import { ALL_JOBS, createJobLocks, type JobLocks, LOCK_PREFIX } from './job-locks.ts'

export interface Member {
  /** Id of the process: new with every start. */
  readonly id: string
  /** Address at which agents reach it. */
  readonly url: string
}

/** The managers on one database, seen from one of them. */
export interface Cluster extends AsyncDisposable {
  /** Id of this process. */
  readonly processId: string
  readonly peers: Peers
  readonly jobLocks: JobLocks
  readonly links: AgentLinks
  /** All live managers including this one, oldest first; empty if there can be only one. */
  members(): readonly Member[]
  onMembers(listener: () => void): void
  /** The managers as the database lists them now. @param jobs the jobs whose locks are reported */
  overview(jobs: readonly string[]): Promise<ManagerOverview[]>
  /** Problems of the managers, as of the last check. */
  warnings(): readonly ManagerWarning[]
  /** Makes this manager known to the other managers and to agents. */
  join(url: string): Promise<void>
}

/** A manager with the jobs whose locks it holds. */
export type ManagerOverview = Omit<Manager, 'schedules' | 'startedAt' | 'seenAt'> & {
  readonly jobs: readonly string[]
  readonly startedAt: Date
  readonly seenAt: Date
}

export interface ClusterTimings {
  readonly heartbeatMs: number
  /** A manager that is silent for longer counts as gone. */
  readonly goneMs: number
  /** Time after which an agent counts as lost if no manager has a connection to it. */
  readonly agentLostMs: number
}

export const DEFAULT_CLUSTER_TIMINGS: ClusterTimings = {
  heartbeatMs: 3_000,
  goneMs: MANAGER_GONE_MS,
  agentLostMs: 12_000,
}

export interface ClusterDeps {
  readonly store: Store
  readonly databaseUrl: string
  readonly version: string
  readonly log: Log
  readonly timings?: Partial<ClusterTimings> | undefined
}

const CHANNEL = 'berth'
/** Interval of attempts to take locks that have become free. */
const RETRY_LOCKS_MS = 500
const nameOf = (processId: string) => `berth-manager ${processId}`

/**
 * Joins the managers on an external database. Every manager serves the whole API and all agents. They know each other by two tables
 * (`managers`, `agent_links`), whose changes are spread at once by notifications.
 *
 * A manager writes a heartbeat every few seconds. The first manager that sees another one silent for `goneMs` removes it and ends the
 * database session that holds its locks: a hung process would keep them. A manager that had lost contact with the database itself judges no
 * other manager until its own heartbeats have succeeded for `goneMs`.
 */
export async function openCluster({ store, databaseUrl, version, log, timings }: ClusterDeps): Promise<Cluster> {
  const { heartbeatMs, goneMs, agentLostMs } = { ...DEFAULT_CLUSTER_TIMINGS, ...timings }
  const { db } = store
  const processId = newUuid()
  const own: { connection?: DedicatedConnection; member?: Member } = {}
  const query: Query = async (text, values) => {
    if (!own.connection) throw new Error('there is no connection to the database yet')
    return own.connection.query(text, values)
  }
  const jobLocks = createJobLocks(query, () => own.connection?.isHeard ?? false)
  const notify = (payload: string) => query('select pg_notify($1, $2)', [CHANNEL, payload])
  const peers = createPeers({ processId, notify, log })
  const opened = await openDedicatedConnection({
    databaseUrl,
    name: nameOf(processId),
    channel: CHANNEL,
    onReopened(isElsewhere) {
      // The managers that held locks at the old primary may not have noticed yet.
      if (isElsewhere) jobLocks.holdOff(SILENT_MS)
      peers.reopened()
    },
    onLost: () => jobLocks.lost(),
    onNotification: payload => peers.receive(payload),
    log,
  })
  own.connection = opened
  const links = createAgentLinks({ db, processId, peers, lostMs: agentLostMs, log })
  const changed = peers.topic<null>('members')

  let members: readonly Member[] = []
  let warnings: readonly ManagerWarning[] = []
  const listeners: (() => void)[] = []
  /** Start of the current run of successful heartbeats. */
  let steadySince = Number.POSITIVE_INFINITY

  async function beat(): Promise<void> {
    if (!own.member) return
    const anew = await saveManager(db, { ...own.member, version })
    if (anew) {
      changed.tell(null)
      links.forgotten()
    }
    steadySince = Math.min(steadySince, performance.now())
    const steady = performance.now() - steadySince >= goneMs
    const rows = await listManagers(db)
    const gone = steady ? rows.filter(row => row.id !== processId && row.silentMs >= goneMs) : []
    for (const { id, url } of gone) await remove(id, url)
    see(rows.filter(row => !gone.includes(row)).map(({ id, url }) => ({ id, url })))
    await links.sync()
    const described = await withLinks(rows.filter(row => !gone.includes(row)))
    links.counted(described.find(({ self }) => self)?.agents ?? 0)
    warnings = judgeManagers(described)
  }

  async function withLinks(rows: readonly ManagerRow[]): Promise<Omit<ManagerOverview, 'jobs'>[]> {
    const counts = new Map((await countLinks(db, goneMs)).map(count => [count.id, count]))
    return rows.map(row => ({ ...describe(row, counts.get(row.id)), self: row.id === processId }))
  }

  async function remove(id: string, url: string): Promise<void> {
    if (!(await deleteManager(db, id))) return
    log.warn({ manager: id, url }, 'a manager has been silent for too long and counts as gone')
    await endSessionsNamed(db, nameOf(id))
    changed.tell(null)
  }

  function see(now: readonly Member[]): void {
    const before = members
    members = now
    if (sameMembers(before, now)) return
    log.info({ managers: now.map(({ url }) => url) }, 'managers on this database')
    for (const listener of listeners) listener()
    // A vanished manager may have been killed between a write and its message.
    const ids = new Set(now.map(({ id }) => id))
    if (before.some(({ id }) => !ids.has(id))) peers.gap()
  }

  let closed = false
  const beats = every(
    heartbeatMs,
    () => (closed ? Promise.resolve() : beat()),
    error => {
      steadySince = Number.POSITIVE_INFINITY
      log.warn({ err: error }, 'this manager could not say that it lives')
    },
  )
  changed.on(() => void beats.now())
  const retries = every(RETRY_LOCKS_MS, () => jobLocks.retry())

  return {
    processId,
    peers,
    jobLocks,
    links,
    members: () => members,
    onMembers: listener => void listeners.push(listener),
    async overview(jobs) {
      const [managers, held] = await Promise.all([
        listManagers(db).then(withLinks),
        listLockHolders(
          db,
          jobs.map(job => LOCK_PREFIX + job),
        ),
      ])
      return managers.map(manager => ({
        ...manager,
        jobs: held.flatMap(({ text, holder }) =>
          holder === nameOf(manager.id) ? [text.slice(LOCK_PREFIX.length)] : [],
        ),
      }))
    },
    warnings: () => warnings,
    async join(url) {
      own.member = { id: processId, url }
      members = [own.member]
      await beats.now()
    },
    async [Symbol.asyncDispose]() {
      closed = true
      retries[Symbol.dispose]()
      await beats[Symbol.asyncDispose]()
      await links[Symbol.asyncDispose]()
      if (own.member) await deleteManager(db, processId).catch(() => undefined)
      changed.tell(null)
      await peers.flushed()
      await opened[Symbol.asyncDispose]()
    },
  }
}

function sameMembers(a: readonly Member[], b: readonly Member[]): boolean {
  const textOf = (members: readonly Member[]) => JSON.stringify(members.map(({ id, url }) => [id, url]))
  return textOf(a) === textOf(b)
}

function describe(row: ManagerRow, counts: LinkCounts | undefined) {
  const { id, url, version, startedAt, seenAt, clockAheadMs } = row
  const { agents = 0, via: agentsVia = 0, missing: agentsMissing = 0 } = counts ?? {}
  return { id, url, version, startedAt, seenAt, clockAheadMs, agents, agentsVia, agentsMissing }
}

/** The only manager of an embedded database. */
export function standAlone(version: string, now: Store['now']): Cluster {
  const processId = newUuid()
  const own = new Set<AgentId>()
  const startedAt = new Date(now())
  let url = ''
  return {
    processId,
    peers: NO_PEERS,
    jobLocks: ALL_JOBS,
    links: { ...NO_LINKS, add: id => void own.add(id), remove: id => void own.delete(id) },
    members: () => [],
    onMembers: () => undefined,
    overview: jobs =>
      Promise.resolve([
        {
          ...{ id: processId, url, version, startedAt, seenAt: new Date(now()), clockAheadMs: 0, jobs, self: true },
          ...{ agents: own.size, agentsVia: 0, agentsMissing: 0 },
        },
      ]),
    warnings: () => [],
    join(where) {
      url = where
      return Promise.resolve()
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
