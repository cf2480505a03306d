import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  type AgentId,
  AppError,
  type Because,
  because,
  createRecentLines,
  type Diagnosis,
  keysOf,
  type PullProgress,
} from '#manager/contract'
import { type KernelReport, KernelLabel, type Report } from '#agent/contract'
import { capacityOf } from './capacity.ts'
import { type Config } from './config.ts'
import { type Control, startControl } from './control/control.ts'
import { openIdentity } from './control/identity.ts'
import { lockDirectory } from './directory-lock.ts'
import { createEngineClaim } from './docker/engine-claim.ts'
import { createEngineDisk } from './faults/engine-disk.ts'
import { createEngineClient, engineMessage, isEngineUnreachable, parseDockerHost } from './docker/engine-client.ts'
import { type EngineWatch, watchEngine } from './docker/engine-watch.ts'
import { openDevices } from './gpu/devices.ts'
import { createNvidiaLimits } from './gpu/memory-limits.ts'
import { createGpuRequests } from './gpu/gpu-requests.ts'
import { createNvidiaGpus, readGpuIndexes } from './gpu/nvidia.ts'
import { createProbe } from './gpu/probe.ts'
import { createSimulatedGpus } from './gpu/simulated.ts'
import { buildImage } from './images/build-image.ts'
import { createImageCatalog } from './images/catalog.ts'
import { pullImage } from './images/pull.ts'
import { pushImage } from './images/push.ts'
import { saveSession } from './images/save-session.ts'
import { createUnusedImages } from './images/unused-images.ts'
import { bootTime } from './kernel/exit.ts'
import { createKernelFiles } from './kernel/kernel-files.ts'
import { createLiveFolders } from './kernel/live-folders.ts'
import { createKernelManager, type KernelManager } from './kernel/kernel-manager.ts'
import { createLog, type Log } from './log.ts'
import { startGuards } from './limits/guards.ts'
import { containerIptables } from './network/container-iptables.ts'
import { type Isolation, startFirewall } from './network/firewall.ts'
import { createDirectoryApart } from './faults/directory-apart.ts'
import { createFreeSpace } from './limits/free-space.ts'
import { createHostFaults } from './faults/host-faults.ts'
import { createOwnDisks } from './faults/own-disks.ts'
import { createTestStart, createTestStarts } from './faults/test-starts.ts'
import { createSessionNetworks } from './network/session-networks.ts'
import { runDoctor } from './run-doctor.ts'
import { startStats } from './stats/stats.ts'
import { createMountedStorage } from './storage/mounted-storage.ts'
import { createToolbox } from './toolbox/toolbox.ts'
import { createDataSockets } from './tunnel/data-sockets.ts'
import { createStreams, type Streams } from './tunnel/streams.ts'
import { version } from './version.ts'

/** Interval between two looks: full comparisons of the agent's kernels and images with the engine. */
const LOOK_AGAIN_MS = 60_000
/** Retry delay after a failed look while the engine is up: nothing can be started until a look succeeds. */
const LOOK_AFTER_FAILURE_MS = 1_000

/** The host's routes come and go without an event, so they are polled. */
const NETWORK_LOOK_MS = 30_000
/** File systems are mounted and unmounted without an event. */
const STORAGE_LOOK_MS = 15_000

