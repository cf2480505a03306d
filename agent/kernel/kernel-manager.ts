import { setTimeout as delay } from 'node:timers/promises'
import {
  type KernelLabel,
  type KernelReport,
  type KernelSpec,
  type KernelSsh,
  type RegistryAuth,
  type RequestReply,
  type StoppedFor,
} from '#agent/contract'
import { type AgentId, AppError, type KernelId, type ManagerId, type PullProgress } from '#manager/contract'
import { chooseCores, type EngineLimits } from '../docker/container-config.ts'
import {
  engineMessage,
  fromEngine,
  isEngineUnreachable,
  isMissing,
  isNoAnswer,
  statusOf,
} from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { createApps } from './apps.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { type FoundContainer, inspectContainer, listContainers, readLogs } from './containers.ts'
import { endContainer } from './end-container.ts'
import { type CreateDeps, type CreatedKernel, type Creation, createKernel, undoKernel } from './create-kernel.ts'
import { labelOf, sortContainers, withBuiltIn } from './kernel-rules.ts'
import { removeVolumesOf, sweepVolumes } from './kernel-volumes.ts'
import { createNetworksAhead } from '../network/networks-ahead.ts'
import { createNetworkUse } from './network-use.ts'
import { createSshRenewal } from './renew-ssh.ts'
import { createStartDeadline, type StartDeadline } from './start-deadline.ts'
import { createStartPace } from './start-pace.ts'
import { type Kernels, type RunningKernel } from '../running-kernel.ts'
import { type KernelRecord } from './kernel-record.ts'
import { createUnheardStarts } from './unheard-starts.ts'

export interface KernelManagerDeps extends Omit<CreateDeps, 'pace'> {
  readonly agentId: AgentId
  /** Called before every container: checks that the engine is still ours. @throws `engine_already_managed` */
  readonly verifyEngine: () => Promise<void>
  readonly bootedAtSeconds: number | undefined
  /**
   * Cores of this machine; undefined unless they are numbered from 0. Containers are pinned only if the engine may use all
   * cores.
   */
  readonly cores: number | undefined
  /** Number of empty networks to keep for sessions to come. */
  readonly networksAhead: number
  readonly onChange: (report: KernelReport) => void
  /** A kernel is no longer in `reports`. */
  readonly onRemoved: () => void
  readonly onPull: (kernelId: KernelId, progress: PullProgress) => void
  readonly log: Log
}

/**
 * The kernels of this engine. The engine decides what runs: memory is rebuilt from signed labels after every start and every
 * outage, and nothing else is kept (docs/adr/0007).
 */
export interface KernelManager extends Kernels, AsyncDisposable {
  create(
    spec: KernelSpec,
    options: {
      startWithinMs: number
      prepareWithinMs?: number | undefined
      signal: AbortSignal
      registryAuth?: RegistryAuth | undefined
    },
  ): Promise<RequestReply<'create_kernel'>>
  /** @param attempt latest attempt to destroy; a newer one is left alone */
  destroy(kernelId: KernelId, graceMs: number, attempt?: number): Promise<RequestReply<'destroy_kernel'>>
  ssh(kernelId: KernelId): Promise<KernelSsh>
  logs(kernelId: KernelId, tail: number): Promise<RequestReply<'get_logs'>>
  reports(): KernelReport[]
  running(): RunningKernel[]
  /** Whether the list of kernels matches the engine; false until the first look, and while the engine is away. */
  readonly known: boolean
  /** A manager is waiting for that list. */
  readonly overdue: boolean
  /** The control plane that these kernels belong to; set by the first welcome. */
  serve(managerId: ManagerId): void
  /** Compares with the engine: adopts, finishes, cleans up. Call when the engine comes up, and periodically. */
  rescan(limits: EngineLimits): Promise<void>
  engineWentAway(): void
  /** A manager has processed a report of these kernels. @param sentAt when it was sent, on the clock of `performance.now()` */
  heard(reports: readonly KernelReport[], sentAt: number): void
  /** Kills a running kernel; its end is reported with this reason. Safe to repeat. */
  halt(kernelId: string, why: StoppedFor): Promise<void>
  /** The engine reported an event of a container. */
  containerChanged(kernelId: string): void
}

