import { isDeepStrictEqual } from 'node:util'
import { allDone } from '#base/all-done'
import { type AgentId, isAppError, isFinished, type Reason, type SessionId } from '#manager/contract'
import { type AgentRequests } from '../../agent-link/connection.ts'
import { toApp } from '../../images/apps.ts'
import { type Log } from '../../log.ts'
import { type PullSource, type Registries } from '../../registries/registries.ts'
import { type AgentPresence } from '../../scheduler/snapshot.ts'
import { type Timings } from '../../scheduler/timings.ts'
import { findAgent } from '../../store/agents/agents.ts'
import { findHeldImage } from '../../store/images/images.ts'
import { type Store } from '../../store/open-store.ts'
import { findGrant } from '../../store/sessions/allocations.ts'
import { type KernelRow, listKernelDevices, listKernels, updateKernel } from '../../store/sessions/kernels.ts'
import { listSessionFolders } from '../../store/sessions/session-folders.ts'
import { findSession, findVariables, type OwnedSessionRow, setDescription } from '../../store/sessions/sessions.ts'
import { type StartFiles } from '../../users/start-files.ts'
import { type SessionChanges } from '../changes.ts'
import { type KernelSigner } from '../kernel-signature.ts'
import { kernelSpecOf } from '../kernel-spec.ts'
import { sharedMemoryOf } from '../resolve-spec.ts'
import { isStarting } from '../transition.ts'
import { type Destroys } from './destroys.ts'
import { failureOn, ignoreUnreachable, isUnreachable } from './failure.ts'
import { type Outcomes, STARTED } from './outcomes.ts'
import { type StartsInFlight } from './starts-in-flight.ts'

/** The reason text of a session while its agent prepares it. */
export const PREPARING = 'The host is preparing the container.'
export interface StartDeps {
  readonly store: Store
  readonly changes: SessionChanges
  readonly agents: AgentRequests & AgentPresence
  /** The data an agent needs to pull an image that it does not hold. */
  readonly pullOf: Registries['pullOf']
  readonly signer: Pick<KernelSigner, 'sign'>
  /** Dotfiles and start-up script of the owner. */
  readonly startFiles: Pick<StartFiles, 'of'>
  readonly starts: StartsInFlight
  readonly destroys: Destroys
  readonly outcomes: Outcomes
  readonly timings: Pick<Timings, 'preparingMs' | 'pullingMs' | 'replyMarginMs' | 'turnMs'>
  readonly isClosed: () => boolean
  readonly log: Log
}

