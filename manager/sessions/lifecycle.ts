import { isDeepStrictEqual } from 'node:util'
import {
  type AgentId,
  AppError,
  isAppError,
  isFinished,
  type KernelId,
  type Reason,
  type SessionId,
  toWireError,
} from '#manager/contract'
import { type RequestReply } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { type AgentPresence } from '../scheduler/snapshot.ts'
import { findAgent } from '../store/agents/agents.ts'
import { findHeldImage } from '../store/images/images.ts'
import {
  findOccupied,
  keepLastWords,
  type KernelRow,
  listKernelDevices,
  listKernels,
  noteKernelDone,
  noteKernelRunning,
  updateKernel,
} from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { countEventsOf, findReasonTo } from '../store/sessions/session-events.ts'
import { findSession, type OwnedSessionRow, setDescription } from '../store/sessions/sessions.ts'
import { touchSessions } from '../store/sessions/touches.ts'
import { type LockedSession, type SessionChanges } from './changes.ts'
import { type PullSource, type Registries } from '../registries/registries.ts'
import { toApp } from '../images/apps.ts'
import { type KernelSigner } from './kernel-signature.ts'
import { kernelSpecOf } from './kernel-spec.ts'
import { sharedMemoryOf } from './resolve-spec.ts'
import { DEFAULT_TIMINGS, type Timings } from '../scheduler/timings.ts'
import { type Change, isStarting } from './transition.ts'

/**
 * Starts and ends kernels on their agents. Idempotent: every call checks the current state first. Closing waits for
 * requests in flight, so close the connections to the agents before.
 */
export interface Lifecycle extends AsyncDisposable {
  /** Sends create_kernel for a placed session, or sends it again; the outcome becomes the session's status. */
  start(id: SessionId): void
  /** Cancels a waiting session, or takes a started one down. Resolves once the decision is written. */
  terminate(id: SessionId, by: Termination): Promise<void>
  /** Cancels a waiting session; any other session is left alone. */
  cancel(id: SessionId, reason: Reason): Promise<void>
  /** Sends destroy_kernel for a TERMINATING session. The session ends with the reply. */
  finishTermination(id: SessionId, graceMs?: number): void
  /** Removes the containers of a start that took too long, then fails the attempt. */
  abandonStart(id: SessionId, attempt: number, cause: Reason): void
  /** Records a failed start: the session waits for another agent, or ends in ERROR after the last attempt. */
  failAttempt(id: SessionId, attempt: number, cause: Reason): Promise<void>
  /** Removes a container that should not (or no longer) be there and keeps its exit code and last log lines. */
  cleanUp(agentId: AgentId, kernelId: KernelId, attempt: number): void
  /**
   * Records that the container of a kernel is up; the session runs once all of them are. Called for the reply to
   * create_kernel, for a notice or for a report, whichever comes first.
   */
  markRunning(id: SessionId, started: Started): Promise<void>
  /**
   * Records that a secondary kernel has finished its work; the session goes on.
   * @returns false if it is no such kernel
   */
  markDone(id: SessionId, done: Done): Promise<boolean>
  /** Resolves once the outcome of a start in flight is written, whatever it is; undefined if no start is in flight. */
  startInFlight(kernelId: KernelId): Promise<void> | undefined
}

export interface Termination {
  /** Undefined if Berth itself ends the session. */
  readonly actor?: string
  readonly reason: Reason
  /** Checked once the session is locked: whether it should still be ended. */
  readonly still?: (state: LockedSession) => boolean
}

export interface Started {
  readonly kernelId: KernelId
  readonly attempt: number
  readonly containerId: string
  /** Left out if it has just started. */
  readonly startedAt?: string
  readonly reason: Reason
}

export interface Done {
  readonly kernelId: KernelId
  readonly attempt: number
  readonly agentId: AgentId
}

/** The reason text of a session while its agent prepares it. */
export const PREPARING = 'The host is preparing the container.'
/** The reason of a running session that we started, as opposed to one that was found running. */
export const STARTED: Reason = { code: 'started', message: 'The container started.' }

export interface LifecycleDeps {
  readonly store: Store
  readonly changes: SessionChanges
  readonly agents: AgentRequests & AgentPresence
  /** The data an agent needs to pull an image that it does not hold. */
  readonly pullOf: Registries['pullOf']
  readonly signer: Pick<KernelSigner, 'sign'>
  readonly log: Log
  readonly timings?: Partial<Timings>
}