export interface Agent {
  readonly agentId: AgentId
  /** Rejects when the agent cannot continue: a manager refused or revoked it, or its engine belongs to another agent. */
  readonly ended: Promise<never>
  /** Looks whether the firewall keeps sessions from this computer and from each other. */
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
  const gpus =
    config.simulatedGpus === undefined
      ? [createNvidiaGpus({ shared: config.sharedGpus })]
      : [createSimulatedGpus(config.simulatedGpus)]
  const parts: { control?: Control; watch?: EngineWatch; kernels?: KernelManager; streams?: Streams } = {}
  const changed = () => parts.control?.changed()
  /**
   * Takes the claim on the engine, or checks it. Two agents on one engine would both give away its resources, so an agent that
   * does not hold the claim stops.
   */
  const holdEngine = async (managerId = identity.manager?.managerId) => {
    if (!managerId) return
    await claim.hold(managerId).catch((error: unknown) => {
      parts.control?.fail(error)
      throw error
    })
  }
  const limits = createNvidiaLimits()
  const networks = createSessionNetworks(engine, { range: config.networkRange, onChange: changed })
  const isLocal = 'socketPath' in parseDockerHost(config.dockerHost)
  const isEngineHere = () => isLocal && !networks.isElsewhere
  const requests = createGpuRequests({ engine, isEngineHere, indexes: readGpuIndexes })
  const toolbox = createToolbox({ engine, image: config.toolboxImage, onChange: changed, log })
  const testStart = createTestStart({ engine, toolbox, image: config.toolboxImage })
  const devices = stack.use(
    await openDevices({
      plugins: gpus,
      limits,
      requests,
      testStart: gpus => testStart({ gpus }),
      probe: createProbe({ engine, limits, requests, image: config.gpuProbeImage }),
      held: () => devicesHeld(parts.kernels?.reports() ?? []),
      // Until the kernels are known, the free resources are unknown.
      isEngineUp: () => (parts.watch?.state.reachable ?? false) && (parts.kernels?.known ?? false),
      onChange: changed,
      log,
    }),
  )
  const images = createImageCatalog(engine, changed)
  const firewall = stack.use(
    startFirewall({
      range: config.networkRange,
      deny: config.networkDeny,
      async checkRange() {
        await networks.checkRange()
        if (networks.isElsewhere) throw new AppError('unavailable', because('engine_elsewhere'))
      },
      // A user of the engine can set rules too, by a container.
      iptables: process.getuid?.() === 0 ? undefined : containerIptables({ engine, image: config.toolboxImage }),
      log,
      onChange: changed,
    }),
  )
  const freeSpace = createFreeSpace({
    path: config.scratchDirectory,
    floorBytes: config.freeSpaceFloorBytes,
    onChange: changed,
  })
  const files = createKernelFiles({ ...config, onShort: () => freeSpace.look() })
  const storage = createMountedStorage(config.storage, changed)
  const faults = createHostFaults([
    createDirectoryApart([config.directory, config.scratchDirectory], changed),
    freeSpace,
    createOwnDisks({ ...config, onChange: changed }),
    createEngineDisk({ engine, floorBytes: config.freeSpaceFloorBytes, onChange: changed }),
    toolbox,
    createTestStarts({ testStart, networks, manager: () => identity.manager?.managerId, onChange: changed }),
  ])
  const kernels = stack.use(
    createKernelManager({
      engine,
      networks,
      files,
      storage,
      liveFolders: createLiveFolders({ directory: config.directory, files, storage, onChange: changed, log }),
      toolbox,
      devices,
      trust: identity,
      agentId,
      verifyEngine: holdEngine,
      bootedAtSeconds: bootTime(await readFile('/proc/stat', 'utf8').catch(() => '')),
      cores: await localCores(),
      networksAhead: config.networksAhead,
      onChange(kernel) {
        parts.control?.notify({ type: 'kernel_changed', kernel, ageMs: 0 })
        if (kernel.state.state !== 'running') void parts.streams?.release(kernel.kernelId)
        changed()
      },
      releaseAddress: async kernelId => await parts.streams?.release(kernelId),
      onRemoved: changed,
      onPull: (kernelId, progress) => parts.control?.notify({ type: 'pull', kernelId, progress }),
      log,
    }),
  )
  parts.kernels = kernels
  const unused = createUnusedImages({ engine, starting: () => imagesBeingUsed(kernels.reports()) })
  // Tunnels outlive the connection over which they were requested.
  const streams = stack.use(
    createStreams({
      kernels,
      docker: engine.streams,
      isElsewhere: () => networks.isElsewhere,
      directKey: config.directKey,
      log,
    }),
  )
  parts.streams = streams
  const look = serialize(async () => {
    if (!parts.watch?.state.reachable) return
    // This comes first: containers on another agent's engine are not ours to clean up.
    await holdEngine()
    await Promise.all([kernels.rescan(parts.watch.state), images.refresh()])
    changed()
  })
  const watch = stack.use(
    watchEngine({
      engine,
      log,
      onUp: async () => {
        await Promise.all([firewall.apply(), look(), networks.look()])
        await devices.engineCameUp()
        // A fault of the engine may be over now.
        void faults.look()
        // Prepare the toolbox before the first session needs it; a failure is reported as a problem of the host.
        toolbox.volume().catch(() => undefined)
      },
      onDown() {
        kernels.engineWentAway()
        changed()
      },
      onEvent(event) {
        if (event.type === 'kernel') kernels.containerChanged(event.kernelId)
        else {
          images.refresh().catch((error: unknown) => complain(log, error))
          // The toolbox may have been built, or loaded.
          void toolbox.look()
        }
      },
    }),
  )
  parts.watch = watch
  const lookAgain = () => void look().catch((error: unknown) => complain(log, error))
  const timers = [
    setInterval(lookAgain, LOOK_AGAIN_MS),
    setInterval(() => (watch.state.reachable ? void networks.look() : undefined), NETWORK_LOOK_MS),
    setInterval(() => void storage.look(), STORAGE_LOOK_MS),
    setInterval(() => void faults.look(), STORAGE_LOOK_MS),
    setInterval(() => (kernels.overdue ? lookAgain() : undefined), LOOK_AFTER_FAILURE_MS),
  ]
  stack.defer(() => timers.forEach(timer => clearInterval(timer)))

