import { every } from '#base/every'
import { type AgentId, type AgentUpdate, AppError, because, type Because, causeIn, keysOf } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Audit } from '../audit/recorder.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type Settings } from '../settings/settings.ts'
import { findAgent } from '../store/agents/agents.ts'
import {
  type AgentProgramRow,
  beginUpdate,
  findFailedUpdate,
  findTarget,
  listPrograms,
  saveTarget,
  setUpdate,
} from '../store/agents/updates.ts'
import { noSuchAgent } from '../store/missing.ts'
import { newUuid } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type ProgramUpdate } from '../store/tables/agents.ts'
import { type DownloadTickets } from './download-tickets.ts'
import { type HostBundle, type HostBundles } from './host-bundle.ts'
import { type TellHost } from './tell-faults.ts'
import {
  isUpdatable,
  planUpdates,
  UPDATE_LIMIT_MS,
  type UpdatedAgent,
  updateOf,
  type UpdatePlan,
  type UpdateRules,
} from './plan-updates.ts'

export interface AgentUpdates extends AsyncDisposable {
  /** States of the programs of agents, for administrators. */
  view(): Promise<(agent: UpdatedAgent) => AgentUpdate>
  /**
   * Updates an agent as the next one, although people use it, and after a failure.
   * @throws AppError `agent_not_found`, `agent_not_updatable`
   */
  want(id: AgentId): Promise<void>
}

export interface AgentUpdatesDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly isReady: (id: AgentId) => boolean
  readonly isBusy: (id: AgentId) => boolean
  readonly bundles: Pick<HostBundles, 'get'>
  readonly tickets: Pick<DownloadTickets, 'issue'>
  readonly settings: Pick<Settings, 'read'>
  readonly cluster: Pick<Cluster, 'jobLocks' | 'overview' | 'peers'>
  /** Version of this manager. */
  readonly version: string
  readonly events: EventPublisher
  readonly tellHost: TellHost
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly everyMs?: number | undefined
}

/** Job of the manager that decides about updates. */
const JOB = 'agent-updates'
const EVERY_MS = 5_000
/** After a bundle could not be made, the next try waits this long. */
const PACK_AGAIN_MS = 60_000

/**
 * Brings agents that the line installed to the program of this manager, one at a time (ADR 90). One manager of all decides. What it has
 * begun is in the row of the agent, so that another one can go on.
 */
