import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { createEngineClient } from '../../agent/docker/engine-client.ts'
import { gpuOptions, joinGpuRequests } from '../../agent/docker/gpu-request.ts'
import { createAmdGpus, isAmdGpu } from '../../agent/gpu/amd.ts'
import { createAmdRequests } from '../../agent/gpu/amd-requests.ts'
import { createAmdSysfs } from '../../agent/gpu/amd-sysfs.ts'
import { type Devices, openDevices } from '../../agent/gpu/devices.ts'
import { type GpuPlugin } from '../../agent/gpu/gpu-plugin.ts'
import { nvidiaRequest } from '../../agent/gpu/nvidia-requests.ts'
import { createGpuLooks, sessionGpus } from '../../agent/stats/gpu-stats.ts'
import { AmdHost } from '../fixtures/amd-host.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, execIn, madeContainer } from '../fixtures/docker.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'

// The engine, its containers and the device files are real; sysfs and amd-smi are stand-ins, and the files are those of /dev/null and /dev/zero.
const run = promisify(execFile)
const GiB = 2 ** 30
const MI300 = { bus: '0000:05:00.0', render: 128, kfd: '41880', memBytes: 192 * GiB, uniqueId: '1f9de0957d137942' }
const RADEON = { bus: '0000:c4:00.0', render: 129, kfd: '26967', memBytes: 20 * GiB, uniqueId: 'b2a3c7a493a78a0a' }
const [A, B] = ['AMD-1f9de0957d137942', 'AMD-b2a3c7a493a78a0a']
const T4 = 'GPU-5f1c0b0a-6f41-4c4f-9a51-6f2f8d0f0a11'
/** A group without a name, as that of the host's files is in most images. */
const RENDER = 4109
const STATIC = [
  { gpu: 0, asic: { market_name: 'AMD Instinct MI300X' }, vram: { size: { value: 196_592, unit: 'MB' } } },
  { gpu: 1, asic: { market_name: 'AMD Radeon RX 7900 XT' }, vram: { size: { value: 20_464, unit: 'MB' } } },
]

let host: AmdHost
let devices: Devices
let cdi: string | undefined
const cleanup = new AsyncDisposableStack()

