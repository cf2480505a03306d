import { parseGpuList } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { TOOLBOX } from '../docker/container-config.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { type Inside, runInside } from '../docker/run-inside.ts'

const WITHIN_S = 10
/**
 * Environment of nvidia-smi, and nothing else: with the session's PATH another program of that name might run, and with its LD_PRELOAD the
 * image's code would run in it. The directories also cover hosts that mount the driver below /usr/local/nvidia.
 */
const ENVIRONMENT = [
  'PATH=/usr/bin:/usr/local/bin:/usr/local/nvidia/bin:/bin',
  'LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/local/nvidia/lib',
]
const BUSYBOX = `${TOOLBOX}/bin/busybox`

export interface GpuCheck {
  readonly container: { readonly id: string; readonly user: string }
  readonly uuids: readonly string[]
  /** Called if the check fails: a container that has ended on its own uses no GPU any more. */
  readonly hasEnded: () => Promise<boolean>
}

/**
 * Checks that a new container has the requested GPUs and no others. A GPU requested by its index may be a different one: indexes change
 * with a reboot or a replaced GPU, but the engine's CDI file does not.
 *
 * @throws `kernel_create_failed`, also if nvidia-smi does not run in the container
 */
export async function checkGpus(engine: EngineClient, { container, uuids, hasEnded }: GpuCheck): Promise<void> {
  const inside: Inside = { containerId: container.id, user: container.user }
  // The engine adds variables to the container's, so only an extra program can restrict the environment to ours.
  const clean = [BUSYBOX, 'env', '-i', ...ENVIRONMENT]
  const command = [...clean, BUSYBOX, 'timeout', '-s', 'KILL', String(WITHIN_S), 'nvidia-smi', '-L']
  const { output, exitCode } = await runInside(engine, inside, { command })
  const listed = parseGpuList(output)
  // A GPU in MIG mode is listed above its instances, and cannot be used itself.
  const parents = new Set(listed.map(({ parent }) => parent))
  const found = listed.map(({ uuid }) => uuid).filter(uuid => !parents.has(uuid))
  if (exitCode === 0 && found.toSorted().join() === uuids.toSorted().join()) return
  if (await hasEnded()) return
  throw new AppError(
    'kernel_create_failed',
    exitCode === 0
      ? because('gpu_index_moved', { asked: uuids.join(', '), found: found.join(', ') || '–' })
      : because('gpu_not_checked', { text: output.trim().split('\n').at(-1) ?? '' }),
  )
}
