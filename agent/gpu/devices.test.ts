import { afterEach, beforeEach, expect, type Mock, test, vi } from 'vitest'
import { AppError, type Because, because } from '#manager/contract'
import { NO_GPUS } from '../docker/gpu-request.ts'
import { type GpuGuardMode } from './gpu-guard-mode.ts'
import { type Log } from '../log.ts'
import { type Devices, openDevices } from './devices.ts'
import { type FoundGpu, type GpuProbe, type GpuPlugin, type Verdict } from './gpu-plugin.ts'
import { nvidiaRequest } from './nvidia-requests.ts'
import { probeContainer } from './probe.ts'

const GiB = 2 ** 30
const log = { info() {}, warn() {}, error() {} } as unknown as Log

let found: FoundGpu[]
let held: Set<string>
let isEngineUp: boolean
/** GPUs that the engine cannot hand out. */
let withheld: Map<string, Because>
/** Answer of an engine that refuses a start with GPUs. */
let refusal: AppError | undefined
/** Running probes; the next one to answer comes first. */
let probes: { uuid: string; answer: (verdict: Verdict) => void }[]
let limited: unknown[]
/** Refusal of a container of the agent's own with a GPU; null if it starts. */
let refusedTest: string | null
let tests: number
let changes: number
/** GPUs of which owners of sessions were told. */
let failed: string[]
let devices: Devices
let probe: Mock<GpuPlugin['probe']>

const gpu = (uuid: string, more: Partial<FoundGpu> = {}): FoundGpu => ({
  uuid,
  model: 'Test GPU',
  memBytes: 40 * GiB,
  mode: 'whole',
  sharedBecause: null,
  problem: null,
  ...more,
})

beforeEach(async () => {
  vi.useFakeTimers()
  found = [gpu('GPU-0'), gpu('GPU-1', { mode: 'shared' })]
  held = new Set()
  isEngineUp = true
  withheld = new Map()
  refusal = undefined
  probes = []
  limited = []
  refusedTest = null
  tests = 0
  changes = 0
  failed = []
  probe = vi.fn(() => Promise.resolve({ gpus: found, figures: [{ uuid: 'GPU-0', utilization: 7, memBytes: GiB }] }))
  devices = await open('off')
})

