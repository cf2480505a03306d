import { isDeepStrictEqual } from 'node:util'
import { allDone } from '#base/all-done'
import { type AgentId, isAppError, isFinished, type Reason, type SessionId } from '#manager/contract'
import { toApp } from '../../images/apps.ts'
import { type Registries } from '../../registries/registries.ts'
import { findAgent } from '../../store/agents/agents.ts'
import { findHeldImage } from '../../store/images/images.ts'
import { type KernelRow, listKernels, updateKernel } from '../../store/sessions/kernels.ts'
import { findSession, type OwnedSessionRow, setDescription } from '../../store/sessions/sessions.ts'
import { type SessionChanges } from '../changes.ts'
import { sharedMemoryOf } from '../resolve-spec.ts'
import { isStarting } from '../transition.ts'
import { type Destroys } from './destroys.ts'
import { failureOn, ignoreUnreachable, isUnreachable } from './failure.ts'
import { createOrders, FailedOn, type OrdersDeps } from './orders.ts'
import { type StartsInFlight } from './starts-in-flight.ts'

/** The reason text of a session while its agent prepares it. */
export const PREPARING = 'The host is preparing the container.'

export interface StartDeps extends OrdersDeps {
  readonly changes: SessionChanges
  /** The data an agent needs to pull an image that it does not hold. */
  readonly pullOf: Registries['pullOf']
  readonly starts: StartsInFlight
  readonly destroys: Destroys
  readonly isClosed: () => boolean
}

/** @returns a function that sends create_kernel for all kernels of a placed session, and writes the outcome */
export function createStart(deps: StartDeps) {
  const { store, changes, agents, starts, destroys, outcomes, timings, log } = deps
  const { readFacts, createAll } = createOrders(deps)

  return async function start(id: SessionId): Promise<void> {
    const [found, all] = await allDone([findSession(store.db, id), listKernels(store.db, [id])])
    if (!found || !isStarting(found.status)) return
    // Kernels that have finished while others of the session still start are not started again.
    const kernels = all.filter(kernel => !isFinished(kernel.status))
    const agentOf = new Map(kernels.flatMap(({ id: kernelId, agent_id: on }) => (on === null ? [] : [[kernelId, on]])))
    const agentIds = [...new Set(agentOf.values())]
    const [mainAgent] = agentIds
    // All kernels or none: a host that is away keeps the others waiting.
    if (!mainAgent || agentOf.size < kernels.length || !agentIds.every(agentId => agents.isReady(agentId))) return
    if (kernels.some(kernel => starts.of(kernel.id))) return
    const attempt = found.attempt
    const inFlight = starts.begin(agentOf, attempt)
    const { signal } = inFlight.controller
    try {
      await Promise.allSettled(Array.from(agentOf, async ([kernelId, agentId]) => destroys.inFlight(agentId, kernelId)))
      const { held: heldByMain, session } = await asHeldBy(mainAgent, found)
      const others = agentIds.slice(1)
      const heldByOthers = await allDone(others.map(agentId => holdsImage(agentId, found)))
      const lacking = [...(heldByMain ? [] : [mainAgent]), ...others.filter((_, index) => !heldByOthers[index])]
      const held = lacking.length === 0
      // An agent that holds the image gets the time of PREPARING; a pull needs its own time on top.
      const startWithinMs = held ? timings.preparingMs : timings.preparingMs + timings.pullingMs
      const pull = held ? {} : await deps.pullOf(session.image, session.image_digest)
      const isOffered = 'manifestDigest' in pull && pull.manifestDigest !== undefined
      const offers = await offersFor(session, lacking, isOffered)
      // The agent's time begins later than ours, when it receives the request; hence the margin.
      const withMarginMs = startWithinMs + timings.replyMarginMs
      const [maySend, facts] = await allDone([markPreparing(id, attempt, withMarginMs), readFacts(session, kernels)])
      if (!maySend) return
      // The request is sent again after a restart, and the agent's time begins again.
      if (found.status !== 'SCHEDULED')
        for (const kernel of kernels) await updateKernel(store.db, kernel.id, { startWithinMs: withMarginMs })
      await createAll(session, kernels, { agentOf, facts, startWithinMs, pull, offers, signal })
    } catch (error) {
      await onFailed(error, { id, attempt, mainAgent, aborted: signal.aborted, kernels })
    } finally {
      inFlight.end()
    }
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

  /** The image as each of these agents takes it from another one; an agent without one takes it from its registry. */
  async function offersFor(session: OwnedSessionRow, agentIds: readonly AgentId[], isOffered: boolean) {
    const offers = await allDone(
      agentIds.map(async agentId => [agentId, await deps.transfers.offerFor(session, { agentId, isOffered })] as const),
    )
    return new Map(offers.flatMap(([agentId, offer]) => (offer ? [[agentId, offer] as const] : [])))
  }

  async function holdsImage(agentId: AgentId, { image_digest: digest }: OwnedSessionRow): Promise<boolean> {
    return digest !== null && (await findHeldImage(store.db, agentId, digest)) !== undefined
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

  async function onFailed(thrown: unknown, { id, attempt, mainAgent, aborted, kernels }: FailedStart): Promise<void> {
    const [error, agentId] = thrown instanceof FailedOn ? [thrown.cause, thrown.agentId] : [thrown, mainAgent]
    // The caller that aborted the start also decides about the session.
    if (aborted || deps.isClosed()) return
    // The agent may have started it although the reply was lost: its next report shows it, or the deadline decides.
    if (isUnreachable(error)) return
    if (!isAppError(error)) log.error({ err: error, id }, 'create_kernel failed unexpectedly')
    const agent = await findAgent(store.db, agentId)
    const failure = { ...failureOn(agent?.name ?? agentId, error), agentId }
    // All or none: kernels that did start are destroyed before any kernel of the session may start elsewhere.
    if (kernels.length > 1 && !(await destroys.all(kernels, { graceMs: 0 }).then(isDone, ignoreUnreachable))) return
    await outcomes.markFailed(id, attempt, failure)
  }
}

const isDone = () => true

interface FailedStart {
  readonly id: SessionId
  readonly attempt: number
  readonly mainAgent: AgentId
  readonly aborted: boolean
  readonly kernels: readonly KernelRow[]
}