/** @returns a function that sends create_kernel for all kernels of a placed session, and writes the outcome */
export function createStart(deps: StartDeps) {
  const { store, changes, agents, starts, destroys, outcomes, timings, log } = deps

  return async function start(id: SessionId): Promise<void> {
    const [found, all] = await allDone([findSession(store.db, id), listKernels(store.db, [id])])
    if (!found || !isStarting(found.status)) return
    // Kernels that have finished while others of the session still start are not started again.
    const kernels = all.filter(kernel => !isFinished(kernel.status))
    const agentId = kernels[0]?.agent_id
    if (!agentId || !agents.isReady(agentId) || kernels.some(kernel => starts.of(kernel.id))) return
    const attempt = found.attempt
    const inFlight = starts.begin(
      kernels.map(kernel => kernel.id),
      { agentId, attempt },
    )
    const { signal } = inFlight.controller
    try {
      await Promise.allSettled(kernels.map(async kernel => destroys.inFlight(agentId, kernel.id)))
      const { held, session } = await asHeldBy(agentId, found)
      // An agent that holds the image gets the time of PREPARING; a pull needs its own time on top.
      const startWithinMs = held ? timings.preparingMs : timings.preparingMs + timings.pullingMs
      const pull = held ? {} : await deps.pullOf(session.image, session.image_digest)
      // The agent's time begins later than ours, when it receives the request; hence the margin.
      const withMarginMs = startWithinMs + timings.replyMarginMs
      const [maySend, facts] = await allDone([markPreparing(id, attempt, withMarginMs), readFacts(session, kernels)])
      if (!maySend) return
      // The request is sent again after a restart, and the agent's time begins again.
      if (found.status !== 'SCHEDULED')
        for (const kernel of kernels) await updateKernel(store.db, kernel.id, { startWithinMs: withMarginMs })
      await createAll(session, kernels, { agentId, facts, startWithinMs, pull, signal })
    } catch (error) {
      await onFailed(error, { id, attempt, agentId, aborted: signal.aborted, kernels })
    } finally {
      inFlight.end()
    }
  }

  /** Reads the parts of the requests that no other process changes while the session starts. */
  async function readFacts(session: OwnedSessionRow, kernels: readonly KernelRow[]) {
    const [held, foldersOf, startFiles, environ, grant] = await allDone([
      listKernelDevices(
        store.db,
        kernels.map(kernel => kernel.id),
      ),
      listSessionFolders(store.db, [session.id]),
      deps.startFiles.of(session),
      findVariables(store.db, session.id),
      findGrant(store.db, session.id),
    ])
    const devices = Map.groupBy(held, device => device.kernel_id)
    return { devices, environ, folders: foldersOf.get(session.id) ?? [], startFiles, grant }
  }
  type StartFacts = Awaited<ReturnType<typeof readFacts>>

  /**
   * Starts all kernels in parallel, on one network. If one fails the others are cancelled. Rejects with the first
   * failure.
   */
  async function createAll(
    session: OwnedSessionRow,
    kernels: readonly KernelRow[],
    options: { agentId: AgentId; facts: StartFacts; startWithinMs: number; pull: PullSource; signal: AbortSignal },
  ): Promise<void> {
    const { agentId, startWithinMs, pull } = options
    const { devices, environ, folders, startFiles, grant } = options.facts
    const failed = new AbortController()
    // The start may be queued on the agent. The deadline checks find a start that waits too long, or in vain.
    const timeoutMs = startWithinMs + timings.replyMarginMs + timings.turnMs
    const sending = { timeoutMs, signal: AbortSignal.any([options.signal, failed.signal]) }
    const starting = kernels.map(async kernel => {
      const unsigned = kernelSpecOf(
        session,
        kernel,
        { environ, devices: devices.get(kernel.id) ?? [], folders, startFiles, grant },
        pull.manifestDigest,
      )
      const spec = { ...unsigned, managerSignature: deps.signer.sign(unsigned, agentId) }
      const { preparingMs: prepareWithinMs } = timings
      const input = { spec, startWithinMs, prepareWithinMs, ...(pull.auth ? { registryAuth: pull.auth } : {}) }
      const { containerId } = await agents.request(agentId, 'create_kernel', input, sending)
      const isOnly = session.cluster_size === 1
      const started = { containerId, kernelId: kernel.id, attempt: kernel.attempt, reason: STARTED, isOnly }
      // The kernel runs even if that cannot be written now: its agent repeats it in the next report.
      await outcomes.markRunning(session.id, started).catch((error: unknown) => {
        log.error({ err: error, id: session.id }, 'that a session runs could not be written')
      })
    })
    for (const one of starting) one.catch((error: unknown) => failed.abort(error))
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

  async function onFailed(error: unknown, { id, attempt, agentId, aborted, kernels }: FailedStart): Promise<void> {
    // The caller that aborted the start also decides about the session.
    if (aborted || deps.isClosed()) return
    // The agent may have started it although the reply was lost: its next report shows it, or the deadline decides.
    if (isUnreachable(error)) return
    if (!isAppError(error)) log.error({ err: error, id }, 'create_kernel failed unexpectedly')
    const agent = await findAgent(store.db, agentId)
    const failure = failureOn(agent?.name ?? agentId, error)
    // All or none: kernels that did start are destroyed before any kernel of the session may start elsewhere.
    if (kernels.length > 1 && !(await destroys.all(kernels, agentId, { graceMs: 0 }).then(isDone, ignoreUnreachable)))
      return
    await outcomes.markFailed(id, attempt, failure)
  }
}

const isDone = () => true

interface FailedStart {
  readonly id: SessionId
  readonly attempt: number
  readonly agentId: AgentId
  readonly aborted: boolean
  readonly kernels: readonly KernelRow[]
}
