import { setImmediate } from 'node:timers/promises'
import { every } from '#base/every'
import { type KernelId, type SessionGpu, type SessionStats } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { endStream, readLines } from '../docker/lines.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { type Counters, readCounters } from './cgroup.ts'
import { directorySize } from './directory-size.ts'
import { readDockerSample } from './docker-stats.ts'
import { createGpuLooks, sessionGpus, groupsOfProcesses, type GpuSource } from './gpu-stats.ts'

export interface StatsDeps {
  readonly engine: EngineClient
  readonly kernels: { running(): RunningKernel[] }
  readonly devices: GpuSource
  readonly scratchOf: (kernelId: KernelId) => string
  readonly onSample: (samples: Sample[]) => void
}

interface Sample {
  readonly kernelId: KernelId
  readonly stats: SessionStats
}

const EVERY_MS = 1_000
const SCRATCH_EVERY_MS = 60_000
const SCRATCH_ENTRIES = 20_000

interface Watched {
  last?: Counters
  scratchBytes: number | null
  scratchAtMs: number
  /** Docker's stream and its latest figures; used if the files cannot be read. */
  stream?: { latest?: Counters; readonly end: AbortController }
}

/**
 * Measures every running kernel once a second, from its control group. Docker's own one-shot call blocks for a second, and
 * Docker's stream costs one connection per container, so the stream is used only if the engine's processes are not those of
 * this host.
 */
export function startStats({ engine, kernels, devices, scratchOf, onSample }: StatsDeps): AsyncDisposable {
  const watched = new Map<string, Watched>()
  const stop = new AbortController()
  const lookAtGpus = createGpuLooks(devices)
  let measuring: Promise<unknown> = Promise.resolve()

  async function sample(): Promise<void> {
    const running = kernels.running()
    forgetOthers(new Set(running.map(kernel => kernel.containerId)))
    if (running.length === 0) return
    const look = await lookAtGpus(running, stop.signal)
    const groupOf = groupsOfProcesses()
    const samples: Sample[] = []
    for (const [index, kernel] of running.entries()) {
      // Let tunnels run between two kernels.
      if (index > 0) await setImmediate()
      const sample = measure(kernel, sessionGpus(kernel, look, groupOf))
      if (sample) samples.push(sample)
    }
    if (!stop.signal.aborted) onSample(samples)
  }

  function measure(kernel: RunningKernel, gpus: SessionGpu[]): Sample | undefined {
    const state = stateOf(kernel.containerId)
    const now = readCounters(kernel.pid, kernel.containerId) ?? fromStream(kernel.containerId, state)
    if (!now) return undefined
    const { last } = state
    state.last = now
    measureScratch(kernel, state)
    if (!last) return undefined
    const { cpuNanos, atMs: _at, ...counters } = now
    return {
      kernelId: kernel.kernelId,
      stats: {
        at: new Date().toISOString(),
        cpuMilli: cpuMilli(last, now),
        cpuSeconds: Math.round(cpuNanos / 1e6) / 1e3,
        ...counters,
        scratchBytes: state.scratchBytes,
        gpus,
      },
    }
  }

  function stateOf(containerId: string): Watched {
    const state = watched.get(containerId) ?? { scratchBytes: null, scratchAtMs: -Infinity }
    watched.set(containerId, state)
    return state
  }

  /** Measures homes in the background, one kernel after the other: a home with many files must not delay the figures. */
  function measureScratch(kernel: RunningKernel, state: Watched): void {
    if (performance.now() - state.scratchAtMs < SCRATCH_EVERY_MS) return
    // Prevents another measurement from queueing up before this one is done.
    state.scratchAtMs = Infinity
    measuring = measuring
      .then(() => directorySize(scratchOf(kernel.kernelId), { limit: SCRATCH_ENTRIES, signal: stop.signal }))
      .catch(() => null)
      .then(bytes => Object.assign(state, { scratchBytes: bytes, scratchAtMs: performance.now() }))
  }

  function fromStream(containerId: string, state: Watched): Counters | undefined {
    if (!state.stream) {
      const end = new AbortController()
      const stream: NonNullable<Watched['stream']> = { end }
      state.stream = stream
      follow(containerId, end.signal, counters => (stream.latest = counters))
        .catch(() => undefined)
        .finally(() => delete state.stream)
    }
    return state.stream.latest
  }

  async function follow(containerId: string, signal: AbortSignal, on: (counters: Counters) => void): Promise<void> {
    const stream = await engine.streams.getContainer(containerId).stats({ stream: true })
    signal.addEventListener('abort', () => endStream(stream), { once: true })
    for await (const line of readLines(stream)) {
      const counters = readDockerSample(line, performance.now())
      if (counters) on(counters)
      if (signal.aborted) break
    }
  }

  function forgetOthers(live: ReadonlySet<string>): void {
    for (const [containerId, state] of watched) {
      if (live.has(containerId)) continue
      state.stream?.end.abort()
      watched.delete(containerId)
    }
  }

  const sampling = every(EVERY_MS, sample)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      const sampled = sampling[Symbol.asyncDispose]()
      forgetOthers(new Set())
      await Promise.all([sampled, measuring])
    },
  }
}

/** CPU use in 1/1000 core, averaged between two moments. A restarted container counts from 0. */
export function cpuMilli(
  before: Pick<Counters, 'atMs' | 'cpuNanos'>,
  after: Pick<Counters, 'atMs' | 'cpuNanos'>,
): number {
  const elapsedMs = after.atMs - before.atMs
  if (elapsedMs <= 0 || after.cpuNanos < before.cpuNanos) return 0
  return Math.round((after.cpuNanos - before.cpuNanos) / 1000 / elapsedMs)
}
