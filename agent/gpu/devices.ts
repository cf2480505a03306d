import { isDeepStrictEqual } from 'node:util'
import { type KernelSpec } from '#agent/contract'
import { AppError, because, type Device, type DeviceFigures, isAppError, type SettableMode } from '#manager/contract'
import { gpusOf } from '../docker/container-config.ts'
import { engineMessage } from '../docker/engine-client.ts'
import { type GpuRequest } from '../docker/gpu-request.ts'
import { type GpuShare } from '../docker/share-environment.ts'
import { hasCause } from '../has-cause.ts'
import { type Log } from '../log.ts'
import { type DeviceState, isGuardable, isMeasured, toDevice, type WatchedShares } from './device-view.ts'
import { createEngineOffers, type Entry } from './engine-offers.ts'
import { createFailureNotes } from './failure-notes.ts'
import { type GpuGuardMode } from './gpu-guard-mode.ts'
import { type FoundGpu, type GpuPlugin, type GpuProcess } from './gpu-plugin.ts'
import { createShareProbes } from './share-probes.ts'

/** The GPUs of this host: their properties, how they are given out, and whether limits on their parts are enforced. */
export interface Devices extends AsyncDisposable {
  list(): Device[]
  /** Last known statistics. */
  figures(): readonly DeviceFigures[]
  measure(signal: AbortSignal): Promise<readonly DeviceFigures[]>
  /** Processes on these devices; a device is missing if nothing lists its processes. */
  processes(uuids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly GpuProcess[]>>
  setModes(modes: Readonly<Record<string, SettableMode>>): void
  /** UUIDs of shared GPUs on which the driver does not limit sessions to their shares, so that the agent has to watch and can. */
  guarded(): string[]
  /** Records what the watch of a GPU's shares found; it counts for the class of the device, and for its warning. */
  noteShares(uuid: string, found: WatchedShares): void
  /** Call it when the engine is available (again): limits verified earlier no longer count, and the engine may offer other GPUs. */
  engineCameUp(): Promise<void>
  /** How to request the GPUs of this kernel from the engine, looked up for each start. @throws `kernel_create_failed` if there is no way */
  request(spec: Pick<KernelSpec, 'devices'>): Promise<GpuRequest>
  /** Parts of GPUs in the mode `shared` that the kernel holds. */
  sharesOf(spec: Pick<KernelSpec, 'devices'>): GpuShare[]
  /** Resolves when no probe runs on the GPUs of this kernel any more; await it before the container is created. */
  settled(spec: Pick<KernelSpec, 'devices'>): Promise<void>
  /**
   * Limits a newly started container to its parts of the GPUs, if such limits were seen to work.
   *
   * @param hasEnded called if the limit cannot be set: a container that has ended on its own needs none
   *
   * @throws `kernel_create_failed`
   */
  limit(spec: Pick<KernelSpec, 'devices'>, pid: number, hasEnded?: () => Promise<boolean>): Promise<void>
  /**
   * Explains the error of a start: if a GPU of the kernel is at fault, returns an error that tells the owner. The driver's message proves
   * nothing, because an image can also cause it, for example one that needs a newer driver; so the agent checks the GPUs, and starts a
   * container of its own with each.
   */
  told(spec: Pick<KernelSpec, 'devices'>, error: unknown): Promise<unknown>
}

export interface DevicesDeps {
  readonly plugins: readonly GpuPlugin[]
  /** Starts a container of the agent's own with GPUs. @returns the refusal of the engine in its words; null if it started */
  readonly testStart: (gpus: GpuRequest) => Promise<string | null>
  /** UUIDs held by kernels, including kernels that are being started. */
  readonly held: () => ReadonlySet<string>
  readonly isEngineUp: () => boolean
  /** Reaction of the agent to sessions that use more than their share. */
  readonly guard: GpuGuardMode
  /** Whether the engine's processes are those of this host: the guard sees no others. */
  readonly seesProcesses: () => boolean
  readonly onChange: () => void
  /** Called once when a GPU that kernels hold has stopped working as it should. */
  readonly onFailed: (gpu: Pick<FoundGpu, 'uuid' | 'model'>) => void
  readonly log: Log
  readonly checkEveryMs?: number
}

const CHECK_EVERY_MS = 10_000
/** Causes of failed starts that may result from a failed GPU. */
const MAY_BE_GPU = hasCause('docker_not_started', 'docker_says', 'gpu_limit_not_set', 'gpu_not_checked')
/** Shares of a whole GPU, in hundredths. */
const SHARES = 100
/** Step in which memory that belongs to no process is told: each other figure is a report to the managers. */
const UNATTRIBUTED_STEP = 2 ** 30

/** @throws `config_invalid` */
export async function openDevices(deps: DevicesDeps): Promise<Devices> {
  const { plugins, log, onChange } = deps
  let entries: readonly Entry[] = []
  let seen: readonly DeviceFigures[] = []
  let modes: Readonly<Record<string, SettableMode>> = {}
  const watched = new Map<string, WatchedShares>()
  const noteFailures = createFailureNotes(deps)
  const stop = new AbortController()
  const offers = createEngineOffers(deps)
  const modeOf = ({ uuid, mode }: FoundGpu) => (mode === 'mig' ? mode : (modes[uuid] ?? mode))
  const problemOf = ({ uuid, problem }: FoundGpu) =>
    problem ?? offers.withheld.get(uuid) ?? offers.refused.get(uuid) ?? null
  const hasProblem = (gpu: FoundGpu) => problemOf(gpu) !== null
  const probes = createShareProbes({ ...deps, modeOf, hasProblem, signal: stop.signal })

  const stateOf = ({ gpu, plugin }: Entry): DeviceState => ({
    gpu,
    plugin,
    mode: modeOf(gpu),
    problem: problemOf(gpu),
    verdict: probes.verdictOf(gpu.uuid),
    isHeld: deps.held().has(gpu.uuid),
    watched: watched.get(gpu.uuid) ?? {},
  })
  const shown = () =>
    JSON.stringify([entries.map(({ gpu, plugin }) => [gpu, plugin.name]), [...offers.withheld], [...offers.refused]])

  /** Asks the engine which GPUs it offers, and tells a change. */
  async function askEngine(): Promise<void> {
    const before = shown()
    await offers.ask(entries)
    if (shown() !== before) onChange()
  }

  async function check(): Promise<void> {
    const before = shown()
    const found = await Promise.all(plugins.map(async plugin => ({ plugin, ...(await plugin.probe(stop.signal)) })))
    entries = found.flatMap(({ plugin, gpus }) => gpus.map(gpu => ({ gpu, plugin })))
    seen = found.flatMap(({ figures }) => figures)
    const healthy = new Set(entries.filter(({ gpu }) => gpu.problem === null).map(({ gpu }) => gpu.uuid))
    // A lost GPU returns with a freshly loaded driver, so its verdict is void.
    probes.keep(healthy)
    for (const uuid of offers.refused.keys()) if (!healthy.has(uuid)) offers.refused.delete(uuid)
    if (deps.isEngineUp()) {
      await offers.ask(entries)
      await offers.testStarts([...offers.refused.keys()])
    }
    if (shown() !== before) onChange()
    noteFailures(entries.map(({ gpu }) => gpu))
    probes.probeFree(entries)
  }

  const guardNow = () => ({ mode: deps.guard, seesProcesses: deps.seesProcesses() })

  const areWell = ({ devices }: Pick<KernelSpec, 'devices'>) =>
    devices.every(({ uuid }) => entries.some(({ gpu }) => gpu.uuid === uuid && !hasProblem(gpu)))

  await check()
  let checking: Promise<void> | undefined
  /** Starts a check of the GPUs, or returns the one in progress. */
  const checkOnce = () =>
    (checking ??= check()
      .catch((error: unknown) => {
        if (!stop.signal.aborted) log.error({ err: error }, 'the GPUs could not be read')
      })
      .finally(() => (checking = undefined)))
  const timer = setInterval(() => void checkOnce(), deps.checkEveryMs ?? CHECK_EVERY_MS)

  return {
    list: () => entries.map(entry => toDevice(stateOf(entry), guardNow())),
    figures: () => seen,
    async measure(signal) {
      seen = (await Promise.all(plugins.map(plugin => plugin.figures(signal)))).flat()
      return seen
    },
    async processes(uuids, signal) {
      const found = await Promise.all(plugins.map(plugin => plugin.processes(uuids, signal)))
      return new Map(found.flatMap(list => [...list]))
    },
    setModes(wanted) {
      modes = wanted
      for (const { gpu } of entries) if (modeOf(gpu) !== 'shared') probes.forget(gpu.uuid)
      probes.probeFree(entries)
      onChange()
    },
    guarded() {
      const watchable = entries.filter(entry => isGuardable(stateOf(entry)) && isMeasured(entry.gpu))
      return deps.guard === 'off' ? [] : watchable.map(({ gpu }) => gpu.uuid)
    },
    noteShares(uuid, found) {
      const now = inSteps(found)
      if (isDeepStrictEqual(watched.get(uuid) ?? {}, now)) return
      watched.set(uuid, now)
      onChange()
    },
    async engineCameUp() {
      probes.keep(new Set())
      await askEngine()
      probes.probeFree(entries)
    },
    async request(spec) {
      try {
        return await offers.requestOf(gpusOf(spec))
      } catch (error) {
        // GPUs that the engine does not offer any more get a problem at once, so that nobody else is placed on them.
        await askEngine()
        throw error
      }
    },
    sharesOf: spec =>
      spec.devices.flatMap(({ uuid, slot, amount }) => {
        const memBytes = entries.find(({ gpu }) => gpu.uuid === uuid)?.gpu.memBytes ?? 0
        return slot === 'cuda.shares' ? [{ uuid, hundredths: amount, memBytes }] : []
      }),
    settled: spec => probes.settled(spec.devices.map(({ uuid }) => uuid)),
    async limit(spec, pid, hasEnded = () => Promise.resolve(false)) {
      for (const { uuid, slot, amount } of spec.devices) {
        const entry = entries.find(({ gpu }) => gpu.uuid === uuid)
        if (!entry || slot !== 'cuda.shares' || probes.verdictOf(uuid)?.isolation !== 'enforced') continue
        try {
          await limitShares(entry, pid, amount)
        } catch (error) {
          if (await hasEnded()) return
          // The limit is no longer enforced.
          probes.forget(uuid)
          onChange()
          throw error
        }
      }
    },
    async told(spec, error) {
      if (spec.devices.length === 0 || !isAppError(error) || !MAY_BE_GPU(error)) return error
      // A check in progress may have begun before the failure.
      await checking
      await checkOnce()
      if (areWell(spec)) {
        await offers.testStarts(gpusOf(spec))
        if (areWell(spec)) return error
        onChange()
      }
      return new AppError('kernel_create_failed', because('host_gpu_failed'), { cause: error })
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      clearInterval(timer)
      await Promise.all([checking, probes[Symbol.asyncDispose]()])
      for (const plugin of plugins) await plugin[Symbol.asyncDispose]()
    },
  }
}

/** @param amount hundredths of the GPU @throws AppError `kernel_create_failed` */
async function limitShares({ gpu: { uuid, memBytes }, plugin }: Entry, pid: number, amount: number): Promise<void> {
  if (plugin.shares.by !== 'driver') return
  try {
    await plugin.shares.limits.set(pid, uuid, (memBytes * amount) / SHARES)
  } catch (error) {
    const cause = because('gpu_limit_not_set', { gpu: uuid, text: engineMessage(error) })
    throw new AppError('kernel_create_failed', cause, { cause: error })
  }
}

/** Findings without differences that are not worth a report. */
function inSteps({ blind, unattributed = 0 }: WatchedShares): WatchedShares {
  const steps = Math.round(unattributed / UNATTRIBUTED_STEP)
  return { ...(blind && { blind }), ...(steps > 0 && { unattributed: steps * UNATTRIBUTED_STEP }) }
}
