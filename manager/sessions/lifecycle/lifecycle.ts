import {
  type AgentId,
  AppError,
  because,
  isFinished,
  type KernelId,
  type Reason,
  type SessionId,
} from '#manager/contract'
import { DEFAULT_TIMINGS, type Timings } from '../../scheduler/timings.ts'
import { findOccupied, keepLastWords, type KernelRow, listKernels } from '../../store/sessions/kernels.ts'
import { giveUpContinuing } from '../../store/sessions/interruptions.ts'
import { findReasonTo, insertSessionEvents } from '../../store/sessions/session-events.ts'
import { isHomeAwaited } from '../../store/sessions/past-runs.ts'
import { findSession } from '../../store/sessions/sessions.ts'
import { type LockedSession } from '../changes.ts'
import { createBackground } from './background.ts'
import { createDestroys } from './destroys.ts'
import { ignoreUnreachable } from './failure.ts'
import { createOutcomes, type Done, INTERRUPTED, type Started } from './outcomes.ts'
import { createStart, type StartDeps } from './start.ts'
import { createStartsInFlight } from './starts-in-flight.ts'

/**
 * Starts and ends kernels on their agents. Idempotent: every call checks the current state first. Closing waits for
 * requests in flight, so close the connections to the agents before.
 */
export interface Lifecycle extends AsyncDisposable {
  /** Sends create_kernel for a placed session, or sends it again; the outcome becomes the session's status. */
  start(id: SessionId): void
  /** Cancels a waiting session, or ends a started one. Resolves once the decision is written. */
  terminate(id: SessionId, by: Termination): Promise<void>
  /**
   * Stops a running session, which then waits to continue. Does nothing for any other session, or if no interruption is announced for this
   * time (milliseconds since the epoch) or earlier: another manager may have cancelled it.
   *
   * @param reason left out: for a session of higher priority
   * @returns whether this call has stopped it
   */
  interrupt(id: SessionId, at: number, reason?: Reason): Promise<boolean>
  /**
   * Ends a TERMINATING session in the records although its agent has not confirmed the end; does nothing for any other session. Its
   * containers are removed once the agent answers, and hold their slots until then.
   */
  endUnconfirmed(id: SessionId, by: Termination): Promise<void>
  /** Cancels a waiting session; does nothing for any other session. */
  cancel(id: SessionId, reason: Reason): Promise<void>
  /** Sends destroy_kernel for a TERMINATING session. The session ends with the reply. */
  finishTermination(id: SessionId, graceMs?: number): void
  /** Removes the containers of a start that took too long, then fails the attempt. */
  abandonStart(id: SessionId, attempt: number, cause: Reason): void
  /** Records a failed start: the session waits for another agent, or ends in ERROR after the last attempt. */
  failAttempt(id: SessionId, attempt: number, cause: Reason): Promise<void>
  /** Removes a container that should not (or no longer) exist, and stores its exit code and last log lines. */
  cleanUp(agentId: AgentId, kernelId: KernelId, attempt: number): void
  /**
   * Records that the container of a kernel is up; the session runs once all of them are. Called for the reply to
   * create_kernel, for a notice or for a report, whichever comes first.
   */
  markRunning(id: SessionId, started: Started): Promise<void>
  /** Records that a secondary kernel has finished its work; the session continues. @returns false if it is not a secondary kernel */
  markDone(id: SessionId, done: Done): Promise<boolean>
  /** Resolves once the outcome of a start in flight is written, whatever it is; undefined if no start is in flight. */
  startInFlight(kernelId: KernelId): Promise<void> | undefined
  /** Whether this process waits for the agent's reply to create_kernel of this attempt. */
  isStarting(kernelId: KernelId, on: { readonly agentId: AgentId; readonly attempt: number }): boolean
}

/** Time for which agents keep the homes of a session that waits to continue. */
const KEEP_FILES_MS = 30 * 86_400_000

