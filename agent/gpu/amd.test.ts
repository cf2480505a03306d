import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { AmdHost } from '../../test/fixtures/amd-host.ts'
import { type AmdFinder, type AmdOptions, createAmdGpus } from './amd.ts'
import { type AmdUse, createAmdSysfs } from './amd-sysfs.ts'
import { createSmi, type Execute } from './run-smi.ts'

const execute = promisify(execFile)
const GiB = 2 ** 30
const MI300 = { bus: '0000:05:00.0', render: 128, kfd: '41880', memBytes: 192 * GiB, uniqueId: '1f9de0957d137942' }
const RADEON = { bus: '0000:c4:00.0', render: 129, kfd: '26967', memBytes: 20 * GiB }
const [A, B] = ['AMD-1f9de0957d137942', 'AMD-0000:c4:00.0']

const LIST = [
  { gpu: 0, bdf: MI300.bus, partition_id: 0 },
  { gpu: 1, bdf: RADEON.bus, partition_id: 0 },
]
const STATIC = {
  gpu_data: [
    { gpu: 0, asic: { market_name: 'AMD Instinct MI300X' }, vram: { size: { value: 196_592, unit: 'MB' } } },
    { gpu: 1, asic: { market_name: 'Radeon RX 7900 XT' }, vram: { size: 'N/A' } },
  ],
}
const metric = (uncorrectable: number, status = 'UNTHROTTLED') => ({
  gpu_data: [{ gpu: 0, ecc: { total_uncorrectable_count: uncorrectable }, power: { throttle_status: status } }],
})
const PAGES = LIST.map(({ gpu }) => ({ gpu, pending: 'No bad pages found.' }))
const WELL = { list: LIST, static: STATIC, metric: metric(0), 'bad-pages': PAGES }

