import { setTimeout as delay } from 'node:timers/promises'
import { type Log } from '../log.ts'
import { createDiskGuard, type DiskGuardDeps } from './disk-guard.ts'
import { createGpuGuard, type GpuGuardDeps } from './gpu-guard.ts'
import { createUserLimitsGuard } from './user-limits-guard.ts'

export type GuardsDeps = Omit<DiskGuardDeps & GpuGuardDeps, 'signal'>

/** Free space can fall fast; other checks have intervals of their own. */
const DISK_EVERY_MS = 1_000
const USER_LIMITS_EVERY_MS = 2_000
/** GPU memory can be taken at tens of GiB a second. */
const GPU_EVERY_MS = 500
/** Rest after a look, as a multiple of its duration; capped, because on a busy host a look takes long without doing much. */
const REST = 10
const LONGEST_REST_MS = 10_000

/** Watches resources that all sessions of a host share and for which the kernel has no limit per container: disks, memory of shared GPUs, and what it counts per user. */
export function startGuards(deps: GuardsDeps): AsyncDisposable {
  const stop = new AbortController()
  const disk = createDiskGuard({ ...deps, signal: stop.signal })
  const gpus = createGpuGuard({ ...deps, signal: stop.signal })
  const userLimits = createUserLimitsGuard(deps)
  const loops = [
    // The disk guard paces its measurements itself, per session. In between, each check only asks each file system for its free space.
    repeat(() => disk.check(), { everyMs: DISK_EVERY_MS, rest: 0, log: deps.log, signal: stop.signal }),
    repeat(() => userLimits.check(), { everyMs: USER_LIMITS_EVERY_MS, rest: REST, log: deps.log, signal: stop.signal }),
  ]
  if (deps.guard !== 'off')
    loops.push(repeat(() => gpus.check(), { everyMs: GPU_EVERY_MS, rest: REST, log: deps.log, signal: stop.signal }))
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await Promise.all(loops)
    },
  }
}

async function repeat(
  check: () => Promise<void>,
  { everyMs, rest, log, signal }: { everyMs: number; rest: number; log: Log; signal: AbortSignal },
): Promise<void> {
  let complained = false
  while (!signal.aborted) {
    const startedAt = performance.now()
    await check().then(
      () => (complained = false),
      (error: unknown) => {
        if (!signal.aborted && !complained) log.error({ err: error }, 'sessions cannot be watched')
        complained = true
      },
    )
    const took = performance.now() - startedAt
    await delay(Math.max(everyMs, Math.min(rest * took, LONGEST_REST_MS)), undefined, { signal }).catch(() => undefined)
  }
}
