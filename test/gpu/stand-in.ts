import { mkdir, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type Engine } from './engine.ts'
import { Skipped } from './table.ts'

const UUID = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
const SPEC = 'berth-gpu-check.json'

/**
 * A GPU that is none, for `--simulated`: an nvidia-smi in front of PATH, and a file of CDI by which the engine gives containers `/dev/null` as
 * their GPU. Only for an engine that uses CDI with a folder of its own, so that a machine's GPUs stay as they are.
 *
 * @throws Skipped for any other engine
 */
export async function makeStandIn(
  engine: Engine,
  scratch: string,
  signal: AbortSignal,
): Promise<{ path: string } & AsyncDisposable> {
  const { CDISpecDirs } = (await engine.get('/info', signal)) as { CDISpecDirs?: string[] | null }
  const specs = CDISpecDirs?.find(directory => !/^(\/etc|\/var\/run|\/run)\//.test(directory))
  if (specs === undefined) throw new Skipped('this engine does not use CDI with a folder of its own')
  const bin = join(scratch, 'bin')
  await mkdir(bin, { recursive: true })
  const smi = join(bin, 'nvidia-smi')
  const inside = join(scratch, 'nvidia-smi-inside')
  await writeFile(
    smi,
    `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${join(import.meta.dirname, 'nvidia-smi.ts')}' "$@"\n`,
    { mode: 0o755 },
  )
  await writeFile(inside, `#!/bin/sh\necho 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: ${UUID})'\n`, { mode: 0o755 })
  const device = {
    name: UUID,
    containerEdits: {
      deviceNodes: ['nvidia0', 'nvidiactl', 'nvidia-uvm'].map(name => ({
        path: `/dev/${name}`,
        hostPath: '/dev/null',
      })),
      mounts: [{ hostPath: inside, containerPath: '/usr/bin/nvidia-smi', options: ['ro', 'bind'] }],
    },
  }
  const spec = {
    cdiVersion: '0.6.0',
    kind: 'nvidia.com/gpu',
    containerEdits: { env: ['NVIDIA_VISIBLE_DEVICES=void'] },
    devices: [device],
  }
  await mkdir(specs, { recursive: true })
  await writeFile(join(specs, SPEC), JSON.stringify(spec))
  return {
    path: [bin, process.env.PATH].join(delimiter),
    [Symbol.asyncDispose]: () => rm(join(specs, SPEC), { force: true }),
  }
}
