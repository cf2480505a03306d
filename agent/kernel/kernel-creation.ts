import { defined } from '#base/defined'
import {
  type KernelLabel,
  type KernelReport,
  type KernelSpec,
  type ImageOffer,
  type RegistryAuth,
  type RequestReply,
} from '#agent/contract'
import { type AgentId, AppError, because, type KernelId, type ManagerId } from '#manager/contract'
import { chooseCores } from '../docker/container-config.ts'
import { engineMessage, fromEngine } from '../docker/engine-client.ts'
import { findHeld } from '../images/ensure-image.ts'
import { type NetworksAhead } from '../network/networks-ahead.ts'
import { type EngineView } from './engine-view.ts'
import { type KernelEnd } from './kernel-end.ts'
import { type Entry } from './kernel-entries.ts'
import { labelOf } from './kernel-rules.ts'
import { createPatientStart, type PatientStartDeps, type StartOptions } from './patient-start.ts'
import { createStartDeadline } from './start-deadline.ts'
import { createUnheardStarts } from './unheard-starts.ts'

export interface CreateOptions {
  readonly startWithinMs: number
  readonly prepareWithinMs?: number | undefined
  readonly signal: AbortSignal
  readonly registryAuth?: RegistryAuth | undefined
  readonly offer?: ImageOffer | undefined
}

/** Starts kernels, each within its deadline, and undoes every start that fails or of which no manager learns. */
export interface KernelCreation {
  /** Replies when the container runs or everything is undone. Safe to repeat: a known attempt is not started again. */
  readonly create: (spec: KernelSpec, options: CreateOptions) => Promise<RequestReply<'create_kernel'>>
  /** Call it when a manager has processed a report of these kernels. @param sentAt when it was sent, on the clock of `performance.now()` */
  readonly heard: (reports: readonly KernelReport[], sentAt: number) => void
  readonly forget: (kernelId: string) => void
}

export interface KernelCreationDeps extends PatientStartDeps {
  readonly agentId: AgentId
  /** Called before every container: checks that the engine is still ours. @throws `engine_already_managed` */
  readonly verifyEngine: () => Promise<void>
  /** Cores of this machine; undefined unless they are numbered from 0. */
  readonly cores: number | undefined
  readonly view: Pick<EngineView, 'known' | 'limits' | 'containerChanged'>
  readonly destroy: KernelEnd['destroy']
  readonly ahead: Pick<NetworksAhead, 'take' | 'refill'>
  /** The control plane to which the kernels belong; undefined before the first welcome. */
  readonly manager: () => ManagerId | undefined
  /** Called when a kernel was created: its SSH keys are those of this start. */
  readonly onCreated: (kernelId: KernelId) => void
}

type Starting = Omit<StartOptions, 'cpus'>

export function createKernelCreation(deps: KernelCreationDeps): KernelCreation {
  const { ahead, entries, view, files, destroy, stop, log } = deps
  const { createInTime, undo } = createPatientStart(deps)
  const unheard = createUnheardStarts({
    takeBack: (kernelId, attempt) => destroy(kernelId, 0, attempt),
    stop,
    log,
  })

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
    throw new AppError('kernel_create_failed', because('attempt_ended'))
  }

  function begin(spec: KernelSpec, { deadline, signal, ...source }: Starting): Promise<RequestReply<'create_kernel'>> {
    const managerId = deps.manager()
    if (!managerId) throw new AppError('unavailable', because('agent_not_joined'))
    // Kernels of one session meet on a network that has the session's key. Networks ahead lead to the outside.
    const isUsual = (spec.clusterSize ?? 1) === 1 && spec.allowedNames === undefined
    const network = isUsual ? ahead.take(managerId) : undefined
    const label = { ...labelOf(spec, managerId, deps.agentId), ...defined({ network }) }
    const abort = new AbortController()
    // Choose the cores and record them without an await in between: kernels that start together see each other's cores.
    const cpus = coresFor(spec)
    const wanted = AbortSignal.any([signal, abort.signal, stop])
    const promise = build(spec, label, { cpus, deadline, signal: wanted, ...source })
    entries.set(spec.kernelId, {
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

  /** Containers are pinned only if the engine may use all cores. */
  function coresFor({ slots }: KernelSpec): readonly number[] {
    const { cpus } = view.limits
    if (deps.cores !== cpus) return []
    return chooseCores(
      slots.cpu ?? 0,
      cpus,
      Array.from(entries.values(), entry => entry.cpus),
    )
  }

  async function build(
    spec: KernelSpec,
    label: KernelLabel,
    options: StartOptions,
  ): Promise<RequestReply<'create_kernel'>> {
    const { kernelId } = spec
    try {
      // The await also lets `begin` create the entry first. Searching the image changes nothing on the engine; if it fails, the start
      // searches again and reports the failure.
      const look = findHeld(deps.engine, spec.image).catch(() => undefined)
      await deps.verifyEngine().catch((error: unknown) => {
        throw error instanceof AppError ? error : fromEngine(error, 'kernel_create_failed')
      })
      const held = await look
      // The manager considers this kernel ended; on a host that was forgotten and came back it may still run.
      if (spec.filesOf !== undefined) await destroy(spec.filesOf, 0)
      const { container, ssh } = await createInTime(spec, label, { ...options, held })
      deps.onCreated(kernelId)
      unheard.watch(kernelId, spec.attempt, options.deadline.startBy - performance.now())
      // Do this first, so that the notice of the start contains whether folders can be added.
      await deps.liveFolders.check({ kernelId, pid: container.pid })
      entries.adopt(container)
      // Engine events during the creation were ignored, so check again.
      view.containerChanged(kernelId)
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
      entries.forget(kernelId)
      throw error
    } finally {
      ahead.refill()
    }
  }

  return {
    async create(spec, { startWithinMs, prepareWithinMs, signal, ...source }) {
      // Refuse at once: without an engine, a failed start could not be undone.
      if (!view.known) {
        throw new AppError('engine_unreachable', because('docker_silent'))
      }
      using deadline = createStartDeadline(startWithinMs, prepareWithinMs)
      for (;;) {
        const entry = entries.get(spec.kernelId)
        const inTime = AbortSignal.any([signal, deadline.signal])
        if (!entry) return await begin(spec, { deadline, signal: inTime, ...source })
        if (entry.label.attempt > spec.attempt) {
          throw new AppError('kernel_create_failed', because('attempt_in_progress', { attempt: entry.label.attempt }))
        }
        if (entry.label.attempt < spec.attempt || entry.destruction) await destroy(spec.kernelId, 0)
        else return await repeat(entry)
      }
    },
    heard(reports, sentAt) {
      for (const { kernelId, attempt, state } of reports) {
        const entry = entries.get(kernelId)
        if (state.state === 'starting' && state.ahead !== undefined && entry?.label.attempt === attempt)
          entry.creation?.deadline.heardWaiting(sentAt)
      }
      unheard.heard(reports)
    },
    forget: kernelId => unheard.forget(kernelId),
  }
}
