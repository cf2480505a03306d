import { every } from '#base/every'
import { type EngineClient, engineMessage, isEngineUnreachable } from '../docker/engine-client.ts'
import { type EngineState, type EngineWatch, watchEngine } from '../docker/engine-watch.ts'
import { type ImageCatalog } from '../images/catalog.ts'
import { type KernelManager } from '../kernel/kernel-manager.ts'
import { type Log } from '../log.ts'
import { type HostPart } from './host-part.ts'

export interface EnginePartDeps {
  readonly engine: EngineClient
  readonly host: HostPart
  readonly kernels: KernelManager
  readonly images: ImageCatalog
  /** Claims the engine, or checks the claim. @throws `engine_already_managed` */
  readonly holdEngine: () => Promise<void>
  readonly onChange: () => void
  /** Called when the system has killed a program of this kernel, because the container had used up its memory. */
  readonly onMemoryKill: (kernelId: string) => void
  readonly log: Log
}

/** The agent's knowledge of the engine, and the checks that keep it up to date. */
export interface EnginePart extends AsyncDisposable {
  readonly state: EngineState
  /** Resolves when the engine has been queried for the first time. */
  readonly settled: EngineWatch['settled']
  /**
   * Compares all kernels and images with the engine, one check at a time: calls made during a check wait for one further check, which they
   * share. Does nothing while the engine is away.
   */
  check(): Promise<void>
  /** As `check`; a failure is only logged. */
  tryCheck(): Promise<void>
}

const CHECK_AGAIN_MS = 60_000
/** Retry delay after a failed look while the engine is up: nothing can be started until a look succeeds. */
const CHECK_AFTER_FAILURE_MS = 1_000
/** The host's routes come and go without an event, so they are polled. */
const NETWORK_CHECK_MS = 30_000
/** File systems are mounted and unmounted without an event. */
const STORAGE_CHECK_MS = 15_000

/** Follows the engine: its events, its absence, and regular checks of things without events. */
export function startEnginePart(deps: EnginePartDeps): EnginePart {
  const { engine, host, kernels, images, holdEngine, onChange, onMemoryKill, log } = deps
  const { networks, firewall, devices, storage, faults, toolbox } = host
  const complain = (error: unknown) => {
    if (!isEngineUnreachable(error))
      log.error({ why: engineMessage(error), err: error }, 'the state of the engine could not be read')
  }
  const stack = new AsyncDisposableStack()
  const check = serialize(async () => {
    if (!watch.state.reachable) return
    // This comes first: containers on another agent's engine are not ours to clean up.
    await holdEngine()
    await Promise.all([kernels.rescan(watch.state), images.refresh()])
    onChange()
  })
  const tryCheck = () => check().catch(complain)
  const watch = stack.use(
    watchEngine({
      engine,
      log,
      onUp: async () => {
        await Promise.all([firewall.apply(), check(), networks.check()])
        await devices.engineCameUp()
        // A fault of the engine may be over now.
        void faults.check()
        // Prepare the toolbox before the first session needs it; a failure is reported as a problem of the host.
        toolbox.volume().catch(() => undefined)
      },
      onDown() {
        kernels.engineWentAway()
        onChange()
      },
      onEvent(event) {
        if (event.type === 'kernel') {
          // Report this before the check: the container may have ended with its program.
          if (event.action === 'oom') onMemoryKill(event.kernelId)
          kernels.containerChanged(event.kernelId)
        } else {
          images.refresh().catch(complain)
          // The toolbox may have been built or loaded.
          void toolbox.check()
        }
      },
    }),
  )
  const none = Promise.resolve()
  for (const repeated of [
    every(CHECK_AGAIN_MS, tryCheck),
    every(CHECK_AFTER_FAILURE_MS, () => (kernels.overdue ? tryCheck() : none)),
    every(NETWORK_CHECK_MS, () => (watch.state.reachable ? networks.check() : none)),
    every(STORAGE_CHECK_MS, () => storage.check()),
    every(STORAGE_CHECK_MS, () => faults.check()),
  ])
    stack.defer(() => repeated[Symbol.dispose]())
  return {
    get state() {
      return watch.state
    },
    settled: watch.settled,
    check,
    tryCheck,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
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