function open(guard: GpuGuardMode, seesProcesses = true): Promise<Devices> {
  return openDevices({
    plugins: [
      {
        name: 'nvidia',
        probe,
        figures: () => Promise.resolve([]),
        processes: () => Promise.resolve(new Map()),
        owns: () => true,
        shares: {
          by: 'driver',
          probe: ({ uuid }) => new Promise(answer => probes.push({ uuid, answer })),
          limits: {
            set(...what) {
              limited.push(what)
              return what[2] < GiB ? Promise.reject(new Error('the driver refused')) : Promise.resolve()
            },
          },
        },
        requests: {
          of: () => (refusal ? Promise.reject(refusal) : Promise.resolve(NO_GPUS)),
          problems: () => Promise.resolve(withheld),
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      },
    ],
    testStart: () => {
      tests++
      return Promise.resolve(refusedTest)
    },
    held: () => held,
    isEngineUp: () => isEngineUp,
    guard,
    seesProcesses: () => seesProcesses,
    onChange: () => changes++,
    onFailed: ({ uuid }) => failed.push(uuid),
    log,
  })
}
afterEach(async () => {
  for (const { answer } of probes) answer(ACCOUNTED)
  await devices[Symbol.asyncDispose]()
  vi.useRealTimers()
})

const ENFORCED: Verdict = { isolation: 'enforced', reason: because('limits_hold') }
const ACCOUNTED: Verdict = { isolation: 'accounted', reason: because('limits_passed_by_one') }
const answer = async (verdict: Verdict) => {
  probes.shift()?.answer(verdict)
  await vi.advanceTimersByTimeAsync(0)
}
const later = () => vi.advanceTimersByTimeAsync(10_000)
const classes = () => devices.list().map(({ mode, isolation, isolationReason }) => [mode, isolation, isolationReason])
const part = (uuid: string, amount: number) => ({ devices: [{ uuid, slot: 'cuda.shares', amount }] })

test('only shared devices are probed, and limits count as enforced only after a successful probe', async () => {
  expect(probes.map(({ uuid }) => uuid)).toEqual(['GPU-1'])
  expect(classes()).toEqual([
    ['whole', 'whole', null],
    ['shared', 'accounted', 'Memory limits are being tested.'],
  ])
  await answer(ENFORCED)
  expect(classes()[1]).toEqual(['shared', 'enforced', because('limits_hold').why])
  await later()
  expect(probes).toEqual([])
})

test('a mode that the manager sets is probed at once, and the result is dropped with the mode', async () => {
  await answer(ENFORCED)
  devices.setModes({ 'GPU-0': 'shared', 'GPU-1': 'whole' })
  expect(probes.map(({ uuid }) => uuid)).toEqual(['GPU-0'])
  await answer(ACCOUNTED)
  expect(classes()).toEqual([
    ['shared', 'accounted', because('limits_passed_by_one').why],
    ['whole', 'whole', null],
  ])
  devices.setModes({ 'GPU-0': 'shared', 'GPU-1': 'shared' })
  expect(probes.map(({ uuid }) => uuid)).toEqual(['GPU-1'])
})

test('no probe runs beside a session or while the engine is away; it runs afterwards', async () => {
  held = new Set(['GPU-0'])
  devices.setModes({ 'GPU-0': 'shared' })
  expect(probes.map(({ uuid }) => uuid)).toEqual(['GPU-1'])
  expect(classes()[0]?.[2]).toContain('once no session uses the device')
  held = new Set()
  isEngineUp = false
  await later()
  expect(probes).toHaveLength(1)
  isEngineUp = true
  await later()
  expect(probes.map(({ uuid }) => uuid)).toEqual(['GPU-1', 'GPU-0'])
})

test('after a restart of the engine, or the return of a GPU, devices are probed again', async () => {
  await answer(ENFORCED)
  await devices.engineCameUp()
  expect(probes).toHaveLength(1)
  await answer(ENFORCED)
  found = [gpu('GPU-0'), gpu('GPU-1', { mode: 'shared', problem: because('gpu_not_listed') })]
  await later()
  expect(devices.list()[1]).toMatchObject({
    isolation: 'accounted',
    problem: because('gpu_not_listed').why,
    problemBy: { cause: 'gpu_not_listed' },
  })
  expect(probes).toEqual([])
  found = [gpu('GPU-0'), gpu('GPU-1', { mode: 'shared' })]
  await later()
  expect(probes).toHaveLength(1)
})

test('a kernel waits for the probe of its GPU, and then gets its memory limit', async () => {
  let settled = false
  const waiting = devices.settled(part('GPU-1', 30)).then(() => (settled = true))
  await devices.settled(part('GPU-0', 30))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(settled).toBe(false)
  await answer(ENFORCED)
  await waiting
  await devices.limit(part('GPU-1', 30), 4711)
  expect(limited).toEqual([[4711, 'GPU-1', 12 * GiB]])
})

test('no limit is set if limits are not enforced, or for whole GPUs', async () => {
  await answer(ACCOUNTED)
  await devices.limit(part('GPU-1', 30), 4711)
  await devices.limit({ devices: [{ uuid: 'GPU-0', slot: 'cuda.device', amount: 1 }] }, 4711)
  expect(limited).toEqual([])
})

test('a session whose limit cannot be set does not start, and its class is probed again', async () => {
  await answer(ENFORCED)
  await expect(devices.limit(part('GPU-1', 1), 4711)).rejects.toMatchObject({
    code: 'kernel_create_failed',
    detail: { why: expect.stringContaining('the driver refused') as string },
  })
  expect(classes()[1]?.[1]).toBe('accounted')
  await later()
  expect(probes).toHaveLength(1)
})

test('a session that has ended by itself needs no limit, and says nothing about its class', async () => {
  await answer(ENFORCED)
  await devices.limit(part('GPU-1', 1), 4711, () => Promise.resolve(true))
  expect(classes()[1]?.[1]).toBe('enforced')
})

test('a probe that could not run is repeated after some minutes', async () => {
  await answer({ isolation: 'accounted', reason: because('gpu_without_free_memory'), later: true })
  await later()
  expect(probes).toEqual([])
  await vi.advanceTimersByTimeAsync(10 * 60_000)
  expect(probes).toHaveLength(1)
  expect(classes()[1]?.[2]).toBe(because('gpu_without_free_memory').why)
  await answer(ENFORCED)
  expect(classes()[1]?.[1]).toBe('enforced')
})

test('a MIG instance ignores the set mode; one that shares its memory is not isolated', async () => {
  found = [
    gpu('MIG-0', { mode: 'mig' }),
    gpu('MIG-1', { mode: 'mig', sharedBecause: because('compute_instance_shares') }),
  ]
  await later()
  devices.setModes({ 'MIG-0': 'shared', 'MIG-1': 'shared' })
  expect(classes()).toEqual([
    ['mig', 'mig', null],
    ['mig', 'accounted', because('compute_instance_shares').why],
  ])
})

test('a slow query makes the next ones wait, and ends with the agent', async () => {
  probe.mockClear()
  probe.mockImplementation(
    signal => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  )
  const slow = Promise.withResolvers<GpuProbe>()
  probe.mockReturnValueOnce(slow.promise)
  for (let times = 0; times < 5; times++) await later()
  slow.resolve({ gpus: found, figures: [] })
  await vi.advanceTimersByTimeAsync(0)
  expect(probe).toHaveBeenCalledOnce()
  await later()
  expect(probe).toHaveBeenCalledTimes(2)
  await answer(ACCOUNTED)
  await devices[Symbol.asyncDispose]()
})

test('a GPU that the engine cannot hand out is a problem until it can, and is not probed', async () => {
  await answer(ENFORCED)
  withheld.set('GPU-1', because('gpu_not_in_cdi'))
  const problems = () => devices.list().map(({ problem }) => problem)
  await later()
  expect(problems()).toEqual([null, because('gpu_not_in_cdi').why])
  withheld.set('GPU-0', because('engine_without_gpus'))
  await devices.engineCameUp()
  expect(problems()).toEqual([because('engine_without_gpus').why, because('gpu_not_in_cdi').why])
  expect(probes).toEqual([])
  withheld.clear()
  await later()
  expect(problems()).toEqual([null, null])
  expect(probes).toHaveLength(1)
})

test('the container of a probe has exactly the options of the allowlist', () => {
  expect(probeContainer(nvidiaRequest({ by: 'hook' }, ['GPU-0']), 'berth/python:3.13')).toEqual({
    name: 'berth-probe-GPU-0',
    Image: 'berth/python:3.13',
    User: '65534:65534',
    WorkingDir: '/',
    Entrypoint: [],
    Cmd: ['python3', '-c', 'import time; time.sleep(60)'],
    Env: ['NVIDIA_VISIBLE_DEVICES=GPU-0', 'AMD_VISIBLE_DEVICES=none'],
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NanoCpus: 1_000_000_000,
      Memory: 2 ** 31,
      MemorySwap: 2 ** 31,
      PidsLimit: 256,
      Init: true,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['ALL'],
      IpcMode: 'private',
      NetworkMode: 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'none', Config: {} },
      DeviceRequests: [{ Driver: '', DeviceIDs: ['GPU-0'], Capabilities: [['gpu']] }],
    },
  })
})