beforeAll(async () => {
  await busyboxImage()
  const { path } = cleanup.use(await temporaryDirectory())
  host = new AmdHost(path)
  for (const card of [MI300, RADEON]) await host.plug(card)
  await host.say({
    list: [MI300, RADEON].map(({ bus }, gpu) => ({ gpu, bdf: bus, partition_id: 0 })),
    static: STATIC,
    metric: { gpu_data: [] },
    'bad-pages': [],
  })
  const dev = join(path, 'dev')
  await mkdir(join(dev, 'dri'), { recursive: true })
  for (const [name, minor] of [
    ['kfd', 3],
    ['dri/renderD128', 5],
    ['dri/renderD129', 5],
  ] as const) {
    await run('mknod', ['-m', '660', join(dev, name), 'c', '1', String(minor)])
    await run('chgrp', [String(RENDER), join(dev, name)])
  }
  const { CDISpecDirs } = (await docker.info()) as { CDISpecDirs?: string[] | null }
  // Only with its own files: the tests must not use those of a machine.
  const specs = CDISpecDirs?.find(directory => !/^(\/etc|\/var\/run|\/run)\//.test(directory))
  cdi = specs === undefined ? undefined : join(specs, 'berth-test-amd.json')
  // As AMD's toolkit writes it: without mode and group an engine makes files that everybody may use.
  const access = { type: 'c', permissions: 'rw', fileMode: 0o660, uid: 0, gid: RENDER }
  const node = (name: string) => ({ path: `/dev/${name}`, hostPath: join(dev, name), ...access })
  const spec = {
    cdiVersion: '0.6.0',
    kind: 'amd.com/gpu',
    devices: ['renderD129', 'renderD128'].map((render, index) => ({
      name: String(index),
      containerEdits: { deviceNodes: [node(`dri/${render}`), node('kfd')] },
    })),
  }
  if (cdi !== undefined) await writeFile(cdi, JSON.stringify(spec))

  const finder = createAmdGpus({ programs: [host.program], sysfs: createAmdSysfs(host.sys) })
  const engine = createEngineClient(process.env.DOCKER_HOST)
  const amd: GpuPlugin = {
    ...finder,
    owns: isAmdGpu,
    requests: createAmdRequests({ engine, isEngineHere: () => true, finder, devices: dev }),
    shares: { by: 'nobody', reason: because('amd_shares_accounted') },
  }
  const nvidia: GpuPlugin = {
    name: 'nvidia',
    probe: () => Promise.resolve({ gpus: [aT4], figures: [] }),
    figures: () => Promise.resolve([]),
    processes: () => Promise.resolve(new Map()),
    owns: uuid => uuid.startsWith('GPU-'),
    requests: {
      of: uuids => Promise.resolve(nvidiaRequest({ by: 'hook' }, uuids)),
      problems: () => Promise.resolve(new Map()),
    },
    shares: { by: 'nobody', reason: because('limits_of_simulated') },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  devices = cleanup.use(
    await openDevices({
      plugins: [nvidia, amd],
      testStart: () => Promise.resolve(null),
      held: () => new Set(),
      isEngineUp: () => true,
      guard: 'end',
      seesProcesses: () => true,
      onChange() {},
      onFailed() {},
      log: pino({ level: 'silent' }),
    }),
  )
})
afterAll(async () => {
  if (cdi !== undefined) await rm(cdi, { force: true })
  await cleanup[Symbol.asyncDispose]()
})
const aT4 = {
  uuid: T4,
  model: 'Tesla T4',
  memBytes: 15 * GiB,
  mode: 'whole' as const,
  sharedBecause: null,
  problem: null,
}

const whole = (...uuids: string[]) => ({
  devices: uuids.map(uuid => ({ uuid, slot: 'cuda.device' as const, amount: 1 })),
})

test('GPUs of both makers are found on one host, each with its model', () => {
  expect(devices.list().map(({ uuid, model, plugin, problem }) => [uuid, model, plugin, problem])).toEqual([
    [T4, 'Tesla T4', 'nvidia', null],
    [A, 'AMD Instinct MI300X', 'amd', null],
    [B, 'AMD Radeon RX 7900 XT', 'amd', null],
  ])
})

test('a session gets its GPU and no other, as a user who is in the group of the file, also in its terminals', async () => {
  const request = await devices.request(whole(A))
  const way = cdi === undefined ? { files: [{}, {}] } : { deviceRequests: [{ DeviceIDs: ['amd.com/gpu=1'] }] }
  expect(request).toMatchObject({ uuids: [A], groups: [RENDER], ...way })
  // As sessions are: without capabilities, as a user without names.
  const HostConfig = { CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], ...gpuOptions(request) }
  await using container = await madeContainer({
    Image: BUSYBOX_IMAGE,
    User: '2000:2000',
    Cmd: ['sleep', '1000'],
    HostConfig,
  })
  await container.start()
  const inside = async (...command: string[]) => (await execIn(container.id, ...command)).stdout.trim()
  expect(await inside('ls', '/dev/dri', '/dev/kfd')).toBe('/dev/kfd\n\n/dev/dri:\nrenderD128')
  expect((await inside('id', '-G')).split(' ').toSorted()).toEqual(['2000', String(RENDER)])
  const opens = ['dd', 'if=/dev/dri/renderD128', 'of=/dev/null', 'bs=4', 'count=1']
  expect((await execIn(container.id, ...opens)).exitCode).toBe(0)
  // The group is what lets the user open it.
  const { GroupAdd: _, ...others } = HostConfig
  const plan = { Image: BUSYBOX_IMAGE, User: '2000:2000', Cmd: ['sleep', '1000'], HostConfig: others }
  await using stranger = await madeContainer(plan)
  await stranger.start()
  expect((await execIn(stranger.id, ...opens)).exitCode).not.toBe(0)

  // Processes of the session are known by their control groups.
  const { State } = await container.inspect()
  await host.compute(State.Pid, MI300.kfd, 3 * GiB)
  await host.compute(process.pid, MI300.kfd, GiB)
  devices.setModes({ [A]: 'shared' })
  const holder = { containerId: container.id, pid: State.Pid, devices: [A] }
  const look = await createGpuLooks(devices)([holder], new AbortController().signal)
  expect(sessionGpus(holder, look)).toEqual([
    {
      uuid: A,
      utilization: 0,
      memBytes: 3 * GiB,
      device: { utilization: 0, memBytes: 0, totalBytes: 196_592 * 2 ** 20 },
    },
  ])
  expect(devices.list()[1]).toMatchObject({
    isolation: 'accounted',
    isolationReasonBy: { cause: 'amd_shares_accounted' },
  })
  expect(devices.guarded()).toEqual([])
})

test('a session without a GPU has no file of one', async () => {
  const request = await devices.request({ devices: [] })
  expect(gpuOptions(request)).toEqual({})
  await using container = await madeContainer({
    Image: BUSYBOX_IMAGE,
    Cmd: ['sleep', '1000'],
    HostConfig: gpuOptions(request),
  })
  await container.start()
  expect((await execIn(container.id, 'ls', '/dev')).stdout).not.toMatch(/kfd|dri/)
})

test('a request for GPUs of both makers has what each needs', async () => {
  const request = await devices.request(whole(T4, B))
  expect(request).toMatchObject({
    uuids: [T4, B],
    groups: [RENDER],
    environment: { NVIDIA_VISIBLE_DEVICES: T4, AMD_VISIBLE_DEVICES: 'none' },
    advice: { ROCR_VISIBLE_DEVICES: '0' },
  })
  expect(joinGpuRequests([request])).toEqual(request)
  await expect(devices.request(whole('XPU-1'))).rejects.toMatchObject({ detail: { cause: 'gpu_of_no_plugin' } })
})
