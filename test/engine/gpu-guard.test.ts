import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pino from 'pino'
import { expect, test } from 'vitest'
import { type StoppedFor } from '#agent/contract'
import { type Because, because, type KernelId, type SessionId } from '#manager/contract'
import { NO_GPUS } from '../../agent/docker/gpu-request.ts'
import { openDevices } from '../../agent/gpu/devices.ts'
import { createNvidiaGpus } from '../../agent/gpu/nvidia.ts'
import { nvidiaPlugin } from '../../agent/gpu/nvidia-plugin.ts'
import { createGpuGuard } from '../../agent/limits/gpu-guard.ts'
import { type RunningKernel } from '../../agent/running-kernel.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, madeContainer } from '../fixtures/docker.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'

const GPU = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'

// The containers, their control groups and the kill are real; `nvidia-smi` is a script with the output of driver 580.
test('the container whose processes hold more than its share is ended, by figures of nvidia-smi and its control group', async () => {
  await using place = await temporaryDirectory()
  await busyboxImage()
  const program = join(place.path, 'nvidia-smi')
  await writeFile(
    program,
    `#!/bin/sh
case "$*" in
  --query-compute-apps*) cat '${program}.apps' ;;
  pmon*) exit 3 ;;
  *-q*-x*|*-L*) ;;
  *) echo '${GPU}, 81559, Disabled, 0, 50, 30000, NVIDIA H100 80GB HBM3' ;;
esac
`,
    { mode: 0o755 },
  )
  const procDirectory = join(place.path, 'proc')
  await mkdir(procDirectory)
  await using devices = await openDevices({
    plugins: [
      nvidiaPlugin(
        createNvidiaGpus({ shared: new Set([GPU]), program, procDirectory, kernelLog: join(place.path, 'none') }),
        {
          requests: { of: () => Promise.resolve(NO_GPUS), problems: () => Promise.resolve(new Map()) },
          shares: {
            by: 'driver',
            probe: () => Promise.resolve({ isolation: 'accounted', reason: because('limits_need_driver') }),
            limits: { set: () => Promise.resolve() },
          },
        },
      ),
    ],
    testStart: () => Promise.resolve(null),
    held: () => new Set(),
    isEngineUp: () => true,
    guard: 'end',
    seesProcesses: () => true,
    onChange() {},
    onFailed() {},
    log: pino({ level: 'silent' }),
  })
  expect(devices.list()).toMatchObject([{ uuid: GPU, slot: 'cuda.shares', isolation: 'guarded' }])

  const sleep = { Image: BUSYBOX_IMAGE, Cmd: ['sleep', '1000'] }
  await using greedy = await madeContainer(sleep)
  await using modest = await madeContainer(sleep)
  const kernels: RunningKernel[] = []
  for (const container of [greedy, modest]) {
    await container.start()
    const { Id, State } = await container.inspect()
    kernels.push({
      kernelId: Id as KernelId,
      sessionId: Id as SessionId,
      containerId: Id,
      address: '',
      user: '0:0',
      apps: [],
      environ: {},
      pid: State.Pid,
      devices: [GPU],
      shares: [{ uuid: GPU, slot: 'cuda.shares', amount: 25 }],
    })
  }
  const [first, second] = kernels.map(({ pid }) => pid)
  await writeFile(
    `${program}.apps`,
    `${GPU}, ${first}, 31722\n${GPU}, ${second}, 20500\n${GPU}, ${process.pid}, 9000\n`,
  )
  const warned: Because[] = []
  const ended: (readonly [string, StoppedFor])[] = []
  const guard = createGpuGuard({
    running: () => kernels.filter(({ kernelId }) => !ended.some(([id]) => id === kernelId)),
    devices,
    guard: 'end',
    warn: (_id, why) => warned.push(why),
    async stop(kernelId, why) {
      ended.push([kernelId, why])
      await docker.getContainer(kernelId).kill()
    },
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  })
  await expect
    .poll(async () => {
      await guard.check()
      return ended.length
    })
    .toBe(1)
  expect(warned).toEqual([because('gpu_share_warned', { used: '31 GiB', share: '19.9 GiB' })])
  expect(ended[0]?.[1]).toMatchObject({ code: 'gpu_limit', values: { used: '31 GiB', share: '19.9 GiB' } })
  await expect.poll(async () => (await greedy.inspect()).State.Running).toBe(false)
  expect((await modest.inspect()).State.Running).toBe(true)
})
