import { every } from '#base/every'
import {
  type AgentId,
  type AgentRemoval,
  AppError,
  because,
  type Because,
  causeIn,
  keysOf,
  reasonOf,
  type HostRemovalSpec,
} from '#manager/contract'
import { type RequestReply } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Audit } from '../audit/recorder.ts'
import { type Cluster } from '../cluster/cluster.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type Lifecycle } from '../sessions/lifecycle/lifecycle.ts'
import { type AgentRow, findAgent } from '../store/agents/agents.ts'
import { beginLeaving, beginRemoval, listLeaving, saveLeft, setRemoval } from '../store/agents/removals.ts'
import { noSuchAgent } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { listSessionsOnAgents } from '../store/sessions/kernels.ts'

export interface AgentRemovals extends AsyncDisposable {
  /** @throws AppError `agent_not_found`, `agent_unreachable` unless `away` is said, `agent_leaving` */
  begin(id: AgentId, spec: HostRemovalSpec, by: string): Promise<void>
  /** @throws AppError `agent_not_found`, `agent_leaving` if it is too late */
  cancel(id: AgentId): Promise<void>
}

export interface AgentRemovalsDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly isReady: (id: AgentId) => boolean
  readonly lifecycle: Pick<Lifecycle, 'terminate'>
  readonly cluster: Pick<Cluster, 'jobLocks' | 'peers'>
  /** Revokes the agent everywhere; its sessions end. */
  readonly forget: (id: AgentId, actor: string) => Promise<void>
  readonly events: EventPublisher
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly everyMs?: number | undefined
}

/** Job of the manager that works on removals. */
const JOB = 'agent-removals'
const EVERY_MS = 5_000
const LEAVE_MS = 60_000
/** A host that has refused to leave is asked again after so many rounds; meanwhile it can be called off. */
const ROUNDS_AFTER_REFUSAL = 12
const LEAVE_COMMAND = 'sh /opt/berth/current/add-host.sh --leave'
const BY_HAND_COMMAND =
  'systemctl disable --now berth-agent; BERTH_DATA=/var/lib/berth BERTH_AGENT_LEAVE=engine berth agent'

/**
 * Lets hosts leave (ADR 91): no new sessions, then none at all, then the host removes Berth, then the records forget it. The row of the agent
 * says how far it is, so another manager can go on.
 */