  const report = (): Omit<Report, 'type' | 'sequence' | 'clockMs'> => ({
    version,
    // While the engine is away, the last known state is still reported, but marked as not reachable.
    engine: { version: watch.state.version, reachable: watch.state.reachable && kernels.known },
    capacity: capacityOf(watch.state),
    devices: devices.list(),
    deviceFigures: [...devices.figures()],
    images: [...images.images],
    kernels: kernels.reports(),
    network: networkReport(firewall.state, networks.problem),
    host: hostReport(faults.problem),
    storage: [...storage.markers],
  })
  let diagnosing: Promise<Diagnosis> | undefined
  const control = stack.use(
    startControl({
      identity,
      name: config.name,
      managerUrl: config.managerUrl,
      invitation: config.invitation,
      report,
      onHeard({ engine: { reachable }, kernels: told }, { sentAt, started }) {
        // While its engine is away, an agent's report of containers counts only for kernels the manager already knew to run.
        kernels.heard(reachable ? told : told.filter(({ kernelId }) => started.includes(kernelId)), sentAt)
      },
      claim: managerId => holdEngine(managerId).catch(unlessAway),
      async onWelcome({ managerId, dataToken, parkedSockets }, { url, fingerprint, proven, dial }) {
        kernels.serve(managerId)
        // Wait, so that the first report does not say "engine away" only because the engine has not been asked yet.
        await watch.settled
        await Promise.all([look().catch((error: unknown) => complain(log, error)), storage.look(), freeSpace.look()])
        const serve = streams.serve.bind(streams)
        const manager = { managerUrl: url, fingerprint, proven, dial, dataToken }
        return createDataSockets({ ...manager, count: parkedSockets, serve, log })
      },
      handlers: {
        create_kernel: ({ spec, ...options }, signal) =>
          kernels.create(spec, { ...options, signal }).catch(async (error: unknown) => {
            throw await devices.told(spec, await faults.told(error))
          }),
        destroy_kernel: ({ kernelId, graceMs, attempt, keepFilesMs }) =>
          kernels.destroy(kernelId, graceMs, attempt, keepFilesMs),
        async warn_kernel({ kernelId, at }) {
          await kernels.warn(kernelId, at)
          return {}
        },
        async mount_folder({ kernelId, folder }) {
          await kernels.mountFolder(kernelId, folder)
          return {}
        },
        async unmount_folder({ kernelId, folder, force }) {
          await kernels.unmountFolder(kernelId, folder, force)
          return {}
        },
        get_ssh: ({ kernelId }) => kernels.ssh(kernelId),
        async start_app({ kernelId, app, timeoutMs, options }) {
          const { inject } = await kernels.ensureApp(kernelId, app, { timeoutMs, options })
          return { inject }
        },
        async list_kernels() {
          await look()
          if (!watch.state.reachable || !kernels.known) throw new AppError('engine_unreachable')
          return { kernels: kernels.reports() }
        },
        set_device_modes({ modes }) {
          devices.setModes(modes)
          return Promise.resolve({})
        },
        get_logs: ({ kernelId, tail, timestamps }) => kernels.logs(kernelId, tail, timestamps),
        async pull_image({ reference, pullId, auth }, signal) {
          const onProgress = (progress: PullProgress) =>
            pullId === undefined ? undefined : parts.control?.notify({ type: 'image_pull', pullId, progress })
          const { id } = await pullImage(engine, reference, { signal, auth, onProgress })
          return { id }
        },
        async save_kernel({ kernelId, reference, title, madeBy, saveId: pullId }, signal) {
          const kernel = kernels.find(kernelId)
          if (!kernel) throw new AppError('kernel_not_found', { kernelId })
          const onProgress = (progress: PullProgress) => parts.control?.notify({ type: 'image_pull', pullId, progress })
          const { containerId } = kernel
          const saved = await saveSession(engine, { containerId, reference, title, madeBy }, { signal, onProgress })
          await images.refresh()
          return saved
        },
        async push_image({ pushId: pullId, ...image }, signal) {
          const onProgress = (progress: PullProgress) => parts.control?.notify({ type: 'image_pull', pullId, progress })
          await pushImage(engine, image, { signal, onProgress })
          await images.refresh()
          return {}
        },
        async build_image({ buildId, ...recipe }, signal) {
          const onLog = (text: string) => parts.control?.notify({ type: 'build_log', buildId, text })
          const made = await buildImage(engine, recipe, { signal, onLog })
          await images.refresh()
          return made
        },
        list_unused_images: () => unused.list(),
        remove_images: input => unused.remove(input),
        async diagnose() {
          diagnosing ??= runDoctor(dirname(config.directory), config.managerUrl ?? identity.manager?.url).finally(
            () => (diagnosing = undefined),
          )
          return { diagnosis: await diagnosing, log: recent.list() }
        },
      },
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

/**
 * Id of the agent that this one replaces; undefined if it replaces none. A replacement must be confirmed in two places: by the
 * join string, which an admin made for that purpose, and by the setting `--replace` where the agent is started.
 * @throws `config_invalid` if only one of the two asks for a replacement
 */
function replacedBy({ replace, invitation }: Config): AgentId | undefined {
  const { replaces } = invitation ?? {}
  if (replaces !== undefined && !replace) {
    throw new AppError('config_invalid', {
      why: `This join string replaces agent ${replaces}: add --replace.`,
    })
  }
  if (replace && invitation && replaces === undefined) {
    throw new AppError('config_invalid', {
      why: '--replace needs a join string made for that: berth admin agent join-token --replace AGENT.',
    })
  }
  return replaces
}

/** Ids and names of the images from which containers are being created. */
function imagesBeingUsed(reports: readonly KernelReport[]): Set<string> {
  const labels = reports.filter(({ state }) => state.state === 'starting').map(({ label }) => KernelLabel.parse(label))
  return new Set(labels.flatMap(({ image }) => [image.digest, image.reference]))
}

/** Devices held by kernels, including kernels that have ended but are not removed yet. */
function devicesHeld(reports: readonly KernelReport[]): Set<string> {
  return new Set(reports.flatMap(({ label }) => KernelLabel.parse(label).devices.map(({ uuid }) => uuid)))
}

/** Ignores an unreachable engine: the agent keeps running and looks for it until it comes back. */
function unlessAway(error: unknown): void {
  if (!isEngineUnreachable(error)) throw error
}

function complain(log: Log, error: unknown): void {
  if (!isEngineUnreachable(error))
    log.error({ why: engineMessage(error), err: error }, 'the state of the engine could not be read')
}

/** Number of cores of this machine; undefined unless they are numbered from 0 without gaps. */
async function localCores(): Promise<number | undefined> {
  const online = (await readFile('/sys/devices/system/cpu/online', 'utf8').catch(() => '')).trim()
  const match = /^0(?:-(\d+))?$/.exec(online)
  return match ? Number(match[1] ?? 0) + 1 : undefined
}

/** Runs one call at a time. Calls made during a run wait for one further run, which they share. */
function serialize(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  return () => {
    waiting ??= running
      .catch(() => undefined)
      .then(() => {
        waiting = undefined
        running = work()
        return running
      })
    return waiting
  }
}

function networkReport({ isolation, reason }: Isolation, problem: Because | null): Report['network'] {
  return {
    isolation,
    reason: reason?.why ?? null,
    ...(reason && { reasonBy: keysOf(reason) }),
    problem: problem?.why ?? null,
    ...(problem && { problemBy: keysOf(problem) }),
  }
}

function hostReport(problem: Because | null): Report['host'] {
  return { problem: problem?.why ?? null, ...(problem && { problemBy: keysOf(problem) }) }
}