let directory: string
let host: AmdHost
let finder: AmdFinder
let time: number
const { signal } = new AbortController()
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-amd-'))
  host = new AmdHost(directory)
  time = 0
  finder = open()
})
afterEach(async () => {
  await finder[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})
const open = (more: Partial<AmdOptions> = {}) =>
  createAmdGpus({ programs: [host.program], sysfs: createAmdSysfs(host.sys), now: () => time, ...more })
const nextLook = () => {
  time += 60_000
  return finder.probe(signal)
}
const problems = async () => (await nextLook()).gpus.map(({ problem }) => problem)

test('a host without the driver has no GPUs, and runs nothing', async () => {
  finder = open({ programs: ['/nonexistent'], createRun: () => () => Promise.reject(new Error('it ran')) })
  expect(await finder.probe(signal)).toEqual({ gpus: [], figures: [] })
})

test('GPUs have the names of the tool, figures of the driver, and UUIDs of their chips or places', async () => {
  await host.plug({ ...MI300, usedBytes: 3 * GiB, busy: 47 })
  await host.plug(RADEON)
  // The graphics part of a processor.
  await host.plug({ bus: '0000:c5:00.0', render: 130, kfd: '1', memBytes: GiB / 2 })
  await host.say(WELL)
  const { gpus, figures } = await finder.probe(signal)
  expect(gpus).toMatchObject([
    { uuid: A, model: 'AMD Instinct MI300X', memBytes: 196_592 * 2 ** 20, mode: 'whole', problem: null, warning: null },
    { uuid: B, model: 'Radeon RX 7900 XT', memBytes: 20 * GiB, problem: null },
  ])
  expect(figures).toEqual([
    { uuid: A, utilization: 47, memBytes: 3 * GiB },
    { uuid: B, utilization: 0, memBytes: 0 },
  ])
  expect(await finder.figures(signal)).toEqual(figures)
  expect(finder.deviceOf(A)).toMatchObject({ render: 'renderD128', kfd: '41880' })
})

test('without a tool GPUs are found, with what the driver says', async () => {
  await host.plug(MI300)
  finder = open({ programs: [join(directory, 'none'), join(directory, 'rocm-smi')], shared: new Set([A]) })
  expect((await finder.probe(signal)).gpus).toMatchObject([
    { uuid: A, model: 'AMD GPU', memBytes: 192 * GiB, mode: 'shared', problem: null },
  ])
})

test('errors of memory, partitions and a GPU for graphics only are problems', async () => {
  await host.plug(MI300)
  await host.say({ ...WELL, metric: metric(2) })
  expect(await problems()).toEqual([because('amd_ecc_errors', { count: 2, bus: MI300.bus })])
  await host.say({ ...WELL, 'bad-pages': [{ gpu: 0, pending: [{ page_address: '0x1' }] }] })
  expect(await problems()).toEqual([because('amd_pages_pending', { bus: MI300.bus })])
  await host.say({ ...WELL, list: [...LIST, { gpu: 2, bdf: '0000:05:00.1', partition_id: 1 }] })
  expect(await problems()).toEqual([because('amd_partitioned', { bus: MI300.bus })])
  await host.say(WELL)
  expect(await problems()).toEqual([null])
  await rm(join(host.sys, 'class/kfd'), { recursive: true })
  expect(await problems()).toEqual([because('amd_not_in_kfd')])
})

test('a GPU that disappears stays with a problem until it is back', async () => {
  await host.plug(MI300)
  await host.plug(RADEON)
  await host.say(WELL)
  await finder.probe(signal)
  await host.unplug(MI300.bus)
  const { gpus } = await finder.probe(signal)
  expect(gpus.find(({ uuid }) => uuid === A)?.problem).toEqual(because('amd_gpu_gone'))
  expect(gpus.find(({ uuid }) => uuid === B)?.problem).toBeNull()
  await host.plug(MI300)
  expect((await finder.probe(signal)).gpus).toMatchObject([{ uuid: A, problem: null }, { uuid: B }])
})

test('a tool that hangs is given up at its deadline, and its GPUs have a problem until it answers', async () => {
  await host.plug(MI300)
  await host.say({ ...WELL, metric: 'hang' })
  const silent = because('amd_smi_silent', { program: 'amd-smi', seconds: 0.3 })
  const texts = {
    silent: () => silent,
    fails: (text: string) => because('amd_smi_fails', { program: 'amd-smi', text }),
  }
  // Only the hanging program has the short deadline: on a busy machine others may take longer to answer.
  let hanging = 'metric'
  const run: Execute = (program, args, options) =>
    execute(program, args, { ...options, timeout: args[0] === hanging ? options.timeout : 0 })
  finder = open({ createRun: program => createSmi(program, { timeoutMs: 300, graceMs: 60_000, run, texts }) })
  expect((await finder.probe(signal)).gpus).toMatchObject([{ model: 'AMD Instinct MI300X', problem: silent }])
  hanging = ''
  await host.say(WELL)
  expect(await problems()).toEqual([null])
  // A tool that only fails says nothing about the GPU.
  await host.say({ list: 1 })
  expect((await nextLook()).gpus).toMatchObject([
    {
      model: 'AMD Instinct MI300X',
      problem: null,
      warning: because('amd_smi_fails', { program: 'amd-smi', text: 'AmdSmiLibraryException: 43' }),
    },
  ])
})

test('a driver that keeps a read keeps one of them, and its GPUs have a problem until it answers', async () => {
  await host.plug(MI300)
  await host.plug(RADEON)
  await host.say(WELL)
  const real = createAmdSysfs(host.sys)
  let reads = 0
  const { promise: stuck, resolve: answer } = Promise.withResolvers<AmdUse>()
  const use = () => {
    reads++
    return stuck
  }
  finder = open({ sysfs: { ...real, use }, waitMs: 50 })
  expect(await finder.probe(signal)).toMatchObject({ gpus: [{ problem: null }, { problem: null }], figures: [] })
  time += 10_000
  expect(await finder.figures(signal)).toEqual([])
  const silent = because('amd_smi_silent', { program: 'amdgpu', seconds: 10 })
  expect((await finder.probe(signal)).gpus.map(({ problem }) => problem)).toEqual([silent, silent])
  expect(reads).toBe(1)
  answer({ utilization: 5, memBytes: 1 })
  await expect.poll(() => finder.figures(signal)).toHaveLength(2)
  expect(await problems()).toEqual([null, null])
})

test('a slow-down is told when two looks in a row find it', async () => {
  await host.plug(MI300)
  await host.say({ ...WELL, metric: metric(0, 'THROTTLED') })
  expect((await nextLook()).gpus[0]?.warning).toBeNull()
  expect((await nextLook()).gpus[0]?.warning).toEqual(because('gpu_slow'))
  await host.say(WELL)
  expect((await nextLook()).gpus[0]?.warning).toBeNull()
})

test('processes of ROCm are listed with their memory on each GPU', async () => {
  await host.plug(MI300)
  await host.plug(RADEON)
  await host.say(WELL)
  await finder.probe(signal)
  await host.compute(4711, MI300.kfd, 5 * GiB)
  await host.compute(4712, RADEON.kfd, GiB)
  const found = await finder.processes([A, B, 'GPU-of-others'], signal)
  expect([...found]).toEqual([
    [A, [{ pid: 4711, memBytes: 5 * GiB, utilization: null }]],
    [B, [{ pid: 4712, memBytes: GiB, utilization: null }]],
  ])
  await rm(join(host.sys, 'class/kfd/kfd/proc'), { recursive: true })
  expect(await finder.processes([A], signal)).toEqual(new Map())
})

test('two GPUs with the same number of the chip are named by their places', async () => {
  await host.plug(MI300)
  await host.plug({ ...RADEON, uniqueId: MI300.uniqueId })
  await host.say(WELL)
  expect((await finder.probe(signal)).gpus.map(({ uuid }) => uuid)).toEqual([`AMD-${MI300.bus}`, `AMD-${RADEON.bus}`])
})