export function startAgentRemovals(deps: AgentRemovalsDeps): AgentRemovals {
  const { store, cluster, events, forget, log } = deps
  const { db } = store
  const asked = cluster.peers.topic<null>('agent_removal_asked')
  const everyMs = deps.everyMs ?? EVERY_MS
  /** When a host that has refused is asked again, in milliseconds of the steady clock. */
  const askFrom = new Map<AgentId, number>()
  const hint = (row: AgentRow | undefined) =>
    row && events.publish({ topic: 'agent', id: row.id, version: row.row_version }, 'superadmins')

  async function tick(): Promise<void> {
    const rows = await listLeaving(db)
    if (rows.length === 0 || !(await cluster.jobLocks.take(JOB))) return
    for (const row of rows) {
      const { removal } = row
      if (removal)
        await advance(row, removal).catch((error: unknown) =>
          log.warn({ err: error, agentId: row.id }, 'a host has not left yet'),
        )
    }
  }

  async function advance(row: AgentRow, removal: AgentRemoval): Promise<void> {
    if (removal.step === 'removed') {
      await forget(row.id, removal.by)
      return
    }
    const [sessions = []] = await listSessionsOnAgents(db, [row.id])
    if (sessions.length > 0) {
      if (removal.sessions === 'end') await endAll(row, removal, sessions)
      return
    }
    if (!deps.isReady(row.id)) {
      await note(row, removal, because('update_away'))
      return
    }
    if (row.program_update?.state === 'updating') {
      await note(row, removal, because('update_at_work'))
      return
    }
    if (performance.now() < (askFrom.get(row.id) ?? 0)) return
    const leaving = removal.step === 'leaving' ? row : await beginLeaving(db, row.id, removal)
    if (!leaving) return
    hint(leaving)
    const { images } = removal
    let reply: RequestReply<'leave_host'>
    try {
      reply = await deps.agents.request(row.id, 'leave_host', { images }, { timeoutMs: LEAVE_MS })
    } catch (error) {
      const why = (error instanceof AppError && causeIn(error.detail)) || because('agent_says', { text: String(error) })
      // Without a reply the host may be leaving already.
      if (!(error instanceof AppError) || error.code === 'agent_unreachable')
        await note(row, { ...removal, step: 'leaving' }, why)
      else await refused(row, removal, why)
      return
    }
    await finish(row, removal, staysOf(reply, removal))
  }

  async function refused(row: AgentRow, removal: AgentRemoval, why: Because): Promise<void> {
    askFrom.set(row.id, performance.now() + ROUNDS_AFTER_REFUSAL * everyMs)
    const { why: problem } = why
    const drained: AgentRemoval = { ...removal, step: 'draining', problem, problemBy: keysOf(why) }
    hint(await setRemoval(db, row.id, 'leaving', drained))
  }

  async function endAll(
    row: AgentRow,
    { by }: AgentRemoval,
    sessions: readonly { sessionId: Parameters<Lifecycle['terminate']>[0]; status: string }[],
  ): Promise<void> {
    const reason = reasonOf('agent_forgotten', because('host_removed', { host: row.name }))
    for (const { sessionId, status } of sessions) {
      if (status === 'TERMINATING') continue
      await deps.lifecycle.terminate(sessionId, { actor: by, reason, still: ({ agentId }) => agentId === row.id })
    }
  }

  async function note(row: AgentRow, removal: AgentRemoval, problem: Because): Promise<void> {
    if (removal.problem === problem.why) return
    hint(await setRemoval(db, row.id, removal.step, { ...removal, problem: problem.why, problemBy: keysOf(problem) }))
  }

  async function finish(row: AgentRow, removal: AgentRemoval, stays: readonly Because[]): Promise<void> {
    const { problem: _, problemBy: __, ...rest } = removal
    const told = stays.map(one => ({ text: one.why, by: keysOf(one) }))
    const done: AgentRemoval = { ...rest, step: 'removed', problem: null, stays: told }
    await saveLeft(db, row.id, done)
    askFrom.delete(row.id)
    await deps.audit?.record({ action: 'agentLeft', target: `agent:${row.id}`, result: 'ok' })
    log.info({ agentId: row.id, name: row.name }, 'a host has left')
    // If this fails, the next round repeats it: an agent that is not revoked would come back.
    await forget(row.id, removal.by)
    hint(row)
  }

  const ticks = every(everyMs, tick, error => log.warn({ err: error }, 'hosts that leave were not looked at'))
  asked.on(() => void ticks.now())

  return {
    async begin(id, { sessions, images, away }, by) {
      const row = await findAgent(db, id)
      if (!row || row.status === 'REVOKED') throw noSuchAgent(id)
      const at = new Date(store.now()).toISOString()
      const removal: AgentRemoval = { step: 'draining', sessions, images, by, at, problem: null, stays: [] }
      if (row.status === 'LOST') {
        if (!away) throw new AppError('agent_unreachable', { agentId: id, ...because('remove_away') })
        await finish(row, removal, [because('stays_away', { command: LEAVE_COMMAND })])
        return
      }
      const begun = await beginRemoval(db, id, removal)
      if (!begun) throw new AppError('agent_leaving', { agentId: id })
      hint(begun)
      askFrom.delete(id)
      void ticks.now()
      asked.tell(null)
    },
    async cancel(id) {
      const row = await findAgent(db, id)
      if (!row || row.status === 'REVOKED') throw noSuchAgent(id)
      if (!row.removal) return
      const kept = await setRemoval(db, id, 'draining', null)
      if (!kept) throw new AppError('agent_leaving', { agentId: id })
      hint(kept)
    },
    async [Symbol.asyncDispose]() {
      await ticks[Symbol.asyncDispose]()
    },
  }
}

/** Things that stay on a host that has left. */
function staysOf({ removes, homes, storage }: RequestReply<'leave_host'>, { images }: AgentRemoval): Because[] {
  return [
    ...(removes ? [] : [because('stays_program', { command: BY_HAND_COMMAND })]),
    ...(storage.length > 0 ? [because('stays_folders', { paths: storage.join(', ') })] : []),
    ...(homes.length > 0 ? [because('stays_homes', { paths: homes.join(', ') })] : []),
    ...(images ? [] : [because('stays_images')]),
    because('stays_system'),
  ]
}