test('a GPU that the engine does not hand out any more has a problem with the start that fails, before the next look', async () => {
  refusal = new AppError('kernel_create_failed', because('engine_without_gpus'))
  withheld = new Map([['GPU-0', because('engine_without_gpus')]])
  await expect(devices.request({ devices: [{ uuid: 'GPU-0', slot: 'cuda.device', amount: 100 }] })).rejects.toBe(
    refusal,
  )
  expect(devices.list()[0]).toMatchObject({ uuid: 'GPU-0', problemBy: { cause: 'engine_without_gpus' } })
})

test('a start that the engine refused is the fault of the host if its GPU has failed since the last look', async () => {
  const text = 'nvidia-container-cli: initialization error'
  const error = new AppError('kernel_create_failed', because('docker_not_started', { text }))
  const whole = { devices: [{ uuid: 'GPU-0', slot: 'cuda.device', amount: 1 }] }
  expect(await devices.told(whole, error)).toBe(error)
  found = [gpu('GPU-0', { problem: because('gpu_not_listed') }), gpu('GPU-1', { mode: 'shared' })]
  expect(await devices.told(part('GPU-1', 50), error)).toBe(error)
  expect(await devices.told({ devices: [] }, error)).toBe(error)
  const failed = { code: 'kernel_create_failed', detail: because('host_gpu_failed') }
  expect(await devices.told(whole, error)).toMatchObject(failed)
  expect(devices.list()[0]?.problem).toBe(because('gpu_not_listed').why)
  // A GPU that does not exist.
  found = [gpu('GPU-1', { mode: 'shared' })]
  expect(await devices.told(whole, error)).toMatchObject(failed)
  const other = new AppError('files_gone', because('session_files_deleted'))
  expect(await devices.told(whole, other)).toBe(other)
})

test('a GPU with which nothing starts has a problem until a container of the agent starts with it', async () => {
  const text = 'open /usr/lib/libcuda.so.570: no such file or directory'
  const error = new AppError('kernel_create_failed', because('docker_not_started', { text }))
  expect(await devices.told(part('GPU-1', 50), error)).toBe(error)
  refusedTest = text
  expect(await devices.told(part('GPU-1', 50), error)).toMatchObject({ detail: because('host_gpu_failed') })
  const problems = () => devices.list().map(({ problem }) => problem)
  expect(problems()).toEqual([null, because('gpu_starts_nothing', { text }).why])
  await later()
  expect([problems()[1], tests]).toEqual([because('gpu_starts_nothing', { text }).why, 3])
  refusedTest = null
  await later()
  expect(problems()).toEqual([null, null])
  await later()
  expect(tests).toBe(4)
})