export function createLifecycle(deps: LifecycleDeps): Lifecycle {
  const { store, changes, agents, log } = deps
  const timings = { ...DEFAULT_TIMINGS, ...deps.timings }
  const starts = new Map<KernelId, StartInFlight>()
  /** Keyed by agent and kernel: remains of an earlier attempt on another agent do not affect the present attempt. */
  const destroys = new Map<
    string,
    { readonly attempt: number; readonly task: Promise<RequestReply<'destroy_kernel'>> }
  >()
  const placeOf = (agentId: AgentId, kernelId: KernelId) => `${agentId}/${kernelId}`
  /** Sessions whose start is being abandoned. A second abandon could take down the next attempt. */
  const abandoned = new Set<SessionId>()
  const work = new Set<Promise<void>>()
  let closed = false

  /** Runs in the background. A failure is our own bug: it is logged, and the deadlines find the session again. */
  function background(what: string, id: string, run: () => Promise<void>): void {
    if (closed) return
    const task = run()
      .catch((error: unknown) => {
        if (!closed) log.error({ err: error, id }, `${what} failed`)
      })
      .finally(() => work.delete(task))
    work.add(task)
  }

  function abortStart(kernelId: KernelId, agentId: AgentId, why: string): void {
    const start = starts.get(kernelId)
    if (start?.agentId === agentId) start.controller.abort(new AppError('unavailable', { why }))
  }

  /** Sends at most one destroy_kernel per kernel and agent at a time. */
  function destroy(agentId: AgentId, kernelId: KernelId, attempt: number, graceMs: number) {
    const place = placeOf(agentId, kernelId)
    const running = destroys.get(place)
    if (running && running.attempt >= attempt) return running.task
    const input = { kernelId, attempt, graceMs }
    // The agent leaves newer attempts alone, so a request in flight for an older attempt does not cover this one.
    const task = Promise.allSettled([running?.task])
      .then(() => agents.request(agentId, 'destroy_kernel', input, { timeoutMs: timings.destroyTimeoutMs }))
      .catch((error: unknown) => {
        if (isAppError(error) && error.code === 'kernel_not_found') return { exitCode: null, logTail: '' }
        throw error
      })
      .finally(() => {
        if (destroys.get(place)?.task === task) destroys.delete(place)
      })
    destroys.set(place, { attempt, task })
    return task
  }

  async function create(id: SessionId): Promise<void> {
    const found = await findSession(store.db, id)
    if (!found || !isStarting(found.status)) return
    // Kernels that have finished while others of the session still start are not started again.
    const kernels = (await listKernels(store.db, [id])).filter(kernel => !isFinished(kernel.status))
    const agentId = kernels[0]?.agent_id
    if (!agentId || !agents.isReady(agentId) || kernels.some(kernel => starts.has(kernel.id))) return
    const attempt = found.attempt
    const controller = new AbortController()
    const { promise: settled, resolve: settle } = Promise.withResolvers<undefined>()
    const start: StartInFlight = { agentId, attempt, controller, settled }
    for (const kernel of kernels) starts.set(kernel.id, start)
    try {
      await Promise.allSettled(kernels.map(async kernel => destroys.get(placeOf(agentId, kernel.id))?.task))
      const { held, session } = await asHeldBy(agentId, found)
      // An agent that holds the image gets the time of PREPARING; a pull needs its own time on top.
      const startWithinMs = held ? timings.preparingMs : timings.preparingMs + timings.pullingMs
      const pull = held ? {} : await deps.pullOf(session.image, session.image_digest)
      // The agent's time starts later than ours, when it receives the request: hence the margin.
      const withMarginMs = startWithinMs + timings.replyMarginMs
      if (!(await markPreparing(id, attempt, withMarginMs))) return
      // The request is sent again after a restart, and the agent's time starts anew.
      if (found.status !== 'SCHEDULED')
        for (const kernel of kernels) await updateKernel(store.db, kernel.id, { startWithinMs: withMarginMs })
      await createAll(session, kernels, { agentId, startWithinMs, pull, signal: controller.signal })
    } catch (error) {
      await onStartFailed(error, { id, attempt, agentId, aborted: controller.signal.aborted, kernels })
    } finally {
      for (const kernel of kernels) if (starts.get(kernel.id) === start) starts.delete(kernel.id)
      settle(undefined)
    }
  }

  /**
   * Starts all kernels in parallel, on one network. If one fails the others are cancelled. Rejects with the first
   * failure.
   */
  async function createAll(
    session: OwnedSessionRow,
    kernels: readonly KernelRow[],
    options: { agentId: AgentId; startWithinMs: number; pull: PullSource; signal: AbortSignal },
  ): Promise<void> {
    const { agentId, startWithinMs, pull } = options
    const devices = Map.groupBy(
      await listKernelDevices(
        store.db,
        kernels.map(kernel => kernel.id),
      ),
      device => device.kernel_id,
    )
    const failed = new AbortController()
    // The start may be queued on the agent. The deadlines catch a start that waits too long, or for nothing.
    const timeoutMs = startWithinMs + timings.replyMarginMs + timings.turnMs
    const sending = { timeoutMs, signal: AbortSignal.any([options.signal, failed.signal]) }
    const starting = kernels.map(async kernel => {
      const facts = kernelSpecOf(session, kernel, devices.get(kernel.id) ?? [], pull.manifestDigest)
      const spec = { ...facts, managerSignature: deps.signer.sign(facts, agentId) }
      const { preparingMs: prepareWithinMs } = timings
      const input = { spec, startWithinMs, prepareWithinMs, ...(pull.auth ? { registryAuth: pull.auth } : {}) }
      const { containerId } = await agents.request(agentId, 'create_kernel', input, sending)
      const started = { containerId, kernelId: kernel.id, attempt: kernel.attempt, reason: STARTED }
      // The kernel runs even if that cannot be written now: its agent says so again in the next report.
      await markRunning(session.id, started).catch((error: unknown) => {
        log.error({ err: error, id: session.id }, 'that a session runs could not be written')
      })
    })
    for (const start of starting) start.catch((error: unknown) => failed.abort(error))
    await Promise.allSettled(starting)
    if (failed.signal.aborted) throw failed.signal.reason
  }

  /**
   * Takes apps, and shared memory unless the user asked for an amount, from the copy of the image on the agent that
   * runs the session.
   */
  async function asHeldBy(
    agentId: AgentId,
    session: OwnedSessionRow,
  ): Promise<{ held: boolean; session: OwnedSessionRow }> {
    const { id, image_digest: digest, requested } = session
    const image = digest === null ? undefined : await findHeldImage(store.db, agentId, digest)
    if (!image) return { held: false, session }
    const apps = image.apps.map(toApp)
    const shmem_bytes = session.shmem_from_image ? sharedMemoryOf(image, requested.mem ?? 0) : session.shmem_bytes
    if (shmem_bytes === session.shmem_bytes && isDeepStrictEqual(apps, session.apps)) return { held: true, session }
    await setDescription(store.db, id, { apps, shmemBytes: shmem_bytes })
    return { held: true, session: { ...session, apps, shmem_bytes } }
  }

  /** @returns whether the request may be sent */
  async function markPreparing(id: SessionId, attempt: number, startWithinMs: number): Promise<boolean> {
    let wanted = false
    await changes.apply(id, state => {
      wanted = isStarting(state.status) && state.attempt === attempt
      if (!wanted || state.status !== 'SCHEDULED') return undefined
      const reason: Reason = { code: 'create_sent', message: PREPARING }
      return { to: 'PREPARING', reason, startWithinMs }
    })
    return wanted
  }

  async function onStartFailed(error: unknown, { id, attempt, agentId, aborted, kernels }: FailedStart): Promise<void> {
    // The caller that aborted the start also decides what becomes of the session.
    if (aborted || closed) return
    // The agent may have started it although the reply was lost: its next report tells, or the deadline decides.
    if (isUnreachable(error)) return
    if (!isAppError(error)) log.error({ err: error, id }, 'create_kernel failed unexpectedly')
    const agent = await findAgent(store.db, agentId)
    const message = `Starting on host ${agent?.name ?? agentId} failed: ${whyOf(error)}`
    // All or none: kernels that did start are destroyed before any kernel of the session may start elsewhere.
    if (kernels.length > 1 && !(await destroyAll(kernels, agentId, 0).then(isDone, ignoreUnreachable))) return
    // Files that the agent no longer keeps will not be there next time either.
    const isFinal = isAppError(error) && error.code === 'files_gone'
    const code = isHostsFault(error) ? 'host_unfit' : 'create_failed'
    await failAttempt(id, attempt, { code, message }, isFinal)
  }

  async function failAttempt(id: SessionId, attempt: number, cause: Reason, isFinal = false): Promise<void> {
    const isFree = cause.code === 'host_unfit'
    const counted = attempt - (await countEventsOf(store.db, id, 'host_unfit'))
    const applied = await changes.apply(id, state => {
      if (!isStarting(state.status) || state.attempt !== attempt) return undefined
      if (isFinal || (!isFree && counted >= timings.maxAttempts)) return { to: 'ERROR', reason: cause }
      const code = isFree ? cause.code : 'retried'
      return { to: 'PENDING', reason: { ...cause, code, message: `${cause.message} Trying again.` } }
    })
    if (!applied) return
    log.warn({ id, attempt, to: applied.to, cause: cause.message }, 'session start failed')
    // The request may still be in flight, with an agent that does not answer. The next attempt does not wait for it.
    for (const kernelId of applied.kernelIds) {
      const start = starts.get(kernelId)
      if (start?.attempt !== attempt) continue
      starts.delete(kernelId)
      start.controller.abort(new AppError('unavailable', { why: 'This attempt has failed.' }))
    }
  }

  async function markRunning(id: SessionId, started: Started): Promise<void> {
    const { kernelId, attempt, containerId, startedAt, reason } = started
    if ((await listKernels(store.db, [id])).length > 1) await noteKernelRunning(store.db, kernelId, started)
    await runOnceAllDo(id, attempt, { reason, kernelId, containerId, startedAt })
  }

  /** @param learned of the kernel that runs now, if it is that on which the session has waited */
  async function runOnceAllDo(id: SessionId, attempt: number, learned: Omit<Change, 'to'>): Promise<void> {
    await changes.apply(id, state => {
      // A SCHEDULED session cannot run yet: no request has been sent to an agent.
      if (!isStarting(state.status) || state.status === 'SCHEDULED' || state.attempt !== attempt) return undefined
      const late = state.kernels.some(
        kernel => kernel.id !== learned.kernelId && kernel.status !== 'RUNNING' && !isFinished(kernel.status),
      )
      return late ? undefined : { to: 'RUNNING', ...learned }
    })
  }

  async function markDone(id: SessionId, done: Done): Promise<boolean> {
    if (!(await noteKernelDone(store.db, done.kernelId, done))) return false
    changes.hint(await touchSessions(store.db, [id]))
    await runOnceAllDo(id, done.attempt, { reason: STARTED })
    return true
  }

  function destroyAll(kernels: readonly KernelRow[], agentId: AgentId, graceMs: number) {
    const live = kernels.filter(kernel => !isFinished(kernel.status))
    // Abort a start in flight first: destroy_kernel must never overtake create_kernel on the agent.
    for (const { id } of live) abortStart(id, agentId, 'The start was cancelled.')
    return Promise.all(live.map(async ({ id, attempt }) => ({ id, ...(await destroy(agentId, id, attempt, graceMs)) })))
  }

  async function takeDown(id: SessionId, graceMs: number): Promise<void> {
    const session = await findSession(store.db, id)
    const kernels = await listKernels(store.db, [id])
    const [main] = kernels
    if (session?.status !== 'TERMINATING' || !main) return
    if (main.agent_id === null) throw new Error(`session ${id} is TERMINATING without an agent`)
    if (!agents.isReady(main.agent_id)) return
    const ended = await destroyAll(kernels, main.agent_id, graceMs)
    for (const words of ended)
      if (words.id !== main.id) await keepLastWords(store.db, { id: words.id, agentId: main.agent_id }, words)
    const { exitCode, logTail } = ended.find(words => words.id === main.id) ?? { exitCode: null, logTail: '' }
    const reason = (await findReasonTo(store.db, id, 'TERMINATING')) ?? session.reason
    await changes.apply(id, state =>
      state.status === 'TERMINATING'
        ? { to: 'TERMINATED', reason, exitCode: main.exit_code ?? exitCode, logTail }
        : undefined,
    )
  }

  const finishTermination = (id: SessionId, graceMs = timings.graceMs) =>
    background('termination', id, () => takeDown(id, graceMs).catch((error: unknown) => void ignoreUnreachable(error)))

  return {
    start: id => background('start', id, () => create(id)),
    async terminate(id, { actor, reason, still = () => true }) {
      const applied = await changes.apply(id, state => (still(state) ? terminationOf(state, reason, actor) : undefined))
      if (applied?.to !== 'TERMINATING') return
      starts
        .get(applied.kernelId)
        ?.controller.abort(new AppError('unavailable', { why: 'The session was terminated.' }))
      finishTermination(id)
    },
    async cancel(id, reason) {
      await changes.apply(id, state => (state.status === 'PENDING' ? { to: 'CANCELLED', reason } : undefined))
    },
    finishTermination,
    abandonStart(id, attempt, cause) {
      if (abandoned.has(id)) return
      abandoned.add(id)
      const abandon = async () => {
        const kernels = await listKernels(store.db, [id])
        const [main] = kernels
        if (!main?.agent_id || main.attempt !== attempt) return
        await destroyAll(kernels, main.agent_id, 0)
        await failAttempt(id, attempt, cause)
      }
      background('abandoned start', id, () => abandon().finally(() => abandoned.delete(id)))
    },
    failAttempt,
    cleanUp: (agentId, kernelId, attempt) =>
      background('clean-up', kernelId, async () => {
        // The kernel may have been placed there again since it was found; create_kernel then replaces the remains.
        if ((await findOccupied(store.db, kernelId)) === agentId) return
        if (destroys.has(placeOf(agentId, kernelId))) return
        // On failure, the agent reports the container again for as long as it exists.
        const words = await destroy(agentId, kernelId, attempt, 0).catch(ignoreUnreachable)
        if (words) await keepLastWords(store.db, { id: kernelId, agentId }, words)
      }),
    markRunning,
    markDone,
    startInFlight: kernelId => starts.get(kernelId)?.settled,
    async [Symbol.asyncDispose]() {
      // Starts are not cancelled: they continue on their agents, and the next manager takes them over.
      closed = true
      await Promise.all(work)
    },
  }
}

