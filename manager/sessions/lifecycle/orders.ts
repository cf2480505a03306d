import { type ImageOffer } from '#agent/contract'
import { allDone } from '#base/all-done'
import { type AgentId, AppError, because, type KernelId } from '#manager/contract'
import { type AgentRequests } from '../../agent-link/connection.ts'
import { type SessionTransfers } from '../../images/session-transfers.ts'
import { type Log } from '../../log.ts'
import { type PullSource } from '../../registries/registries.ts'
import { type AgentPresence, type PlacingPresence } from '../../scheduler/snapshot.ts'
import { type Timings } from '../../scheduler/timings.ts'
import { type Store } from '../../store/open-store.ts'
import { type StartFiles } from '../../users/start-files.ts'
import { type KernelSigner } from '../kernel-signature.ts'
import { findGrant } from '../../store/sessions/allocations.ts'
import { type KernelRow, listKernelDevices } from '../../store/sessions/kernels.ts'
import { listSessionFolders } from '../../store/sessions/session-folders.ts'
import { findVariables, type OwnedSessionRow } from '../../store/sessions/sessions.ts'
import { clusterNetworkOf } from '../cluster-network.ts'
import { type KernelParts, kernelSpecOf } from '../kernel-spec.ts'
import { type Outcomes, STARTED } from './outcomes.ts'

export interface OrdersDeps {
  readonly store: Store
  readonly agents: AgentRequests & AgentPresence & Pick<PlacingPresence, 'clusterAddress' | 'restricts'>
  /** The image as the agent takes it from another one, and the transfer while it does. */
  readonly transfers: SessionTransfers
  readonly signer: Pick<KernelSigner, 'sign' | 'clusterSeed'>
  /** Dotfiles and start-up script of the owner. */
  readonly startFiles: Pick<StartFiles, 'of'>
  readonly outcomes: Outcomes
  readonly timings: Pick<Timings, 'preparingMs' | 'pullingMs' | 'replyMarginMs' | 'turnMs'>
  readonly log: Log
}

/** Parts of the orders that no other process changes while the session starts. */
export interface StartFacts extends Omit<KernelParts, 'devices'> {
  readonly devices: ReadonlyMap<KernelId, KernelParts['devices']>
}

export interface OrderOptions {
  readonly agentOf: ReadonlyMap<KernelId, AgentId>
  readonly facts: StartFacts
  readonly startWithinMs: number
  readonly pull: PullSource
  readonly offers: ReadonlyMap<AgentId, ImageOffer>
  readonly signal: AbortSignal
}

export interface Orders {
  /** @throws AppError `agent_unreachable` */
  readonly readFacts: (session: OwnedSessionRow, kernels: readonly KernelRow[]) => Promise<StartFacts>
  /** @throws FailedOn */
  readonly createAll: (session: OwnedSessionRow, kernels: readonly KernelRow[], options: OrderOptions) => Promise<void>
}

/** Makes the orders (create_kernel) for all kernels of a session, signs and sends them, and writes which kernels run. */
export function createOrders(deps: OrdersDeps): Orders {
  const { store, agents, outcomes, timings, log } = deps

  /** Reports of an agent are forgotten when it goes away; the start then waits for it. @throws AppError `agent_unreachable` */
  function requireReady(agentId: AgentId): void {
    if (!agents.isReady(agentId)) throw new AppError('agent_unreachable', { agentId })
  }

  function clusterAddress(agentId: AgentId): string | undefined {
    requireReady(agentId)
    return agents.clusterAddress(agentId)
  }

  /** Reads the parts of the requests that no other process changes while the session starts. */
  async function readFacts(session: OwnedSessionRow, kernels: readonly KernelRow[]): Promise<StartFacts> {
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
  /**
   * Starts all kernels in parallel, each on its agent, on one network. If one fails the others are cancelled. Rejects with the first
   * failure.
   */
  async function createAll(
    session: OwnedSessionRow,
    kernels: readonly KernelRow[],
    options: OrderOptions,
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

  return { readFacts, createAll }
}

/** A kernel could not be started on this agent. */
export class FailedOn extends Error {
  override readonly name = 'FailedOn'
  readonly agentId: AgentId
  constructor(agentId: AgentId, cause: unknown) {
    super('a kernel could not be started', { cause })
    this.agentId = agentId
  }
}
