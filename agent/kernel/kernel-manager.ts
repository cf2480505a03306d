import { createMutex } from '#base/mutex'
import { type KernelFolder, type KernelReport, type KernelSsh, type RequestReply } from '#agent/contract'
import { AppError, because, type FolderId, type KernelId, type ManagerId } from '#manager/contract'
import { engineMessage, isNoAnswer } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { createNetworksAhead } from '../network/networks-ahead.ts'
import { type Kernels, type RunningKernel } from '../running-kernel.ts'
import { createApps } from './apps.ts'
import { readLogs } from './containers.ts'
import { type CreateDeps } from './create-kernel.ts'
import { createEngineView, type EngineView, type EngineViewDeps } from './engine-view.ts'
import { createKernelCreation, type KernelCreation, type KernelCreationDeps } from './kernel-creation.ts'
import { createKernelEnd, type KernelEnd } from './kernel-end.ts'
import { createInterruptionNotice, type WarnKernel } from './interruption-notice.ts'
import { type KeptLogs } from './kept-logs.ts'
import { createKernelEntries } from './kernel-entries.ts'
import { createNetworkUse } from './network-use.ts'
import { createSshRenewal } from './renew-ssh.ts'
import { createStartPace } from './start-pace.ts'

export interface KernelManagerDeps
  extends
    Omit<CreateDeps, 'pace'>,
    Pick<KernelCreationDeps, 'agentId' | 'verifyEngine' | 'cores' | 'onPull'>,
    Pick<EngineViewDeps, 'bootedAtSeconds' | 'thaw'> {
  /** Number of empty networks to keep for future sessions. */
  readonly networksAhead: number
  readonly onChange: (report: KernelReport) => void
  /** Ends the connections of other processes to the address of a kernel. Called and awaited before the address is free. */
  readonly releaseAddress?: (kernelId: string) => Promise<void>
  /** Called when a kernel is not in `reports` any more. */
  readonly onRemoved: () => void
  readonly keptLogs: KeptLogs
  readonly log: Log
}

/**
 * The kernels of this engine. The engine's state is the truth: the memory is rebuilt from signed labels after every start and every outage,
 * and nothing else is stored (docs/adr/0007).
 */
export interface KernelManager extends Kernels, AsyncDisposable {
  readonly create: KernelCreation['create']
  readonly destroy: KernelEnd['destroy']
  ssh(kernelId: KernelId): Promise<KernelSsh>
  /** Logs are read one at a time: the engine sends up to 50 MB for the last lines of one. */
  logs(
    kernelId: KernelId,
    tail: number,
    how?: { readonly timestamps?: boolean | undefined; readonly signal?: AbortSignal },
  ): Promise<RequestReply<'get_logs'>>
  /** @see KeptLogs.read */
  keptLog(kernelId: KernelId, part?: number): Promise<RequestReply<'read_kept_log'>>
  /** Adds a folder to a running kernel. @see LiveFolders.add */
  mountFolder(kernelId: KernelId, folder: KernelFolder): Promise<void>
  /** @see LiveFolders.take */
  unmountFolder(kernelId: KernelId, folder: FolderId, force: boolean): Promise<void>
  reports(): KernelReport[]
  running(): RunningKernel[]
  /** Whether the list of kernels matches the engine; false until the first look, and while the engine is away. */
  readonly known: boolean
  /** A manager is waiting for that list. */
  readonly overdue: boolean
  /** Sets the control plane to which these kernels belong, at the first welcome. */
  serve(managerId: ManagerId): void
  /** Call when the engine comes up, and periodically. */
  readonly rescan: EngineView['rescan']
  engineWentAway(): void
  readonly heard: KernelCreation['heard']
  readonly warn: WarnKernel
  readonly halt: KernelEnd['halt']
  readonly containerChanged: EngineView['containerChanged']
}

const LOG_LIMIT_BYTES = 1024 * 1024
/** After the engine failed to answer, no start begins for this long. */
const BUSY_PAUSE_MS = 2_000

/**
 * Connects the parts: `entries` contains the known kernels, `view` synchronises it with the engine, `creation` and `end` start and end
 * kernels.
 */