export function startAgentUpdates(deps: AgentUpdatesDeps): AgentUpdates {
  const { store, cluster, bundles, settings, events, version, log } = deps
  const { db } = store
  const stop = new AbortController()
  const running = new Set<Promise<void>>()
  const asked = cluster.peers.topic<null>('agent_update_asked')
  // Kept: a bundle without toolbox is made anew for each new host, and its digest is the same.
  let packed: HostBundle | undefined
  let packFrom = -Infinity

  const hint = (id: AgentId, row: number | undefined) =>
    row === undefined ? undefined : events.publish({ topic: 'agent', id, version: row }, 'superadmins')

  async function rules(): Promise<UpdateRules> {
    const [target, { agentUpdates: mode }, managers] = await Promise.all([
      findTarget(db),
      settings.read(),
      cluster.overview([]),
    ])
    return { target, mode, version, mixed: managers.some(other => other.version !== version) }
  }

  async function tick(): Promise<void> {
    const rows = await listPrograms(db)
    if (!rows.some(row => isUpdatable(row) || row.program_update)) return
    if (!(await cluster.jobLocks.take(JOB)) || stop.signal.aborted) return
    const now = await rules()
    // First what has ended, which needs no bundle: packing takes ten seconds, once, and may fail.
    await settle(rows, now)
    const bundle = now.mixed || !rows.some(isUpdatable) ? undefined : await pack()
    if (!bundle) return
    const target = { version, digest: bundle.digest }
    if (await saveTarget(db, target)) for (const { id, row_version } of rows) hint(id, row_version)
    const agents = await listPrograms(db)
    const plan = await settle(agents, { ...now, target })
    const next = agents.find(({ id }) => id === plan.begin)
    if (next) await begin(next, bundle)
  }

  /** Records updates that are over. */
  async function settle(agents: readonly AgentProgramRow[], now: UpdateRules): Promise<UpdatePlan> {
    const plan = planUpdates({ ...now, ...deps, agents, now: store.now() })
    for (const id of plan.done) await finish(agents, id, null)
    for (const { id, why } of plan.failed) await finish(agents, id, why)
    return plan
  }

  /** The program for agents; undefined for a while after it could not be packed. */
  async function pack(): Promise<HostBundle | undefined> {
    if (packed || performance.now() < packFrom) return packed
    packFrom = performance.now() + PACK_AGAIN_MS
    packed = await bundles.get()
    return packed
  }

  async function finish(agents: readonly AgentProgramRow[], id: AgentId, failure: Because | null): Promise<void> {
    const agent = agents.find(one => one.id === id)
    const update = agent?.program_update
    if (!update) return
    const before = update.state === 'updating' ? update.id : null
    const row = await setUpdate(db, id, before, failure && failedBy(update, failure))
    if (row === undefined) return
    hint(id, row)
    if (before === null) return
    if (failure) {
      const host = agent.name
      log.warn({ agentId: id, why: failure.why }, 'the update of an agent failed')
      await deps.tellHost({ host, fault: failure, isUpdate: true }).catch((error: unknown) => {
        log.error({ err: error, agentId: id }, 'superadmins could not be told about the update of a host')
      })
    }
    // Without a failure, one that has become a package or keeps its program meanwhile was not updated.
    const isUpdated = update.state === 'updating' && agent.program?.digest === update.digest
    if (!failure)
      log.info({ agentId: id }, isUpdated ? 'an agent was updated' : 'an agent is not to be updated any more')
    const result = isUpdated ? 'ok' : 'unavailable'
    await deps.audit?.record({ action: 'agentUpdate', target: `agent:${id}`, result })
  }

  async function begin(row: AgentProgramRow, bundle: HostBundle): Promise<void> {
    const { id, name } = row
    const { sha256, digest, bytes } = bundle
    const at = new Date(store.now()).toISOString()
    const update = { state: 'updating', id: newUuid(), digest, version, at } as const
    const begun = await store.transaction(trx => beginUpdate(trx, id, update))
    if (begun === undefined) return
    hint(id, begun)
    log.info({ agentId: id, name, version, digest }, 'updating an agent')
    const order = { id: update.id, version, digest, sha256, bytes, ticket: deps.tickets.issue(sha256) }
    const options = { timeoutMs: UPDATE_LIMIT_MS, signal: stop.signal }
    const done: Promise<void> = deps.agents
      .request(id, 'update_program', order, options)
      .then(() => undefined)
      .catch(async (error: unknown) => {
        // This manager stops, and the agent with its download: the next manager begins anew.
        if (stop.signal.aborted) {
          hint(id, await setUpdate(db, id, update.id, row.program_update))
          return
        }
        // The agent may have ended before its reply: then its next report tells the outcome.
        if (error instanceof AppError && error.code === 'agent_unreachable') return
        const why = error instanceof AppError ? causeIn(error.detail) : undefined
        await finish([{ ...row, program_update: update }], id, why ?? because('agent_says', { text: String(error) }))
      })
      .catch((error: unknown) => log.error({ err: error, agentId: id }, 'the update of an agent was not followed'))
      .finally(() => running.delete(done))
    running.add(done)
  }

  const ticks = every(deps.everyMs ?? EVERY_MS, tick, error => {
    if (!stop.signal.aborted) log.warn({ err: error }, 'updates of agents were not looked at')
  })
  asked.on(() => void ticks.now())

  return {
    async view() {
      const now = await rules()
      const failedAgent = now.target && (await findFailedUpdate(db, now.target.digest))
      return agent => updateOf(agent, { ...now, isBusy: deps.isBusy, failedAgent })
    },
    async want(id) {
      const [row, target] = await Promise.all([findAgent(db, id), findTarget(db)])
      if (!row || row.status === 'REVOKED') throw noSuchAgent(id)
      if (!isUpdatable(row)) {
        const isOff = row.program?.kind === 'line'
        throw new AppError('agent_not_updatable', because(isOff ? 'update_off' : 'update_kind'))
      }
      if (target && row.program.digest === target.digest) return
      const at = new Date(store.now()).toISOString()
      hint(id, await setUpdate(db, id, null, { state: 'wanted', at }))
      void ticks.now()
      asked.tell(null)
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error('the manager stops'))
      await ticks[Symbol.asyncDispose]()
      await Promise.all(running)
    },
  }
}

function failedBy(update: ProgramUpdate, why: Because): ProgramUpdate {
  if (update.state === 'wanted') return update
  const { id, digest, version, at } = update
  return { state: 'failed', id, digest, version, at, why: why.why, whyBy: keysOf(why) }
}
