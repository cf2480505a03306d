import { readFile } from 'node:fs/promises'
import { type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { shareRuns } from '#base/share-runs'
import { type DataHeader, type KernelWarning } from '#agent/contract'
import { type AgentId, type Because, because, createRecentLines } from '#manager/contract'
import { localCores } from './capacity.ts'
import { createCommands } from './commands/commands.ts'
import { type Config } from './config.ts'
import { type Control, startControl } from './control/control.ts'
import { openIdentity } from './control/identity.ts'
import { replacedBy } from './control/replaced-by.ts'
import { lockDirectory } from './directory-lock.ts'
import { createEngineClaim } from './docker/engine-claim.ts'
import { createEngineClient, isEngineUnreachable } from './docker/engine-client.ts'
import { createImageCatalog } from './images/catalog.ts'
import { createAccountsOfImages } from './images/image-accounts.ts'
import { createImageGiver } from './images/give-image.ts'
import { createImageTaker } from './images/take-image.ts'
import { createUnusedImages } from './images/unused-images.ts'
import { bootTime } from './kernel/exit.ts'
import { devicesInUse, imagesInUse } from './kernel/in-use.ts'
import { createKernelManager, type KernelManager } from './kernel/kernel-manager.ts'
import { createKeptLogs } from './kernel/kept-logs.ts'
import { createMemoryKills } from './kernel/memory-kills.ts'
import { createLiveFolders } from './kernel/live-folders.ts'
import { tellTerminals } from './kernel/tell-terminals.ts'
import { leaveHost } from './leaving/leaving.ts'
import { startGuards } from './limits/guards.ts'
import { createLog } from './log.ts'
import { type Isolation } from './network/firewall.ts'
import { runDoctor } from './run-doctor.ts'
import { readInstallation } from './program/installation.ts'
import { openProgramUpdates } from './program/updates.ts'
import { startStats } from './stats/stats.ts'
import { createDataSockets } from './tunnel/data-sockets.ts'
import { createStreams, type Streams } from './tunnel/streams.ts'
import { type EnginePart, startEnginePart } from './wiring/engine-part.ts'
import { openHostPart } from './wiring/host-part.ts'
import { currentReport } from './wiring/report.ts'
import { createRequests } from './wiring/requests.ts'

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
  const engine = createEngineClient(config.dockerHost)
  const claim = createEngineClaim(engine, agentId, config.claimVolume)
  await engine
    .negotiate()
    .then(() => claim.check())
    .catch(unlessAway)
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
  /** Tells the owner of a running kernel, and everybody at its terminals. */
  function warn(code: KernelWarning['code'], kernelId: string, { why: message, ...key }: Because): void {
    const kernel = parts.kernels?.reports().find(one => one.kernelId === kernelId)
    const running = parts.kernels?.find(kernelId)
    if (!kernel || !running) return
    parts.control?.notify({ type: 'kernel_changed', kernel, ageMs: 0, warning: { code, message, ...key } })
    // The timeline has the warning in any case.
    void tellTerminals(engine, running, message).catch(() => undefined)
  }
  const host = stack.use(
    await openHostPart({
      config,
      engine,
      manager: () => identity.manager?.managerId,
      devicesHeld: () => devicesInUse(parts.kernels?.reports() ?? []),
      isEngineUp: () => (parts.engine?.state.reachable ?? false) && (parts.kernels?.known ?? false),
      onChange,
      onGpuFailed({ uuid, model }) {
        const holders = parts.kernels?.running().filter(({ devices: held }) => held.includes(uuid)) ?? []
        for (const { kernelId } of holders) warn('gpu_failed', kernelId, because('gpu_of_session_failed', { model }))
      },
      log,
    }),
  )
  const { networks, clusters, firewall, reach, files, storage, toolbox, devices } = host
  const images = createImageCatalog(engine, onChange)
  const giver = stack.use(createImageGiver(engine, log))
  const taker = stack.use(
    createImageTaker({ engine, directory: config.directory, floorBytes: config.freeSpaceFloorBytes }),
  )
  const kernels = stack.use(
    createKernelManager({
      engine,
      networks,
      clusters,
      reach,
      files,
      storage,
      liveFolders: createLiveFolders({ directory: config.directory, files, storage, onChange, log }),
      toolbox,
      keptLogs: createKeptLogs({ ...config, engine }),
      accounts: createAccountsOfImages(engine, { reader: `berth-accounts-${agentId.slice(-12)}`, log }),
      devices,
      taker,
      trust: identity,
      agentId,
      verifyEngine: holdEngine,
      bootedAtSeconds: bootTime(await readFile('/proc/stat', 'utf8').catch(() => '')),
      cores: await localCores(),
      networksAhead: config.networksAhead,
      onChange(kernel) {
        parts.control?.notify({ type: 'kernel_changed', kernel, ageMs: 0 })
        if (kernel.state.state !== 'running') void parts.streams?.release(kernel.kernelId)
        onChange()
      },
      releaseAddress: async kernelId => await parts.streams?.release(kernelId),
      onRemoved: onChange,
      onPull: (kernelId, progress) => parts.control?.notify({ type: 'pull', kernelId, progress }),
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
    await openProgramUpdates({
      installation,
      allowed: config.updates,
      directory: config.directory,
      onChange,
      log,
    }),
  )
  /** Whether a restart of the agent would cut people off, or repeat a start. */
  const isBusy = () =>
    streams.size > 0 ||
    commands.list({}).commands.some(({ end }) => end === null) ||
    kernels.reports().some(({ state }) => state.state === 'starting')
  const isNewKill = createMemoryKills(() => performance.now())
  function onMemoryKill(kernelId: string): void {
    const kernel = kernels.reports().find(one => one.kernelId === kernelId)
    if (kernel?.state.state !== 'running' || !isNewKill(kernelId)) return
    parts.control?.notify({ type: 'kernel_changed', kernel, ageMs: 0, memoryKill: true })
  }
  const enginePart = stack.use(
    startEnginePart({ engine, host, kernels, images, holdEngine, onChange, onMemoryKill, log }),
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
        program: { ...updates.state(), busy: isBusy() },
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
        const serve = (header: DataHeader, wire: Socket) => {
          if (header.kind === 'take_image') taker.serve(header.transferId, wire)
          else if (header.kind === 'give_image') giver.serve(header.id, wire)
          else streams.serve(header, wire)
        }
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
        notify: message => parts.control?.notify(message),
        doctor: shareRuns(() => runDoctor(dirname(config.directory), config.managerUrl ?? identity.manager?.url)),
        recent,
      }),
      log,
    }),
  )
  parts.control = control
  stack.use(
    startStats({
      engine,
      kernels,
      devices,
      scratchOf: kernelId => files.paths(kernelId).scratch,
      onSample: samples => control.notify({ type: 'stats', kernels: samples }),
    }),
  )
  stack.use(
    startGuards({
      running: () => kernels.running(),
      homeOf: kernelId => files.paths(kernelId).scratch,
      floorBytes: config.freeSpaceFloorBytes,
      limits: config.homeLimits,
      homeLimits: async kernelId => (await files.homeQuota()).unenforced(files.paths(kernelId).scratch),
      stop: (kernelId, why) => kernels.halt(kernelId, why),
      devices,
      guard: config.gpuGuard,
      warn: (kernelId, why) => warn('gpu_warned', kernelId, why),
      log,
    }),
  )
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

/** Ignores an unreachable engine: the agent keeps running and checks until the engine comes back. */
function unlessAway(error: unknown): void {
  if (!isEngineUnreachable(error)) throw error
}
