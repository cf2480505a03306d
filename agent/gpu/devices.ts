import { isDeepStrictEqual } from 'node:util'
import { type KernelSpec } from '#agent/contract'
import { sizeText } from '#base/size-text'
import {
  AppError,
  type Because,
  because,
  type Device,
  type DeviceFigures,
  isAppError,
  keysOf,
  type SettableMode,
  together,
} from '#manager/contract'
import { gpusOf } from '../docker/container-config.ts'
import { engineMessage } from '../docker/engine-client.ts'
import { type GpuRequest, joinGpuRequests } from '../docker/gpu-request.ts'
import { type GpuShare } from '../docker/share-environment.ts'
import { hasCause } from '../has-cause.ts'
import { type GpuGuardMode } from './gpu-guard-mode.ts'
import { type Log } from '../log.ts'
import { type FoundGpu, type GpuPlugin, type GpuProcess, type Verdict } from './gpu-plugin.ts'

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

/** Findings of the guard of GPU shares about one GPU. */
export interface WatchedShares {
  /** Why the guard cannot see what sessions use. */
  readonly blind?: Because
  /** Bytes that belong to no process, while several sessions use the GPU. */
  readonly unattributed?: number
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

interface Entry {
  gpu: FoundGpu
  readonly plugin: GpuPlugin
}

const CHECK_EVERY_MS = 10_000
/** Delay until the next probe of a GPU that could not be probed. */
const TRY_AGAIN_MS = 10 * 60_000
/** Causes of failed starts that may result from a failed GPU. */
const MAY_BE_GPU = hasCause('docker_not_started', 'docker_says', 'gpu_limit_not_set', 'gpu_not_checked')
/** Checks in a row that have to find a problem of a GPU before the owners of its sessions are told: a driver may only be slow. */
const FAILED_CHECKS = 2
/** Shares of a whole GPU, in hundredths. */
const SHARES = 100
/** Step in which memory that belongs to no process is told: each other figure is a report to the managers. */
const UNATTRIBUTED_STEP = 2 ** 30

/** @throws `config_invalid` */
export async function openDevices(deps: DevicesDeps): Promise<Devices> {
  const { plugins, log, onChange } = deps
  let entries: readonly Entry[] = []
  let seen: readonly DeviceFigures[] = []
  /** GPUs that the engine could not offer at its last answer. */
  let withheld: ReadonlyMap<string, Because> = new Map()
  /** GPUs with which the engine could not start a container of the agent either. */
  const refused = new Map<string, Because>()
  let modes: Readonly<Record<string, SettableMode>> = {}
  const verdicts = new Map<string, Verdict & { readonly againAt: number }>()
  const probing = new Map<string, Promise<void>>()
  const watched = new Map<string, WatchedShares>()
  /** Checks in a row that found a problem of the GPU. */
  const failedChecks = new Map<string, number>()
  const stop = new AbortController()

  const modeOf = ({ uuid, mode }: FoundGpu) => (mode === 'mig' ? mode : (modes[uuid] ?? mode))

  const problemOf = ({ uuid, problem }: FoundGpu) => problem ?? withheld.get(uuid) ?? refused.get(uuid) ?? null
  const told = () => JSON.stringify([entries.map(({ gpu, plugin }) => [gpu, plugin.name]), [...withheld], [...refused]])

  async function lookAtEngine(): Promise<void> {
    const found = await Promise.all(
      plugins.map(async plugin => {
        const uuids = entries.filter(entry => entry.plugin === plugin).map(({ gpu }) => gpu.uuid)
        const problems = plugin.requests?.problems(uuids) ?? new Map<string, Because>()
        return await Promise.resolve(problems).catch((error: unknown) => {
          log.warn({ why: engineMessage(error) }, 'the engine did not say which GPUs it can hand out')
          return new Map([...withheld].filter(([uuid]) => uuids.includes(uuid)))
        })
      }),
    )
    withheld = new Map(found.flatMap(problems => [...problems]))
  }

  /** The request for GPUs of any makers. @throws `kernel_create_failed` */
  async function requestOf(uuids: readonly string[]): Promise<GpuRequest> {
    const requests = await Promise.all(
      plugins.map(async ({ owns, requests }) => await requests?.of(uuids.filter(owns))),
    )
    const unknown = uuids.filter(uuid => !plugins.some(({ owns }) => owns(uuid)))
    if (unknown.length > 0)
      throw new AppError('kernel_create_failed', { ...because('gpu_of_no_plugin'), gpus: unknown.join(',') })
    return joinGpuRequests(requests.flatMap(request => request ?? []))
  }

  /** If a test start is impossible now, the earlier result is kept. */
  async function testStarts(uuids: Iterable<string>): Promise<void> {
    for (const uuid of uuids) {
      const text = await requestOf([uuid]).then(deps.testStart).catch(noAnswer)
      if (text === null) refused.delete(uuid)
      else if (text !== undefined) refused.set(uuid, because('gpu_starts_nothing', { text }))
    }
  }

  async function check(): Promise<void> {
    const before = told()
    const probes = await Promise.all(plugins.map(async plugin => ({ plugin, ...(await plugin.probe(stop.signal)) })))
    entries = probes.flatMap(({ plugin, gpus }) => gpus.map(gpu => ({ gpu, plugin })))
    seen = probes.flatMap(({ figures }) => figures)
    const healthy = new Set(entries.filter(({ gpu }) => gpu.problem === null).map(({ gpu }) => gpu.uuid))
    // A lost GPU returns with a freshly loaded driver, so its verdict is void.
    for (const uuid of verdicts.keys()) if (!healthy.has(uuid)) verdicts.delete(uuid)
    for (const uuid of refused.keys()) if (!healthy.has(uuid)) refused.delete(uuid)
    if (deps.isEngineUp()) {
      await lookAtEngine()
      await testStarts([...refused.keys()])
    }
    if (told() !== before) onChange()
    tellOwners()
    probeWhatIsFree()
  }

  /** Tells the owners of sessions on GPUs that have failed. An engine that cannot hand a GPU out does not concern those that have it. */
  function tellOwners(): void {
    for (const { gpu } of entries) {
      const count = gpu.problem === null ? 0 : (failedChecks.get(gpu.uuid) ?? 0) + 1
      failedChecks.set(gpu.uuid, count)
      if (count === FAILED_CHECKS && deps.held().has(gpu.uuid)) deps.onFailed(gpu)
    }
  }

  /** Probes only free GPUs, because a probe would take memory from a session. */
  function probeWhatIsFree(): void {
    if (stop.signal.aborted || !deps.isEngineUp()) return
    for (const { gpu, plugin } of entries) {
      const { uuid } = gpu
      const { shares } = plugin
      if (shares.by !== 'driver' || modeOf(gpu) !== 'shared' || problemOf(gpu) !== null) continue
      const isKnown = (verdicts.get(uuid)?.againAt ?? 0) > performance.now()
      if (isKnown || probing.has(uuid) || deps.held().has(uuid)) continue
      const work = shares
        .probe(gpu, stop.signal)
        .then(verdict => {
          verdicts.set(uuid, { ...verdict, againAt: verdict.later ? performance.now() + TRY_AGAIN_MS : Infinity })
          log.info({ uuid, ...verdict }, 'tested whether memory limits for shares of a GPU are enforced')
          onChange()
        })
        .catch((error: unknown) =>
          log.warn({ uuid, err: error }, 'could not test whether memory limits for shares of a GPU are enforced'),
        )
        .finally(() => probing.delete(uuid))
      probing.set(uuid, work)
    }
  }

  function toDevice({ gpu, plugin }: Entry): Device {
    const { uuid, model, memBytes, sharedBecause } = gpu
    const problem = problemOf(gpu)
    const mode = modeOf(gpu)
    const state = { problem: problem?.why ?? null, ...(problem && { problemBy: keysOf(problem) }) }
    const warning = inOne([gpu.warning, mode === 'shared' ? warningOf(watched.get(uuid) ?? {}) : null])
    const told = warning && { warning: warning.why, warningBy: keysOf(warning) }
    const common = { uuid, model, memBytes, mode, ...state, ...told, plugin: plugin.name }
    if (mode === 'shared') {
      const verdict = verdicts.get(uuid) ?? unknown(plugin, deps.held().has(uuid))
      return {
        ...common,
        slot: 'cuda.shares',
        ...isolationOf(isGuardable({ gpu, plugin }) ? guardedBy(gpu, verdict) : verdict),
      }
    }
    const isolation = isolationOf({ isolation: sharedBecause === null ? mode : 'accounted', reason: sharedBecause })
    return { ...common, slot: 'cuda.device', ...isolation }
  }

  /** Whether the agent has to watch the shares of this GPU: it can, and the driver was not seen to limit them. */
  function isGuardable({ gpu, plugin }: Entry): boolean {
    return plugin.shares.by === 'driver' && modeOf(gpu) === 'shared' && verdicts.get(gpu.uuid)?.isolation !== 'enforced'
  }

  /** The class of shares of a GPU whose driver does not limit them. */
  function guardedBy(gpu: FoundGpu, { reason }: Pick<Verdict, 'reason'>): Classified {
    if (deps.guard === 'off') return { isolation: 'accounted', reason }
    const unseen = deps.seesProcesses() ? undefined : because('guard_without_processes')
    const hindrance = isMeasured(gpu) ? (watched.get(gpu.uuid)?.blind ?? unseen) : because('guard_without_size')
    if (hindrance) return { isolation: 'accounted', reason: together(hindrance, reason) }
    if (deps.guard === 'warn') return { isolation: 'accounted', reason: together(because('guard_warns'), reason) }
    return { isolation: 'guarded', reason: together(because('guard_ends'), reason) }
  }

  function areWell(spec: Pick<KernelSpec, 'devices'>): boolean {
    const well = new Set(entries.filter(({ gpu }) => problemOf(gpu) === null).map(({ gpu }) => gpu.uuid))
    return spec.devices.every(({ uuid }) => well.has(uuid))
  }

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
    list: () => entries.map(toDevice),
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
      for (const { gpu } of entries) if (modeOf(gpu) !== 'shared') verdicts.delete(gpu.uuid)
      probeWhatIsFree()
      onChange()
    },
    guarded() {
      const watchable = entries.filter(entry => isGuardable(entry) && isMeasured(entry.gpu))
      return deps.guard === 'off' ? [] : watchable.map(({ gpu }) => gpu.uuid)
    },
    noteShares(uuid, { blind, unattributed = 0 }) {
      const before = watched.get(uuid)
      const steps = Math.round(unattributed / UNATTRIBUTED_STEP)
      const now: WatchedShares = {
        ...(blind && { blind }),
        ...(steps > 0 && { unattributed: steps * UNATTRIBUTED_STEP }),
      }
      if (isDeepStrictEqual(before ?? {}, now)) return
      watched.set(uuid, now)
      onChange()
    },
    async engineCameUp() {
      verdicts.clear()
      const before = told()
      await lookAtEngine()
      if (told() !== before) onChange()
      probeWhatIsFree()
    },
    async request(spec) {
      try {
        return await requestOf(gpusOf(spec))
      } catch (error) {
        // GPUs that the engine does not offer any more get a problem at once, so that nobody else is placed on them.
        const before = told()
        await lookAtEngine()
        if (told() !== before) onChange()
        throw error
      }
    },
    sharesOf: spec =>
      spec.devices.flatMap(({ uuid, slot, amount }) => {
        const memBytes = entries.find(({ gpu }) => gpu.uuid === uuid)?.gpu.memBytes ?? 0
        return slot === 'cuda.shares' ? [{ uuid, hundredths: amount, memBytes }] : []
      }),
    async settled(spec) {
      await Promise.all(spec.devices.map(async ({ uuid }) => probing.get(uuid)))
    },
    async limit(spec, pid, hasEnded = () => Promise.resolve(false)) {
      for (const { uuid, slot, amount } of spec.devices) {
        const entry = entries.find(({ gpu }) => gpu.uuid === uuid)
        const shares = entry?.plugin.shares
        if (!entry || shares?.by !== 'driver' || slot !== 'cuda.shares') continue
        if (verdicts.get(uuid)?.isolation !== 'enforced') continue
        try {
          await shares.limits.set(pid, uuid, (entry.gpu.memBytes * amount) / SHARES)
        } catch (error) {
          if (await hasEnded()) return
          // The limit is no longer enforced; the GPU is probed again once it is free.
          verdicts.delete(uuid)
          onChange()
          throw new AppError(
            'kernel_create_failed',
            because('gpu_limit_not_set', { gpu: uuid, text: engineMessage(error) }),
            { cause: error },
          )
        }
      }
    },
    async told(spec, error) {
      if (spec.devices.length === 0 || !isAppError(error) || !MAY_BE_GPU(error)) return error
      // A check in progress may have begun before the failure.
      await checking
      await checkOnce()
      if (areWell(spec)) {
        await testStarts(gpusOf(spec))
        if (areWell(spec)) return error
        onChange()
      }
      return new AppError('kernel_create_failed', because('host_gpu_failed'), { cause: error })
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      clearInterval(timer)
      await Promise.all([checking, ...probing.values()])
      for (const plugin of plugins) await plugin[Symbol.asyncDispose]()
    },
  }
}

const noAnswer = () => undefined

/** A share of a GPU whose memory is not known (a driver that fails, or one without memory of its own) has no size. */
const isMeasured = ({ memBytes }: Pick<FoundGpu, 'memBytes'>) => memBytes > 0

/** Several texts as one; null for none. */
function inOne(texts: readonly (Because | null | undefined)[]): Because | null {
  const [first, ...rest] = texts.flatMap(text => text ?? [])
  return first ? together(first, ...rest) : null
}

interface Classified {
  readonly isolation: Device['isolation']
  readonly reason: Because | null
}

const warningOf = ({ unattributed }: WatchedShares): Because | null =>
  unattributed === undefined ? null : because('gpu_memory_unattributed', { size: sizeText(unattributed) })

const isolationOf = ({ isolation, reason }: Classified) => ({
  isolation,
  isolationReason: reason?.why ?? null,
  ...(reason && { isolationReasonBy: keysOf(reason) }),
})

/** The class of shares that were not tested. */
function unknown({ shares }: GpuPlugin, isHeld: boolean): Verdict {
  if (shares.by === 'nobody') return { isolation: 'accounted', reason: shares.reason }
  return { isolation: 'accounted', reason: because(isHeld ? 'limits_tested_later' : 'limits_being_tested') }
}