test('a session with a share is told the memory of its GPU; one with a whole GPU has no share', () => {
  expect(devices.sharesOf(part('GPU-1', 25))).toEqual([{ uuid: 'GPU-1', hundredths: 25, memBytes: 40 * GiB }])
  expect(devices.sharesOf({ devices: [{ uuid: 'GPU-0', slot: 'cuda.device', amount: 1 }] })).toEqual([])
  expect(devices.sharesOf(part('GPU-gone', 25))).toEqual([{ uuid: 'GPU-gone', hundredths: 25, memBytes: 0 }])
})

test.each([
  ['end', true, 'guarded', 'guard_ends', ['GPU-1']],
  ['warn', true, 'accounted', 'guard_warns', ['GPU-1']],
  ['off', true, 'accounted', 'limits_passed_by_one', []],
  ['end', false, 'accounted', 'guard_without_processes', ['GPU-1']],
] as const)(
  'with the guard at %s (it sees processes: %s) shares are %s',
  async (mode, sees, isolation, cause, guarded) => {
    await answer(ACCOUNTED)
    await using own = await open(mode, sees)
    await answer(ACCOUNTED)
    expect(own.list()[1]).toMatchObject({ isolation, isolationReasonBy: { cause } })
    expect(own.list()[0]?.isolation).toBe('whole')
    expect(own.guarded()).toEqual(guarded)
  },
)

test('shares of a GPU whose memory is not known have no size, so the guard leaves sessions there alone', async () => {
  found = [gpu('GPU-0'), gpu('GPU-1', { mode: 'shared', memBytes: 0 })]
  await answer(ACCOUNTED)
  await using own = await open('end')
  await answer(ACCOUNTED)
  expect(own.guarded()).toEqual([])
  expect(own.list()[1]).toMatchObject({ isolation: 'accounted', isolationReasonBy: { cause: 'guard_without_size' } })
  found = [gpu('GPU-0'), gpu('GPU-1', { mode: 'shared' })]
  await later()
  expect([own.guarded(), own.list()[1]?.isolation]).toEqual([['GPU-1'], 'guarded'])
})

test('what the guard finds changes the class and adds a warning, and is told once', async () => {
  await answer(ACCOUNTED)
  await using own = await open('end')
  await answer(ENFORCED)
  // The driver limits the shares of this GPU, so that nobody has to watch them.
  expect([own.guarded(), own.list()[1]?.isolation]).toEqual([[], 'enforced'])
  await own.engineCameUp()
  await answer(ACCOUNTED)
  changes = 0
  own.noteShares('GPU-1', { blind: because('guard_without_figures') })
  own.noteShares('GPU-1', { blind: because('guard_without_figures') })
  expect([changes, own.list()[1]?.isolation]).toEqual([1, 'accounted'])
  for (const unattributed of [10 * GiB, 10.2 * GiB, 9.9 * GiB]) own.noteShares('GPU-1', { unattributed })
  expect(changes).toBe(2)
  expect(own.list()[1]).toMatchObject({
    isolation: 'guarded',
    warningBy: { cause: 'gpu_memory_unattributed', values: { size: '10 GiB' } },
  })
  own.noteShares('GPU-1', {})
  expect(own.list()[1]).not.toHaveProperty('warning')
})

test('owners are told once of a GPU that failed under their sessions, if two checks in a row found it', async () => {
  held = new Set(['GPU-0'])
  const problem = because('gpu_not_listed')
  const [whole = gpu('GPU-0'), shared = gpu('GPU-1')] = found
  found = [
    { ...whole, problem },
    { ...shared, problem },
  ]
  await later()
  expect(failed).toEqual([])
  await later()
  await later()
  expect(failed).toEqual(['GPU-0'])
  found = [whole, shared]
  await later()
  found = [{ ...whole, problem }, shared]
  await later()
  await later()
  expect(failed).toEqual(['GPU-0', 'GPU-0'])
})

test('a GPU with a warning is listed with it, and sessions start on it', async () => {
  const [whole = gpu('GPU-0'), shared = gpu('GPU-1')] = found
  found = [{ ...whole, warning: because('gpu_slow_hot') }, shared]
  await later()
  expect(devices.list()[0]).toMatchObject({ problem: null, warningBy: { cause: 'gpu_slow_hot' } })
  expect(devices.list()[1]).not.toHaveProperty('warning')
})
