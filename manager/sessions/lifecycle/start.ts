import { isDeepStrictEqual } from 'node:util'
import { type ImageOffer } from '#agent/contract'
import { allDone } from '#base/all-done'
import {
  type AgentId,
  AppError,
  because,
  isAppError,
  isFinished,
  type KernelId,
  type Reason,
  type SessionId,
} from '#manager/contract'
import { type AgentRequests } from '../../agent-link/connection.ts'
import { toApp } from '../../images/apps.ts'
import { type SessionTransfers } from '../../images/session-transfers.ts'
import { type Log } from '../../log.ts'
import { type PullSource, type Registries } from '../../registries/registries.ts'
import { type AgentPresence, type PlacingPresence } from '../../scheduler/snapshot.ts'
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
import { clusterNetworkOf } from '../cluster-network.ts'
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
  readonly agents: AgentRequests & AgentPresence & Pick<PlacingPresence, 'clusterAddress' | 'restricts'>
  /** The data an agent needs to pull an image that it does not hold. */
  readonly pullOf: Registries['pullOf']
  /** The image as the agent takes it from another one, and the transfer while it does. */
  readonly transfers: SessionTransfers
  readonly signer: Pick<KernelSigner, 'sign' | 'clusterSeed'>
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

  /** Reports of an agent are forgotten when it goes away; the start then waits for it. @throws AppError `agent_unreachable` */
  function requireReady(agentId: AgentId): void {
    if (!agents.isReady(agentId)) throw new AppError('agent_unreachable', { agentId })
  }

  function clusterAddress(agentId: AgentId): string | undefined {
    requireReady(agentId)
    return agents.clusterAddress(agentId)
  }

  /** Reads the parts of the requests that no other process changes while the session starts. */
  async function readFacts(session: OwnedSessionRow, kernels: readonly KernelRow[]) {
    const [held, foldersOf, startFiles, environ, grant, cluster] = await allDone([
      listKernelDevices(
        store.db,
        kernels.map(kernel => kernel.id),
      ),
      listSessionFolders(store.db, [session.id]),
      deps.startFiles.of(session),
      findVariables(store.db, session.id),
      findGrant(store.db, session.id),
      Promise.resolve(clusterNetworkOf(session, kernels, { clusterAddress })),
    ])
    const devices = Map.groupBy(held, device => device.kernel_id)
    return { devices, environ, folders: foldersOf.get(session.id) ?? [], startFiles, grant, cluster }
  }
  type StartFacts = Awaited<ReturnType<typeof readFacts>>

  /**
   * Starts all kernels in parallel, each on its agent, on one network. If one fails the others are cancelled. Rejects with the first
   * failure.
   */
  async function createAll(
    session: OwnedSessionRow,
    kernels: readonly KernelRow[],
    options: {
      agentOf: ReadonlyMap<KernelId, AgentId>
      facts: StartFacts
      startWithinMs: number
      pull: PullSource
      offers: ReadonlyMap<AgentId, ImageOffer>
      signal: AbortSignal
    },
  ): Promise<void> {
    const { agentOf, startWithinMs, pull, offers } = options
    const { devices, ...parts } = options.facts
    const failed = new AbortController()
    // The start may be queued on the agent. The deadline checks find a start that waits too long, or in vain.
    const timeoutMs = startWithinMs + timings.replyMarginMs + timings.turnMs
    const sending = { timeoutMs, signal: AbortSignal.any([options.signal, failed.signal]) }
    async function createOne(kernel: KernelRow, agentId: AgentId): Promise<void> {
      const unsigned = kernelSpecOf(
        session,
        kernel,
        { ...parts, devices: devices.get(kernel.id) ?? [] },
        pull.manifestDigest,
      )
      // An agent of an earlier version does not know the field: it would give the session its host's network.
      if (unsigned.allowedNames && !agents.restricts(agentId)) {
        requireReady(agentId)
        throw new AppError('network_not_enforceable', because('host_does_not_restrict'))
      }
      const isOnly = session.cluster_size === 1
      const spec = {
        ...unsigned,
        ...(isOnly ? {} : { clusterSeed: deps.signer.clusterSeed(session.id, session.attempt) }),
        managerSignature: deps.signer.sign(unsigned, agentId),
      }
      const { preparingMs: prepareWithinMs } = timings
      const offer = offers.get(agentId)
      // An older agent does not know offers, and asks the registry.
      const source = { ...(offer ? { offer } : {}), ...(pull.auth ? { registryAuth: pull.auth } : {}) }
      const input = { spec, startWithinMs, prepareWithinMs, ...source }
      const { containerId } = await agents.request(agentId, 'create_kernel', input, sending)
      const started = { containerId, kernelId: kernel.id, attempt: kernel.attempt, reason: STARTED, isOnly }
      // The kernel runs even if that cannot be written now: its agent repeats it in the next report.
      await outcomes.markRunning(session.id, started).catch((error: unknown) => {
        log.error({ err: error, id: session.id }, 'that a session runs could not be written')
      })
    }
    const createOn = async (agentId: AgentId, own: readonly KernelRow[]) => {
      await Promise.all(
        own.map(kernel =>
          createOne(kernel, agentId).catch((error: unknown) => failed.abort(new FailedOn(agentId, error))),
        ),
      )
    }
    const kernelsOn = Map.groupBy(kernels, kernel => agentOf.get(kernel.id))
    await Promise.all(
      Array.from(kernelsOn, ([agentId, own]) => {
        if (agentId === undefined) throw new Error(`kernel ${own.map(({ id }) => id).join()} has no agent`)
        const offer = offers.get(agentId)
        const create = () => createOn(agentId, own)
        // An agent that has the image is joined with no giver any more while the others still take theirs.
        return offer ? deps.transfers.during(offer, agentId, create) : create()
      }),
    )
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

/** A kernel could not be started on this agent. */
class FailedOn extends Error {
  override readonly name = 'FailedOn'
  readonly agentId: AgentId
  constructor(agentId: AgentId, cause: unknown) {
    super('a kernel could not be started', { cause })
    this.agentId = agentId
  }
}

interface FailedStart {
  readonly id: SessionId
  readonly attempt: number
  readonly mainAgent: AgentId
  readonly aborted: boolean
  readonly kernels: readonly KernelRow[]
}
