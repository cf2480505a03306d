import { type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { shareRuns } from '#base/share-runs'
import { type DataHeader, type FromAgent } from '#agent/contract'
import { type AgentId, createRecentLines } from '#manager/contract'
import { type Commands, createCommands } from './commands/commands.ts'
import { type Config } from './config.ts'
import { type Control, startControl } from './control/control.ts'
import { openIdentity } from './control/identity.ts'
import { replacedBy } from './control/replaced-by.ts'
import { lockDirectory } from './directory-lock.ts'
import { createEngineClaim, type EngineClaim } from './docker/engine-claim.ts'
import { createEngineClient, type EngineClient, isEngineUnreachable } from './docker/engine-client.ts'
import { createImageCatalog } from './images/catalog.ts'
import { createImageGiver, type ImageGiver } from './images/give-image.ts'
import { createImageTaker, type ImageTaker } from './images/take-image.ts'
import { createUnusedImages } from './images/unused-images.ts'
import { devicesInUse, imagesInUse } from './kernel/in-use.ts'
import { type KernelManager } from './kernel/kernel-manager.ts'
import { leaveHost } from './leaving/leaving.ts'
import { createLog } from './log.ts'
import { type Isolation } from './network/firewall.ts'
import { runDoctor } from './run-doctor.ts'
import { readInstallation } from './program/installation.ts'
import { openProgramUpdates } from './program/updates.ts'
import { createDataSockets } from './tunnel/data-sockets.ts'
import { createStreams, type Streams } from './tunnel/streams.ts'
import { type EnginePart, startEnginePart } from './wiring/engine-part.ts'
import { openHostPart } from './wiring/host-part.ts'
import { createKernelNews } from './wiring/kernel-news.ts'
import { createKernelsPart } from './wiring/kernels-part.ts'
import { currentReport } from './wiring/report.ts'
import { createRequests } from './wiring/requests.ts'
import { startWatchesPart } from './wiring/watches-part.ts'

export interface Agent {
  readonly agentId: AgentId
  /** Rejects when the agent cannot continue: a manager refused or revoked it, or its engine belongs to another agent. */
  readonly ended: Promise<never>
  /** Checks whether the firewall isolates sessions from this computer and from each other. */
  isolation(): Promise<Isolation>
}

/**
 * Opens everything; resolves when a manager has accepted this agent and has its first report. Everything that was opened is
 * closed in reverse order, also after a failed start. Sessions keep running.
 *
 * @throws `data_dir_locked`, `engine_already_managed`, `join_token_invalid`, `agent_revoked`, `config_invalid`
 */
export async function startAgent(config: Config): Promise<Agent & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const recent = createRecentLines()
  const log = createLog(config.logLevel, recent)
  stack.use(await lockDirectory(config.directory))
  const { agentId: given, managerKey } = config.invitation ?? {}
  const identity = await openIdentity(config.directory, { replaces: replacedBy(config), given, managerKey })
  const { agentId } = identity
  const { engine, claim } = await openEngine(config, agentId)
  const parts: { control?: Control; engine?: EnginePart; kernels?: KernelManager; streams?: Streams } = {}
  const onChange = () => parts.control?.changed()
  /**
   * Claims the engine, or checks the claim. Two agents on one engine would both give away its resources, so an agent without the claim
   * stops.
   */
  const holdEngine = async (managerId = identity.manager?.managerId) => {
    if (!managerId) return
    await claim.hold(managerId).catch((error: unknown) => {
      parts.control?.fail(error)
      throw error
    })
  }
  const notify = (message: FromAgent) => parts.control?.notify(message)
  const news = createKernelNews({ engine, kernels: () => parts.kernels, notify })
  const host = stack.use(
    await openHostPart({
      config,
      engine,
      manager: () => identity.manager?.managerId,
      devicesHeld: () => devicesInUse(parts.kernels?.reports() ?? []),
      isEngineUp: () => (parts.engine?.state.reachable ?? false) && (parts.kernels?.known ?? false),
      onChange,
      onGpuFailed: news.gpuFailed,
      log,
    }),
  )
  const { networks, firewall, files, storage } = host
  const images = createImageCatalog(engine, onChange)
  const giver = stack.use(createImageGiver(engine, log))
  const taker = stack.use(
    createImageTaker({ engine, directory: config.directory, floorBytes: config.freeSpaceFloorBytes }),
  )
  const kernels = stack.use(
    await createKernelsPart({
      config,
      engine,
      host,
      identity,
      taker,
      holdEngine,
      notify,
      releaseAddress: async kernelId => await parts.streams?.release(kernelId),
      onChange,
      log,
    }),
  )
  parts.kernels = kernels
  const commands = stack.use(createCommands({ kernels, docker: engine.streams, log }))
  // Tunnels outlive the connection over which they were requested.
  const streams = stack.use(
    createStreams({
      kernels,
      commands,
      docker: engine.streams,
      isElsewhere: () => networks.isElsewhere,
      directKey: config.directKey,
      log,
    }),
  )
  parts.streams = streams
  const installation = readInstallation(join(import.meta.dirname, '..'), config.isService)
  const updates = stack.use(
    await openProgramUpdates({ installation, allowed: config.updates, directory: config.directory, onChange, log }),
  )
  const enginePart = stack.use(
    startEnginePart({
      engine,
      host,
      kernels,
      images,
      holdEngine,
      onChange,
      onMemoryKill: news.memoryKill,
      log,
    }),
  )
  parts.engine = enginePart
  const control = stack.use(
    startControl({
      identity,
      name: config.name,
      managerUrl: config.managerUrl,
      invitation: config.invitation,
      report: () => ({
        ...currentReport({ engine: enginePart, host, kernels, images, emulated: config.emulated }),
        program: { ...updates.state(), busy: isBusy({ streams, commands, kernels }) },
      }),
      onHeard({ engine: { reachable }, kernels: told }, { sentAt, started }) {
        // While its engine is away, an agent's report of containers counts only for kernels that the manager already knew to run.
        kernels.heard(reachable ? told : told.filter(({ kernelId }) => started.includes(kernelId)), sentAt)
      },
      claim: managerId => holdEngine(managerId).catch(unlessAway),
      async onWelcome({ managerId, dataToken, parkedSockets }, { url, fingerprint, proven, dial }) {
        kernels.serve(managerId)
        // Wait, so that the first report does not say "engine away" only because the engine has not been asked yet.
        await enginePart.settled
        await Promise.all([enginePart.tryCheck(), storage.check(), host.freeSpace.check()])
        const serve = serveBy({ taker, giver, streams })
        const manager = { managerUrl: url, fingerprint, proven, dial, dataToken }
        return createDataSockets({ ...manager, count: parkedSockets, serve, log })
      },
      handlers: createRequests({
        engine,
        enginePart,
        host,
        kernels,
        commands,
        updates,
        leave: wanted => leaveHost(wanted, { installation, config, containers: () => kernels.reports().length }),
        images,
        taker,
        unused: createUnusedImages({ engine, starting: () => imagesInUse(kernels.reports()) }),
        notify,
        doctor: shareRuns(() => runDoctor(dirname(config.directory), config.managerUrl ?? identity.manager?.url)),
        recent,
      }),
      log,
    }),
  )
  parts.control = control
  stack.use(startWatchesPart({ config, engine, host, kernels, notify, warn: news.warn, log }))
  const { kind, why } = await files.homeQuota()
  log.info({ kind, why }, 'limit of homes')
  await control.ready
  const opened = stack.move()
  return {
    agentId,
    ended: control.ended,
    async isolation() {
      await firewall.apply()
      return firewall.state
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The engine, and this agent's claim of it, which is checked unless the engine is away. @throws `engine_already_managed` */
async function openEngine(config: Config, agentId: AgentId): Promise<{ engine: EngineClient; claim: EngineClaim }> {
  const engine = createEngineClient(config.dockerHost)
  const claim = createEngineClaim(engine, agentId, config.claimVolume)
  await engine
    .negotiate()
    .then(() => claim.check())
    .catch(unlessAway)
  return { engine, claim }
}

interface Busy {
  readonly streams: Streams
  readonly commands: Commands
  readonly kernels: KernelManager
}

/** Whether a restart of the agent would cut people off, or repeat a start. */
function isBusy({ streams, commands, kernels }: Busy): boolean {
  return (
    streams.size > 0 ||
    commands.list({}).commands.some(({ end }) => end === null) ||
    kernels.reports().some(({ state }) => state.state === 'starting')
  )
}

interface DataServers {
  readonly taker: ImageTaker
  readonly giver: ImageGiver
  readonly streams: Streams
}

/** @returns serves a raw socket by the part that its header names */
function serveBy({ taker, giver, streams }: DataServers): (header: DataHeader, wire: Socket) => void {
  return (header, wire) => {
    if (header.kind === 'take_image') taker.serve(header.transferId, wire)
    else if (header.kind === 'give_image') giver.serve(header.id, wire)
    else streams.serve(header, wire)
  }
}

/** Ignores an unreachable engine: the agent keeps running and checks until the engine comes back. */
function unlessAway(error: unknown): void {
  if (!isEngineUnreachable(error)) throw error
}