/** Cancels a session that no agent has been asked to start; terminates one that has started. */
function terminationOf(state: LockedSession, reason: Reason, actor: string | undefined) {
  if (isFinished(state.status) || state.status === 'TERMINATING') return undefined
  // No request is sent to an agent before PREPARING.
  const untouched = state.status === 'PENDING' || state.status === 'SCHEDULED'
  return { to: untouched ? 'CANCELLED' : 'TERMINATING', reason, actor } as const
}

interface StartInFlight {
  readonly agentId: AgentId
  readonly attempt: number
  /** Shared by all kernels of a session. */
  readonly controller: AbortController
  readonly settled: Promise<undefined>
}

interface FailedStart {
  readonly id: SessionId
  readonly attempt: number
  readonly agentId: AgentId
  readonly aborted: boolean
  readonly kernels: readonly KernelRow[]
}

/**
 * Errors that mean the host cannot start anything. They are no fault of the session and cost it no attempt. Nothing is
 * retried there for ever all the same: an agent paces its starts while its engine is overloaded, and nothing is placed
 * on an agent that is away, or whose reports say that its network range is taken.
 */
const HOST_UNFIT: ReadonlySet<string> = new Set(['engine_busy', 'engine_unreachable', 'network_range_taken'])
const isHostsFault = (error: unknown) => isAppError(error) && HOST_UNFIT.has(error.code)

const isUnreachable = (error: unknown) => isAppError(error) && error.code === 'agent_unreachable'
const isDone = () => true

function ignoreUnreachable(error: unknown): false {
  // The agent reports when it is back, and the deadline asks again.
  if (isUnreachable(error)) return false
  throw error
}

function whyOf(error: unknown): string {
  if (!isAppError(error)) return toWireError(error).message + '.'
  const { why } = error.detail
  const text = typeof why === 'string' ? why : error.message
  return /[.!?]$/.test(text) ? text : `${text}.`
}