interface Entry extends KernelRecord {
  creation?: {
    readonly promise: Promise<RequestReply<'create_kernel'>>
    readonly deadline: StartDeadline
    readonly abort: (why: AppError) => void
  }
  destruction?: Promise<RequestReply<'destroy_kernel'>>
  /** Clean-up after a container was removed; a new attempt waits for it. */
  clearing?: Promise<unknown>
}

interface Starting {
  readonly deadline: StartDeadline
  readonly signal: AbortSignal
}

const LOG_LIMIT_BYTES = 1024 * 1024
const UNDO_RETRY_MS = 1_000
/** No start begins for this long after the engine failed to answer. */
const BUSY_PAUSE_MS = 2_000
/** Delay before a second look: an engine under load is asked twice before a container counts as gone. */
const GONE_AGAIN_MS = 1_000

export function createKernelManager(deps: KernelManagerDeps): KernelManager {
  const { engine, files, networks, trust, agentId, log, onChange } = deps
  const entries = new Map<string, Entry>()
  const stop = new AbortController()
  /** Reasons why this process has killed containers, by container id. */
  const halted = new Map<string, StoppedFor>()
  let manager: ManagerId | undefined
  let limits: EngineLimits = { cpus: 0, memBytes: 0 }
  let known = false
  let sweeping: Promise<void> | undefined
  const sshRenewal = createSshRenewal({ engine, files })
  const apps = createApps({ engine, files, sshRenewal, find })
  const ahead = createNetworksAhead({
    networks,
    size: deps.networksAhead,
    isQuiet: () => known && [...entries.values()].every(({ state }) => state.state !== 'starting'),
    onFailure(error) {
      log.debug({ why: engineMessage(error) }, 'no network could be created ahead')
    },
  })
  const networkUse = createNetworkUse(networks, () => entries.values(), ahead.has)
  const pace = createStartPace({
    now: () => performance.now(),
    isBusy: isNoAnswer,
    pauseMs: BUSY_PAUSE_MS,
  })
  const unheard = createUnheardStarts({
    takeBack: (kernelId, attempt) => destroy(kernelId, 0, attempt),
    stop: stop.signal,
    log,
  })

  function find(kernelId: string): RunningKernel | undefined {
    const entry = entries.get(kernelId)
    if (entry?.state.state !== 'running' || entry.address === null) return undefined
    return {
      kernelId: entry.label.kernelId,
      sessionId: entry.label.sessionId,
      containerId: entry.state.containerId,
      address: entry.address,
      user: entry.user,
      apps: withBuiltIn(entry.label.apps),
      environ: entry.label.environ,
      pid: entry.pid,
      devices: entry.label.devices.map(device => device.uuid),
    }
  }

  function reportOf({ label, state }: Entry): KernelReport {
    const { kernelId, sessionId, attempt } = label
    if (state.state !== 'starting') return { kernelId, sessionId, attempt, state, label }
    const ahead = pace.ahead(kernelId)
    return { kernelId, sessionId, attempt, state: { ...state, ...(ahead === undefined ? {} : { ahead }) }, label }
  }

  function set(kernelId: string, entry: Entry): void {
    const before = entries.get(kernelId)
    // Keep a destruction in flight, whatever is learnt about the container in the meantime.
    entries.set(kernelId, before?.destruction ? { ...entry, destruction: before.destruction } : entry)
    if (before && JSON.stringify(before.state) === JSON.stringify(entry.state)) return
    onChange(reportOf(entry))
  }

  function forget(kernelId: string): void {
    halted.delete(entries.get(kernelId)?.containerId ?? '')
    entries.delete(kernelId)
    networkUse.forget(kernelId)
    unheard.forget(kernelId)
    sshRenewal.forget(kernelId)
    deps.onRemoved()
  }

  function adopt(found: FoundContainer): void {
    if (found.state.state === 'created') return
    const { label, address, pid, cpus, user } = found
    const before = entries.get(label.kernelId)
    // The look that first saw the end knows best how the container ended.
    const isKnownEnd = before?.containerId === found.id && before.state.state === 'exited'
    const stopped = halted.get(found.id)
    const seen = found.state.state === 'exited' && stopped ? { ...found.state, stopped } : found.state
    const state = isKnownEnd ? before.state : seen
    set(label.kernelId, { label, state, containerId: found.id, address, pid, cpus, user })
  }

  function requireManager(): ManagerId {
    if (!manager) throw new AppError('unavailable', { why: 'The agent has not joined a manager yet.' })
    return manager
  }

  // --- creation

  const create: KernelManager['create'] = async (spec, options) => {
    const { startWithinMs, prepareWithinMs, signal, registryAuth } = options
    // Refused at once: without an engine, a failed start could not be undone.
    if (!known) throw new AppError('engine_unreachable', { why: 'Docker on the host does not answer.' })
    using deadline = createStartDeadline(startWithinMs, prepareWithinMs)
    for (;;) {
      const entry = entries.get(spec.kernelId)
      const inTime = AbortSignal.any([signal, deadline.signal])
      if (!entry) return await begin(spec, { deadline, signal: inTime, registryAuth })
      if (entry.label.attempt > spec.attempt) {
        throw new AppError('kernel_create_failed', { why: `Attempt ${entry.label.attempt} is already in progress.` })
      }
      if (entry.label.attempt < spec.attempt || entry.destruction) await destroy(spec.kernelId, 0)
      else return await repeat(entry)
    }
  }

  /** Reply to a repeated create_kernel: the first one was answered already, or is still in flight. */
  async function repeat(entry: Entry): Promise<RequestReply<'create_kernel'>> {
    if (entry.creation) return entry.creation.promise
    const { state, label } = entry
    const ssh = await files.readSsh(label.kernelId)
    if (state.state === 'running' && ssh) {
      return { containerId: state.containerId, startedAt: state.startedAt, ssh }
    }
    // The container was started and has ended since; its end and exit code are reported like any other. A manager that takes
    // over from another one repeats the request, and must not mistake this for a failed start, which it would retry.
    if (state.state === 'exited' && ssh) {
      return { containerId: state.containerId, startedAt: label.createdAt, ssh }
    }
    throw new AppError('kernel_create_failed', { why: 'The container of this attempt has already ended.' })
  }

  function begin(
    spec: KernelSpec,
    { deadline, signal, registryAuth }: Starting & Pick<Creation, 'registryAuth'>,
  ): Promise<RequestReply<'create_kernel'>> {
    const managerId = requireManager()
    // Kernels of one session meet on a network that has the session's key.
    const network = (spec.clusterSize ?? 1) > 1 ? undefined : ahead.take(managerId)
    const label = { ...labelOf(spec, managerId, agentId), ...(network === undefined ? {} : { network }) }
    const abort = new AbortController()
    // Choose the cores and record them without an await in between: kernels that start together see each other's cores.
    const cpus = coresFor(spec)
    const wanted = AbortSignal.any([signal, abort.signal, stop.signal])
    const promise = build(spec, label, { cpus, deadline, signal: wanted, registryAuth })
    set(spec.kernelId, {
      label,
      containerId: null,
      address: null,
      pid: 0,
      cpus,
      user: '',
      state: { state: 'starting', phase: 'preparing' },
      creation: { promise, deadline, abort: why => abort.abort(why) },
    })
    return promise
  }

  function coresFor({ slots }: KernelSpec): readonly number[] {
    if (deps.cores !== limits.cpus) return []
    const pinned = [...entries.values()].map(entry => entry.cpus)
    return chooseCores(slots.cpu ?? 0, limits.cpus, pinned)
  }

  async function build(
    spec: KernelSpec,
    label: KernelLabel,
    options: Starting & Pick<Creation, 'cpus' | 'registryAuth'>,
  ): Promise<RequestReply<'create_kernel'>> {
    const { kernelId } = spec
    try {
      // The await also lets `begin` create the entry first.
      await deps.verifyEngine().catch((error: unknown) => {
        throw error instanceof AppError ? error : fromEngine(error, 'kernel_create_failed')
      })
      // The manager considers this kernel ended; on a host that was forgotten and came back it may still run.
      if (spec.filesOf !== undefined) await destroy(spec.filesOf, 0)
      const { container, ssh } = await createInTime(spec, label, options)
      sshRenewal.settle(kernelId)
      unheard.watch(kernelId, spec.attempt, options.deadline.startBy - performance.now())
      adopt(container)
      // Engine events during the creation were ignored: look again.
      containerChanged(kernelId)
      if (container.state.state === 'running') {
        log.info({ kernelId, containerId: container.id }, 'kernel runs')
        return { containerId: container.id, startedAt: container.state.startedAt, ssh }
      }
      // The container has ended already; its end and exit code are reported like any other.
      return { containerId: container.id, startedAt: new Date().toISOString(), ssh }
    } catch (error) {
      log.warn({ kernelId, why: engineMessage(error) }, 'kernel could not be created')
      // Reply only after everything is removed: then the manager may start the session elsewhere.
      await undo(label)
      forget(kernelId)
      throw error
    } finally {
      ahead.refill(label.managerId)
    }
  }

  /** Repeats the start while the engine does not answer: an overloaded engine is not the session's fault. */
  async function createInTime(
    spec: KernelSpec,
    label: KernelLabel,
    options: Starting & Pick<Creation, 'cpus' | 'registryAuth'>,
  ): Promise<CreatedKernel> {
    const { kernelId } = spec
    const setPhase = (phase: 'pulling' | 'preparing') => {
      const entry = entries.get(kernelId)
      if (entry?.state.state !== 'starting' || entry.state.phase === phase) return
      set(kernelId, { ...entry, state: { state: 'starting', phase } })
    }
    for (;;) {
      try {
        return await createKernel(
          { ...deps, pace },
          {
            ...options,
            spec,
            label,
            limits,
            onPull: progress => {
              setPhase('pulling')
              deps.onPull(kernelId, progress)
            },
            onImage: () => setPhase('preparing'),
          },
        )
      } catch (error) {
        if (!isNoAnswer(error)) throw error
        log.warn({ kernelId, why: engineMessage(error) }, 'the engine gave no answer; the start is tried again')
        await undo(label)
        if (!options.signal.aborted) continue
        const why = 'Docker on the host is overloaded and did not answer in time.'
        throw new AppError('engine_busy', { why }, { cause: error })
      }
    }
  }

  async function undo(label: KernelLabel): Promise<void> {
    const { kernelId } = label
    while (!stop.signal.aborted) {
      try {
        await undoKernel(deps, label, () => networkUse.leave(label))
        return
      } catch (error) {
        log.warn({ kernelId, why: engineMessage(error) }, 'cleaning up is tried again')
        await delay(UNDO_RETRY_MS, undefined, { signal: stop.signal }).catch(() => undefined)
      }
    }
  }

  // --- end

  function destroy(kernelId: KernelId, graceMs: number, attempt = Infinity): Promise<RequestReply<'destroy_kernel'>> {
    const entry = entries.get(kernelId)
    if (!entry) {
      return known
        ? Promise.resolve({ exitCode: null, logTail: '' })
        : Promise.reject(new AppError('engine_unreachable', { why: 'The agent has not read the state of Docker yet.' }))
    }
    // The request came late: a newer attempt has replaced the one it refers to.
    if (entry.label.attempt > attempt) return Promise.resolve({ exitCode: null, logTail: '' })
    entry.destruction ??= takeDown(entry, graceMs).finally(() => {
      const current = entries.get(kernelId)
      if (current) delete current.destruction
    })
    return entry.destruction
  }

  async function takeDown(entry: Entry, graceMs: number): Promise<RequestReply<'destroy_kernel'>> {
    const { kernelId } = entry.label
    if (entry.creation) {
      entry.creation.abort(new AppError('kernel_create_failed', { why: 'The session was terminated.' }))
      await entry.creation.promise.catch(() => undefined)
      // The abort may have come too late; then there is a container to remove.
      if (!entries.has(kernelId)) return { exitCode: null, logTail: '' }
    }
    await entry.clearing?.catch(() => undefined)
    const id = entries.get(kernelId)?.containerId ?? null
    let words: RequestReply<'destroy_kernel'> = { exitCode: null, logTail: '' }
    try {
      if (id !== null) words = await endContainer({ engine, log }, id, graceMs)
      await networkUse.leave(entry.label)
    } catch (error) {
      throw isEngineUnreachable(error)
        ? new AppError('engine_unreachable', { why: engineMessage(error) }, { cause: error })
        : error
    }
    await files.discard(kernelId, { scratch: 'keep' })
    forget(kernelId)
    log.info({ kernelId, exitCode: words.exitCode }, 'kernel ended')
    return words
  }

  // --- the engine's truth

  const context = (endedWhileEngineWasAway: boolean, ranUnderEngine = false) => ({
    trust,
    bootedAtSeconds: deps.bootedAtSeconds,
    endedWhileEngineWasAway,
    ranUnderEngine,
  })
  const isBusy = (kernelId: string) => {
    const entry = entries.get(kernelId)
    return entry !== undefined && (entry.state.state === 'starting' || entry.destruction !== undefined)
  }

  async function refresh(kernelId: string): Promise<void> {
    for (;;) {
      const entry = entries.get(kernelId)
      if (!entry?.containerId || isBusy(kernelId)) return
      const found = await inspectContainer(engine, entry.containerId, context(false, known))
      // Another look was quicker, and may have seen less: only a look at the current entry counts.
      if (entries.get(kernelId) !== entry) continue
      if (isBusy(kernelId)) return
      if (found) adopt(found)
      else if (await isGone(entry)) await clearGone(entry)
      return
    }
  }

  /** A container counts as gone when the engine itself says so, twice; its absence from a list proves nothing. */
  async function isGone(entry: Entry): Promise<boolean> {
    const { containerId } = entry
    if (containerId === null) return true
    const { kernelId } = entry.label
    for (const waitMs of [0, GONE_AGAIN_MS]) {
      if (waitMs > 0) await delay(waitMs, undefined, { signal: stop.signal }).catch(() => undefined)
      if (await inspectContainer(engine, containerId, context(false, known))) return false
      if (stop.signal.aborted || entries.get(kernelId) !== entry || isBusy(kernelId)) return false
    }
    return true
  }

  function containerChanged(kernelId: string): void {
    refresh(kernelId).catch((error: unknown) => {
      // The look after the outage will see the container.
      if (!isEngineUnreachable(error)) log.error({ kernelId, why: engineMessage(error) }, 'a container cannot be read')
    })
  }

  /**
   * Cleans up after a container that was removed by someone else: its network and volumes, and its home after the retention.
   * The entry stays until the manager has learnt of it and requests its end.
   */
  async function clearGone(entry: Entry): Promise<void> {
    const { kernelId, managerId } = entry.label
    const clearing = Promise.all([
      networkUse.leave(entry.label),
      files.discard(kernelId, { scratch: 'keep' }),
      removeVolumesOf(engine, managerId, kernelId),
    ])
    set(kernelId, { ...entry, state: { state: 'gone' }, address: null, pid: 0, clearing })
    await clearing
  }

  async function rescan(seen: EngineLimits): Promise<void> {
    limits = seen
    // This comes first: no session can start without a user to run as.
    await files.user()
    if (!manager) return
    const managerId = manager
    const afterOutage = !known
    const before = new Map(entries)
    const ids = await listContainers(engine, managerId)
    const found = await Promise.all(ids.map(id => inspectContainer(engine, id, context(afterOutage))))
    const containers = found.filter(container => container !== undefined)
    // Removals come first: they leave the entries as they are.
    for (const { keep, container } of sortContainers(containers).toSorted((a, b) => Number(a.keep) - Number(b.keep))) {
      const { kernelId } = container.label
      // The entry has changed since the look began: the look is stale.
      if (isBusy(kernelId) || entries.get(kernelId) !== before.get(kernelId)) continue
      // An agent that crashed right after the start has not yet given the home to the session's user.
      if (keep && !before.has(kernelId)) await files.ownScratch(kernelId)
      if (!keep) await removeContainer(engine, container.id)
      else if (afterOutage && before.get(kernelId)?.state.state !== 'running') {
        // This process never saw the container running: only the boot time tells whether the engine ended it.
        const again = await inspectContainer(engine, container.id, context(false))
        if (again) adopt(again)
      } else adopt(container)
    }
    for (const [kernelId, entry] of before) {
      if (entries.get(kernelId) !== entry || isBusy(kernelId) || containers.some(c => c.id === entry.containerId))
        continue
      if (entry.state.state === 'gone' || !(await isGone(entry))) continue
      // If the removal fails now, the sweep retries it.
      await clearGone(entry).catch(complainOfLeftover)
    }
    known = true
    ahead.refill(managerId)
    // Networks and volumes without a kernel were left by a crashed agent, or by containers that someone else removed.
    await networkUse.sweep(managerId, complainOfLeftover)
    await sweepVolumes(engine, managerId, { isLive, complain: complainOfLeftover })
    sweepFiles()
  }

  /**
   * Runs in the background, one sweep at a time: removing a large home takes minutes, and neither a look nor a manager should
   * wait for it.
   */
  function sweepFiles(): void {
    sweeping ??= files
      .sweep({ isLive, nowMs: Date.now(), complain: complainOfLeftover, signal: stop.signal })
      .catch(complainOfLeftover)
      .finally(() => (sweeping = undefined))
  }

  function isLive(kernelId: string): boolean {
    const entry = entries.get(kernelId)
    return entry !== undefined && entry.state.state !== 'gone'
  }

  function complainOfLeftover(error: unknown): void {
    log.warn({ why: engineMessage(error) }, 'a left-over stays for now')
  }

  return {
    find,
    ensureApp: (kernelId, app, options) => apps.ensure(kernelId, app, options?.timeoutMs),
    create,
    destroy,
    async ssh(kernelId) {
      const kernel = find(kernelId)
      if (kernel) return sshRenewal.keysOf(kernel)
      const ssh = await files.readSsh(kernelId)
      if (!ssh || !entries.has(kernelId)) throw new AppError('kernel_not_found', { kernelId })
      return ssh
    },
    async logs(kernelId, tail) {
      const containerId = entries.get(kernelId)?.containerId
      if (!containerId) throw new AppError('kernel_not_found', { kernelId })
      return readLogs(engine, containerId, { tail, limitBytes: LOG_LIMIT_BYTES })
    },
    reports: () => [...entries.values()].map(reportOf),
    running: () => [...entries.keys()].flatMap(kernelId => find(kernelId) ?? []),
    get known() {
      return known
    },
    get overdue() {
      return manager !== undefined && !known
    },
    serve(managerId) {
      if (manager === managerId) return
      manager = managerId
      known = false
      ahead.forget()
    },
    rescan,
    engineWentAway() {
      known = false
      ahead.forget()
    },
    heard(reports, sentAt) {
      for (const { kernelId, attempt, state } of reports) {
        const entry = entries.get(kernelId)
        if (state.state === 'starting' && state.ahead !== undefined && entry?.label.attempt === attempt)
          entry.creation?.deadline.heardWaiting(sentAt)
      }
      unheard.heard(reports)
    },
    async halt(kernelId, why) {
      const entry = entries.get(kernelId)
      if (entry?.state.state !== 'running' || entry.destruction) return
      const { containerId } = entry.state
      halted.set(containerId, why)
      await engine.calls
        .getContainer(containerId)
        .kill()
        .catch((error: unknown) => {
          // 409: the container has ended by itself in the meantime.
          if (!isMissing(error) && statusOf(error) !== 409) throw error
        })
    },
    containerChanged,
    async [Symbol.asyncDispose]() {
      stop.abort(new AppError('unavailable', { why: 'The agent is stopping.' }))
      const creations = [...entries.values()].flatMap(entry => entry.creation?.promise ?? [])
      await Promise.allSettled([...creations, sweeping])
      await ahead[Symbol.asyncDispose]()
    },
  }
}
