import { defined } from '#base/defined'
import {
  type AgentId,
  isFinished,
  type KernelId,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { NO_PEERS, type Peers } from '../cluster/peers.ts'
import { type EventPublisher } from '../events/bus.ts'
import { type Orphan } from '../scheduler/orphans.ts'
import {
  type KernelChange,
  type KernelRow,
  listKernelDevices,
  listKernels,
  moveKernels,
  updateKernel,
} from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { insertSessionEvents } from '../store/sessions/session-events.ts'
import { lockSession, type SessionRow, updateSession } from '../store/sessions/sessions.ts'
import { beginNextRun, returnToLastRun } from '../store/sessions/past-runs.ts'
import { type Touched } from '../store/sessions/touches.ts'
import { type Change, type Effects, type SessionState, transition } from './transition.ts'

/** The state on which a decision is based; locked until the decision is executed. */
export interface LockedSession extends SessionState {
  readonly session: SessionRow
  /** The main kernel. */
  readonly kernelId: KernelId
  /** Main kernel first. */
  readonly kernels: readonly KernelRow[]
  readonly startBy: Date | null
}

export interface Applied {
  readonly sessionId: SessionId
  /** The main kernel. */
  readonly kernelId: KernelId
  readonly kernelIds: readonly KernelId[]
  readonly ownerId: UserId
  readonly domain: string
  readonly from: SessionStatus
  readonly to: SessionStatus
  readonly version: number
  readonly effects: Effects
  /** Containers that may still run although the session has ended according to its records; left out if there are none. */
  readonly unconfirmed?: readonly { readonly agentId: AgentId; readonly kernels: readonly Orphan[] }[] | undefined
  /** Set if the session waited to continue and has ended instead, so that its homes need not be kept any more. */
  readonly homesFreed?: boolean
  /** True if another manager made the transition, and also did all one-time work. */
  readonly remote?: boolean
}

/** The only way in which a session changes its status, besides being inserted or placed. */
export interface SessionChanges {
  /**
   * Locks the session, calls `decide` with the current state, and writes session, kernel and timeline in one transaction. Notifies the
   * listeners after the commit.
   *
   * @param decide returns undefined to change nothing; may run again if the transaction is repeated
   * @returns undefined if nothing was done or there is no such session
   */
  apply(id: SessionId, decide: (state: LockedSession) => Change | undefined): Promise<Applied | undefined>
  /** Notifies clients that these sessions have a newer version. */
  hint(touched: readonly Touched[]): void
  /** Called after every commit of a transition, here or at another manager. */
  onApplied(listener: (applied: Applied) => void): void
}

export interface SessionChangesDeps {
  readonly store: Store
  readonly events: EventPublisher
  /** The other managers on the same database; left out if this is the only one. */
  readonly peers?: Peers
}

export function createSessionChanges({ store, events, peers = NO_PEERS }: SessionChangesDeps): SessionChanges {
  const listeners: ((applied: Applied) => void)[] = []
  const others = peers.topic<Applied>('session_applied')
  const tell = (applied: Applied) => listeners.forEach(listener => listener(applied))
  others.on(applied => tell({ ...applied, remote: true }))
  const hint = (touched: readonly Touched[]) => {
    for (const { id, ownerId, domain, version } of touched) {
      events.publish({ topic: 'session', id, version }, { userId: ownerId, domain })
    }
  }
  return {
    hint,
    onApplied: listener => void listeners.push(listener),
    async apply(id, decide) {
      const applied = await store.transaction(trx => applyChange(trx, id, decide))
      if (!applied) return undefined
      hint([{ id, ownerId: applied.ownerId, domain: applied.domain, version: applied.version }])
      tell(applied)
      others.tell(applied)
      return applied
    },
  }
}

async function applyChange(
  trx: Db,
  id: SessionId,
  decide: (state: LockedSession) => Change | undefined,
): Promise<Applied | undefined> {
  const session = await lockSession(trx, id)
  if (!session) return undefined
  const kernels = await listKernels(trx, [id])
  const [kernel] = kernels
  if (!kernel) throw new Error(`session ${id} has no kernel`)
  const state: LockedSession = {
    session,
    status: session.status,
    attempt: session.attempt,
    failedAgents: session.failed_agents,
    kernelId: kernel.id,
    kernels,
    agentId: kernel.agent_id,
    startBy: kernel.start_by,
  }
  const change = decide(state)
  if (!change) return undefined
  const effects = transition(state, change)
  const unconfirmed = change.unconfirmed ? await orphanKernels(trx, state) : undefined
  const kernelId = change.kernelId ?? kernel.id
  // Before the session loses the start time of its run.
  if (effects.interrupted) await endRun(trx, state, { ...change, kernelId })
  const version = await updateSession(trx, id, {
    status: change.to,
    reason: change.reason,
    ended: effects.ended,
    interrupted: effects.interrupted,
    endsForGood: change.to === 'TERMINATING' && change.continues !== true,
    ...(effects.failedAgents ? { failedAgents: effects.failedAgents } : {}),
    ...defined({ started: effects.started }),
  })
  if (!effects.interrupted) await writeKernels(trx, kernels, { ...change, kernelId }, effects)
  const homesFreed =
    effects.ended && session.interruptions > 0 && session.started_at === null && (await returnToLastRun(trx, id))
  await insertSessionEvents(trx, [
    {
      sessionId: id,
      kernelId,
      from: state.status,
      to: change.to,
      reason: change.reason,
      actor: change.actor ?? null,
    },
  ])
  const { owner_id: ownerId, domain } = session
  const kernelIds = kernels.map(one => one.id)
  return {
    sessionId: id,
    kernelId: kernel.id,
    kernelIds,
    ownerId,
    domain,
    from: state.status,
    to: change.to,
    version,
    effects,
    ...(unconfirmed ? { unconfirmed } : {}),
    ...(homesFreed ? { homesFreed } : {}),
  }
}

/** Writes the results of an interrupted session's run, and begins the next run. */
async function endRun(trx: Db, { session }: LockedSession, change: Change & { readonly kernelId: KernelId }) {
  const learned = learnedIn(change)
  if (Object.keys(learned).length > 0) await updateKernel(trx, change.kernelId, learned)
  await beginNextRun(trx, session.id)
}

const learnedIn = (change: Change): KernelChange => ({
  ...defined({ container_id: change.containerId, exit_code: change.exitCode, log_tail: change.logTail }),
})

/** Kernels that have not finished, as containers without a record: their slots stay held until the agent reports that they are gone. */
async function orphanKernels(trx: Db, { kernels }: LockedSession): Promise<Applied['unconfirmed']> {
  const live = kernels.filter(({ status }) => !isFinished(status))
  const devices = await listKernelDevices(
    trx,
    live.map(({ id }) => id),
  )
  return live.flatMap(({ id, agent_id: agentId, slots }) =>
    agentId === null
      ? []
      : [{ agentId, kernels: [{ kernelId: id, slots, devices: devices.filter(({ kernel_id }) => kernel_id === id) }] }],
  )
}

async function writeKernels(
  trx: Db,
  kernels: readonly KernelRow[],
  change: Change & { readonly kernelId: KernelId },
  effects: Effects,
): Promise<void> {
  const learned = learnedIn(change)
  const { startWithinMs } = change
  const starting = defined({ startWithinMs })
  if (kernels.length === 1) {
    const released = effects.released ? { agent_id: null, container_id: null, startWithinMs: null } : {}
    await updateKernel(trx, change.kernelId, { status: change.to, ...starting, ...learned, ...released })
    return
  }
  const [first] = kernels
  if (first) await moveKernels(trx, first.session_id, { status: change.to, ...starting })
  if (Object.keys(learned).length > 0) await updateKernel(trx, change.kernelId, learned)
}
