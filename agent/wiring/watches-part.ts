import { type FromAgent } from '#agent/contract'
import { type Config } from '../config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { type KernelManager } from '../kernel/kernel-manager.ts'
import { startGuards } from '../limits/guards.ts'
import { type Log } from '../log.ts'
import { startStats } from '../stats/stats.ts'
import { type HostPart } from './host-part.ts'
import { type KernelNews } from './kernel-news.ts'

export interface WatchesPartDeps {
  readonly config: Config
  readonly engine: EngineClient
  readonly host: Pick<HostPart, 'files' | 'devices'>
  readonly kernels: KernelManager
  readonly notify: (message: FromAgent) => void
  readonly warn: KernelNews['warn']
  readonly log: Log
}

/** Starts the watches over running kernels: their use of resources, and the guards that warn and stop kernels beyond their limits. */
export function startWatchesPart(deps: WatchesPartDeps): AsyncDisposable {
  const { config, engine, kernels, notify, warn, log } = deps
  const { files, devices } = deps.host
  const homeOf = (kernelId: string) => files.paths(kernelId).scratch
  const stack = new AsyncDisposableStack()
  stack.use(
    startStats({
      engine,
      kernels,
      devices,
      scratchOf: homeOf,
      onSample: samples => notify({ type: 'stats', kernels: samples }),
    }),
  )
  stack.use(
    startGuards({
      running: () => kernels.running(),
      homeOf,
      floorBytes: config.freeSpaceFloorBytes,
      limits: config.homeLimits,
      homeLimits: async kernelId => (await files.homeQuota()).unenforced(homeOf(kernelId)),
      stop: (kernelId, why) => kernels.halt(kernelId, why),
      devices,
      guard: config.gpuGuard,
      warn: (kernelId, why) => warn('gpu_warned', kernelId, why),
      log,
    }),
  )
  return stack
}
