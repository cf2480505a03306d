import { type ContainerCreateOptions } from 'dockerode'
import { z } from 'zod'
import { type Because, because, becauseOf, together } from '#manager/contract'
import { type EngineClient, engineMessage, isMissing } from '../docker/engine-client.ts'
import { readLines } from '../docker/lines.ts'
import { NO_NEW_PRIVILEGES } from '../docker/container-config.ts'
import { gpuOptions, type GpuRequest } from '../docker/gpu-request.ts'
import { removeContainer } from '../docker/remove-container.ts'
import { type FoundGpu, type GpuRequests, type Probe, type Verdict } from './gpu-plugin.ts'
import { type MemoryLimits } from './memory-limits.ts'
import { PROBE_SCRIPT } from './probe-script.ts'

export interface ProbeDeps {
  readonly engine: EngineClient
  readonly limits: MemoryLimits
  readonly requests: Pick<GpuRequests, 'of'>
  /** Image of the probe's container; it must have `python3`. */
  readonly image: string
  /** Replaced only by tests with a fake driver. */
  readonly container?: (request: GpuRequest, image: string) => ContainerCreateOptions
}

const MiB = 2 ** 20
/**
 * Largest limit, in bytes, that a probe sets; more than a CUDA program needs for itself. A driver with rounding steps too large
 * for arbitrary limits rounds this up beyond the tolerance (`memory-limits.ts`).
 */
const PART = 1100 * MiB
const WITHIN_MS = 60_000

/**
 * Tests whether a limit set from outside confines the programs in a container to their part: first without a limit, to show
 * that a refusal comes from the limit, then with one, by one program and by several together. Only an observed refusal counts;
 * a probe that could not be carried out is `accounted`.
 *
 * The probe's container is built like a session's, without network, folders or capabilities. It is removed whatever happens; if
 * the agent crashes, the next probe of that GPU removes it.
 */
export function createProbe({ engine, limits, requests, image, container = probeContainer }: ProbeDeps): Probe {
  async function attempt(id: string, what: string, bytes: number): Promise<string> {
    const exec = await engine.streams.getContainer(id).exec({
      Cmd: ['python3', '-c', PROBE_SCRIPT, what, String(bytes)],
      AttachStdout: true,
      AttachStderr: false,
      // With a TTY the stream has no framing.
      Tty: true,
    })
    const stream = await exec.start({ hijack: false, stdin: false, Tty: true })
    const lines: string[] = []
    for await (const line of readLines(stream)) lines.push(line)
    const outcome = Outcome.safeParse(lines.at(-1)?.trim())
    if (!outcome.success) throw new Error(`the test program failed: ${lines.slice(-3).join(' ').slice(0, 300)}`)
    return outcome.data
  }

  async function judge(id: string, { uuid, memBytes }: FoundGpu): Promise<Verdict> {
    const part = Math.min(PART, Math.floor(memBytes / 4 / MiB) * MiB)
    const [less, more] = [part / 4, part * 1.5]
    if ((await attempt(id, 'one', more)) !== 'allocated') return untried(because('gpu_without_free_memory'))
    await limits.set((await inspectPid(id)) ?? 0, uuid, part)
    if ((await attempt(id, 'one', less)) !== 'allocated') return accounted(because('limits_too_strict'))
    if ((await attempt(id, 'one', more)) !== 'refused') return accounted(because('limits_passed_by_one'))
    if ((await attempt(id, 'several', less)) !== 'refused') return accounted(because('limits_passed_by_several'))
    return { isolation: 'enforced', reason: because('limits_hold') }
  }

  async function inspectPid(id: string): Promise<number | undefined> {
    return (await engine.calls.getContainer(id).inspect()).State.Pid
  }

  return async (gpu, signal) => {
    const missing = await limits.missing()
    if (missing !== null) return accounted(missing)
    try {
      // Removed by name: an image of a session could carry the same label.
      await removeContainer(engine, probeName(gpu.uuid))
      const made = await engine.calls.createContainer(container(await requests.of([gpu.uuid]), image))
      try {
        await made.start()
        return await unlessAborted(AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)]), judge(made.id, gpu))
      } finally {
        await removeContainer(engine, made.id)
      }
    } catch (error) {
      return untried(
        isMissing(error)
          ? because('probe_image_missing', { image })
          : (becauseOf(error) ?? because('docker_says', { text: engineMessage(error) })),
      )
    }
  }
}

const Outcome = z.enum(['allocated', 'refused'])

const accounted = (reason: Because): Verdict => ({ isolation: 'accounted', reason })
const untried = (why: Because): Verdict => ({
  ...accounted(together(because('limits_not_tested'), why)),
  later: true,
})

export const probeName = (uuid: string) => `berth-probe-${uuid}`

/** Built from an allowlist, like a session's container; nothing in it comes from a user. */
export function probeContainer(request: GpuRequest, image: string): ContainerCreateOptions {
  return {
    name: probeName(request.uuids[0] ?? ''),
    Image: image,
    User: '65534:65534',
    WorkingDir: '/',
    Entrypoint: [],
    Cmd: ['python3', '-c', `import time; time.sleep(${WITHIN_MS / 1000})`],
    Env: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NanoCpus: 1_000_000_000,
      Memory: 2 ** 31,
      MemorySwap: 2 ** 31,
      PidsLimit: 256,
      Init: true,
      SecurityOpt: [NO_NEW_PRIVILEGES],
      CapDrop: ['ALL'],
      IpcMode: 'private',
      NetworkMode: 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      ...gpuOptions(request),
    },
  }
}

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>()
  const end = () => ended.reject(new Error(`the test did not end within ${WITHIN_MS / 1000} s`))
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  work.catch(() => undefined)
  try {
    return await Promise.race([work, ended.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