export interface Termination {
  /** Undefined if Berth itself ends the session. */
  readonly actor?: string
  readonly reason: Reason
  /** Time that programs get to end; the usual time if left out. */
  readonly graceMs?: number
  /** Checked after the session is locked: whether it should still be ended. */
  readonly still?: (state: LockedSession) => boolean
}

export interface LifecycleDeps extends Pick<
  StartDeps,
  'store' | 'changes' | 'agents' | 'pullOf' | 'transfers' | 'signer' | 'startFiles' | 'log'
> {
  readonly timings?: Partial<Timings>
}

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { store, changes, agents, log } = deps
  const timings = { ...DEFAULT_TIMINGS, ...deps.timings }
  const background = createBackground(log)
  const starts = createStartsInFlight()
  const destroys = createDestroys({ agents, starts, timeoutMs: timings.destroyTimeoutMs })
  const outcomes = createOutcomes({ ...deps, starts, maxAttempts: timings.maxAttempts })
  const start = createStart({ ...deps, timings, starts, destroys, outcomes, isClosed: () => background.closed })
  /** Sessions whose start is being abandoned. Abandoning it twice could end the next attempt. */
  const abandoned = new Set<SessionId>()

  async function takeDown(id: SessionId, graceMs: number): Promise<void> {
    const session = await findSession(store.db, id)
    const kernels = await listKernels(store.db, [id])
    const [main] = kernels
    if (session?.status !== 'TERMINATING' || !main) return
    if (main.agent_id === null) throw new Error(`session ${id} is TERMINATING without an agent`)
    if (kernels.every(({ agent_id: on }) => on === null || !agents.isReady(on))) return
    const keepFilesMs = session.interrupt_at === null ? undefined : KEEP_FILES_MS
    // On several hosts: those that can be reached end their kernels at once, whatever has become of the others.
    const ended = await destroys.all(kernels, { graceMs, keepFilesMs })
    for (const words of ended) {
      const agentId = kernels.find(kernel => kernel.id === words.id)?.agent_id
      if (words.id !== main.id && agentId) await keepLastWords(store.db, { id: words.id, agentId }, words)
    }
    const { exitCode, logTail } = ended.find(words => words.id === main.id) ?? { exitCode: null, logTail: '' }
    const reason = (await findReasonTo(store.db, id, 'TERMINATING')) ?? session.reason
    await changes.apply(id, state => {
      // Another manager may have finished it meanwhile, and the session may be in another run by now.
      if (state.status !== 'TERMINATING' || state.kernelId !== main.id) return undefined
      const to = state.session.interrupt_at === null ? 'TERMINATED' : 'PENDING'
      return { to, reason, exitCode: main.exit_code ?? exitCode, logTail }
    })
  }

  async function abandon(id: SessionId, attempt: number, cause: Reason): Promise<void> {
    const kernels = await listKernels(store.db, [id])
    const [main] = kernels
    if (!main?.agent_id || main.attempt !== attempt) return
    // An agent that is away has given up by itself once the time of the start has passed.
    const isOver = ({ agent_id: on, status, start_by: startBy }: KernelRow) =>
      on !== null && !agents.isReady(on) && status !== 'RUNNING' && startBy !== null && startBy.getTime() < store.now()
    await destroys.all(
      kernels.filter(kernel => !isOver(kernel)),
      { graceMs: 0 },
    )
    await outcomes.markFailed(id, attempt, { cause, isFinal: false })
  }

  async function cleanUp(agentId: AgentId, kernelId: KernelId, attempt: number): Promise<void> {
    // The kernel may have been placed there again since the container was found; create_kernel then replaces the remains.
    if ((await findOccupied(store.db, kernelId)) === agentId) return
    if (destroys.inFlight(agentId, kernelId)) return
    // On failure, the agent reports the container again for as long as it exists.
    // A late report may name a kernel of an interrupted session, which will continue with its home.
    const keepFilesMs = (await isHomeAwaited(store.db, kernelId)) ? KEEP_FILES_MS : undefined
    const words = await destroys.one(agentId, kernelId, { attempt, graceMs: 0, keepFilesMs }).catch(ignoreUnreachable)
    if (words) await keepLastWords(store.db, { id: kernelId, agentId }, words)
  }

  const finishTermination = (id: SessionId, graceMs = timings.graceMs) =>
    background.run('termination', id, () =>
      takeDown(id, graceMs).catch((error: unknown) => void ignoreUnreachable(error)),
    )

  const startCleanUp: Lifecycle['cleanUp'] = (agentId, kernelId, attempt) =>
    background.run('clean-up', kernelId, () => cleanUp(agentId, kernelId, attempt))

  changes.onApplied(({ sessionId, homesFreed = false, remote = false }) => {
    if (!homesFreed || remote) return
    background.run('release of homes', sessionId, async () => {
      for (const { agent_id, id, attempt } of await listKernels(store.db, [sessionId]))
        if (agent_id !== null && agents.isReady(agent_id)) startCleanUp(agent_id, id, attempt)
    })
  })

  return {
    start: id => background.run('start', id, () => start(id)),
    async interrupt(id, at, reason = INTERRUPTED) {
      const applied = await changes.apply(id, ({ status, session: { interrupt_at: announced } }) =>
        status === 'RUNNING' && announced !== null && announced.getTime() <= at
          ? { to: 'TERMINATING', reason, continues: true }
          : undefined,
      )
      if (applied) finishTermination(id)
      return applied !== undefined
    },
    async terminate(id, { actor, reason, graceMs, still = () => true }) {
      await store.transaction(async trx => {
        if (!(await giveUpContinuing(trx, id))) return
        // The reason of the end, once its agent has confirmed it.
        const event = { sessionId: id, kernelId: null, reason, actor: actor ?? null }
        await insertSessionEvents(trx, [{ ...event, from: 'TERMINATING', to: 'TERMINATING' }])
      })
      const applied = await changes.apply(id, state => (still(state) ? terminationOf(state, reason, actor) : undefined))
      if (applied?.to !== 'TERMINATING') return
      starts.of(applied.kernelId)?.controller.abort(new AppError('unavailable', because('session_terminated')))
      finishTermination(id, graceMs)
    },
    async endUnconfirmed(id, { actor, reason }) {
      const applied = await changes.apply(id, state =>
        state.status === 'TERMINATING' ? { to: 'TERMINATED', reason, actor, unconfirmed: true } : undefined,
      )
      for (const kernel of applied ? await listKernels(store.db, [id]) : [])
        if (kernel.agent_id !== null) startCleanUp(kernel.agent_id, kernel.id, kernel.attempt)
    },
    async cancel(id, reason) {
      await changes.apply(id, state => (state.status === 'PENDING' ? { to: 'CANCELLED', reason } : undefined))
    },
    finishTermination,
    abandonStart(id, attempt, cause) {
      if (abandoned.has(id)) return
      abandoned.add(id)
      background.run('abandoned start', id, () => abandon(id, attempt, cause).finally(() => abandoned.delete(id)))
    },
    failAttempt: (id, attempt, cause) => outcomes.markFailed(id, attempt, { cause, isFinal: false }),
    cleanUp: startCleanUp,
    markRunning: (id, started) => outcomes.markRunning(id, started),
    markDone: (id, done) => outcomes.markDone(id, done),
    startInFlight: kernelId => starts.of(kernelId)?.settled,
    isStarting(kernelId, { agentId, attempt }) {
      const start = starts.of(kernelId)
      return start?.agentId === agentId && start.attempt === attempt
    },
    // Starts are not cancelled: they continue on their agents, and the next manager takes them over.
    [Symbol.asyncDispose]: () => background[Symbol.asyncDispose](),
  }
}

/** Cancels a session that no agent has been asked to start; terminates one that has started. */
function terminationOf(state: LockedSession, reason: Reason, actor: string | undefined) {
  if (isFinished(state.status) || state.status === 'TERMINATING') return undefined
  // No request is sent to an agent before PREPARING.
  const untouched = state.status === 'PENDING' || state.status === 'SCHEDULED'
  return { to: untouched ? 'CANCELLED' : 'TERMINATING', reason, actor } as const
}