export function createKernelManager(deps: KernelManagerDeps): KernelManager {
  const { engine, files, keptLogs, liveFolders, networks, log } = deps
  const stopping = new AbortController()
  const stop = stopping.signal
  let managerId: ManagerId | undefined
  const manager = () => managerId

  const pace = createStartPace({ now: () => performance.now(), isBusy: isNoAnswer, pauseMs: BUSY_PAUSE_MS })
  const entries = createKernelEntries({
    aheadOf: kernelId => pace.ahead(kernelId),
    mountsOf: kernelId => liveFolders.mountsOf(kernelId),
    onChange: deps.onChange,
    onForgotten(kernelId) {
      networkUse.forget(kernelId)
      creation.forget(kernelId)
      sshRenewal.forget(kernelId)
      deps.onRemoved()
    },
  })
  const sshRenewal = createSshRenewal({ engine, files })
  const apps = createApps({ engine, files, sshRenewal, find: entries.find })
  const ahead = createNetworksAhead({
    networks,
    size: deps.networksAhead,
    manager,
    isQuiet: () => view.known && [...entries.values()].every(({ state }) => state.state !== 'starting'),
    onFailure(error) {
      log.debug({ why: engineMessage(error) }, 'no network could be created ahead')
    },
  })
  const releaseAddress = deps.releaseAddress ?? (() => Promise.resolve())
  const networkUse = createNetworkUse({
    networks,
    clusters: deps.clusters,
    reach: deps.reach,
    members: entries.values,
    isAhead: key => ahead.has(key),
    releaseAddress,
  })
  const view = createEngineView({ ...deps, entries, networkUse, ahead, manager, stop })
  const end = createKernelEnd({
    engine,
    files,
    keptLogs,
    liveFolders,
    entries,
    networkUse,
    isKnown: () => view.known,
    log,
  })
  const creation = createKernelCreation({
    ...deps,
    pace,
    entries,
    view,
    destroy: end.destroy,
    networkUse,
    ahead,
    manager,
    onCreated: kernelId => sshRenewal.settle(kernelId),
    stop,
  })

  /** The kernel, if its container runs and is not being ended. */
  const inTurn = createMutex()
  const settled = (kernelId: string) => (entries.isBusy(kernelId) ? undefined : entries.find(kernelId))

  return {
    find: entries.find,
    ensureApp: (kernelId, app, how) => apps.ensure(kernelId, app, how),
    create: creation.create,
    destroy: end.destroy,
    async ssh(kernelId) {
      const kernel = entries.find(kernelId)
      if (kernel) return sshRenewal.keysOf(kernel)
      const ssh = await files.readSsh(kernelId)
      if (!ssh || !entries.get(kernelId)) throw new AppError('kernel_not_found', { kernelId })
      return ssh
    },
    async logs(kernelId, tail, { timestamps, signal } = {}) {
      const containerId = entries.get(kernelId)?.containerId
      if (!containerId) throw new AppError('kernel_not_found', { kernelId })
      return inTurn(async () => {
        signal?.throwIfAborted()
        return await readLogs(engine, containerId, { tail, limitBytes: LOG_LIMIT_BYTES, timestamps })
      })
    },
    async keptLog(kernelId, part) {
      const entry = entries.get(kernelId)
      if (entry?.destruction) await entry.destruction.catch(() => undefined)
      // A manager ends a session with the report of its exit, and has the container removed afterwards.
      else if (part === undefined && entry?.state.state === 'exited' && entry.containerId !== null) {
        await keptLogs.keep(kernelId, entry.containerId).catch((error: unknown) => {
          log.warn({ kernelId, why: engineMessage(error) }, 'the log of an ended kernel could not be kept')
        })
      }
      return keptLogs.read(kernelId, part)
    },
    mountFolder: (kernelId, folder) => liveFolders.add(kernelId, folder, () => settled(kernelId)),
    unmountFolder: (kernelId, folder, force) =>
      liveFolders.take(kernelId, folder, { find: () => settled(kernelId), force }),
    reports: entries.reports,
    running: entries.running,
    get known() {
      return view.known
    },
    get overdue() {
      return managerId !== undefined && !view.known
    },
    serve(id) {
      if (managerId === id) return
      managerId = id
      view.lose()
    },
    rescan: view.rescan,
    engineWentAway: view.lose,
    heard: creation.heard,
    warn: createInterruptionNotice({ engine, files, find: entries.find }),
    halt: end.halt,
    containerChanged: view.containerChanged,
    async [Symbol.asyncDispose]() {
      stopping.abort(new AppError('unavailable', because('agent_stopping')))
      const creations = Array.from(entries.values(), entry => entry.creation?.promise)
      await Promise.allSettled([...creations, view.swept()])
      await ahead[Symbol.asyncDispose]()
    },
  }
}
