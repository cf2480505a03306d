import pino from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { type Because, type DeviceFigures, type KernelId, type SessionId } from '#manager/contract'
import { type WatchedShares } from '../gpu/device-view.ts'
import { type GpuProcess } from '../gpu/gpu-plugin.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { createGpuGuard } from './gpu-guard.ts'
import { type GpuGuardMode } from '../gpu/gpu-guard-mode.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30
const GPU = 'GPU-0'
const SIZE = 80 * GiB

/** Processes that the driver lists, by session; its main process is number 100 for `a`, 200 for `b`. */
let listed: { pid: number; memBytes: number | null }[] | undefined
let groups: Map<number, string>
let usedBytes: number
let kernels: RunningKernel[]
let guarded: string[]
let asked: number
let measured: number
let found: WatchedShares
let warned: [string, string][]
let ended: [string, string, string][]
/** How the engine ends a session. */
let kill: () => Promise<void>

const kernel = (name: string, pid: number, hundredths: number): RunningKernel => ({
  kernelId: name as KernelId,
  sessionId: `session-${name}` as SessionId,
  containerId: `container-${name}`,
  address: '10.0.0.2',
  user: '1000:1000',
  apps: [],
  environ: {},
  pid,
  devices: [GPU],
  shares: [{ uuid: GPU, slot: 'cuda.shares', amount: hundredths }],
})

beforeEach(() => {
  kernels = [kernel('a', 100, 25), kernel('b', 200, 50)]
  groups = new Map([
    [100, '0::/docker/container-a\n'],
    [101, '0::/docker/container-a\n'],
    [200, '0::/docker/container-b\n'],
    [7, '0::/user.slice\n'],
  ])
  listed = []
  usedBytes = 0
  guarded = [GPU]
  asked = 0
  measured = 0
  found = {}
  warned = []
  ended = []
  kill = () => Promise.resolve()
})

function aGuard(guard: GpuGuardMode = 'end') {
  let now = 0
  const { check } = createGpuGuard({
    running: () => kernels,
    devices: {
      guarded: () => guarded,
      sharesOf: ({ devices }) => devices.map(({ uuid, amount }) => ({ uuid, hundredths: amount, memBytes: SIZE })),
      processes() {
        asked++
        const all = listed?.map((one): GpuProcess => ({ ...one, utilization: null }))
        return Promise.resolve(new Map(all ? [[GPU, all]] : []))
      },
      measure(): Promise<DeviceFigures[]> {
        measured++
        return Promise.resolve([{ uuid: GPU, utilization: null, memBytes: usedBytes }])
      },
      noteShares: (_uuid, what) => (found = what),
    },
    guard,
    warn: (kernelId, { why }: Because) => warned.push([kernelId, why]),
    stop(kernelId, { code, message }) {
      ended.push([kernelId, code, message])
      return kill()
    },
    groupsOf: () => pid => groups.get(pid) ?? '',
    now: () => now,
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
  })
  return async (looks = 1) => {
    for (let look = 0; look < looks; look++) {
      now += 500
      await check()
    }
  }
}

test('the session that takes more than its share is warned and ended with the figures, and the other goes on', async () => {
  const look = aGuard()
  listed = [
    { pid: 100, memBytes: 24_000 * MiB },
    { pid: 101, memBytes: 10_000 * MiB },
    { pid: 200, memBytes: 40_000 * MiB },
  ]
  await look()
  expect(warned).toEqual([['a', expect.stringMatching(/uses 33.2 GiB of GPU memory; its share is 20 GiB/)]])
  expect(ended).toEqual([])
  await look()
  expect(ended).toEqual([['a', 'gpu_limit', expect.stringMatching(/used 33.2 GiB of GPU memory; its share is 20 GiB/)]])
})

test('a session within its share is left alone, and so is a process of the host', async () => {
  const look = aGuard()
  listed = [
    { pid: 100, memBytes: 20 * GiB + 518 * MiB },
    { pid: 7, memBytes: 40 * GiB },
  ]
  usedBytes = 61 * GiB
  await look(40)
  expect([warned, ended]).toEqual([[], []])
})

test.each([
  ['fails to end', () => Promise.reject(new Error('no exit event'))],
  ['does not end', () => new Promise<void>(() => undefined)],
])('a session that %s shields no other', async (_, how) => {
  const look = aGuard()
  kill = how
  listed = [
    { pid: 100, memBytes: 30 * GiB },
    { pid: 200, memBytes: 60 * GiB },
  ]
  await look(2)
  expect(ended.map(([id]) => id)).toEqual(['a', 'b'])
})

test('managed memory ends no session beside a process of the host, which may have it', async () => {
  const look = aGuard()
  await look(2)
  listed = [
    { pid: 100, memBytes: 518 * MiB },
    { pid: 7, memBytes: 518 * MiB },
  ]
  usedBytes = 60 * GiB
  await look(40)
  expect([warned, ended]).toEqual([[], []])
})

test('with the guard set to warn, a session is told once a minute, and never ended', async () => {
  const look = aGuard('warn')
  listed = [{ pid: 100, memBytes: 60 * GiB }]
  await look(140)
  expect(warned.map(([id, text]) => [id, /Other sessions need the rest/.test(text)])).toEqual([
    ['a', true],
    ['a', true],
  ])
  expect(ended).toEqual([])
})

test('nothing is asked while no session holds a share that has to be guarded', async () => {
  const look = aGuard()
  kernels = [{ ...kernel('a', 100, 25), shares: [] }]
  await look(4)
  kernels = [kernel('a', 100, 25)]
  guarded = []
  await look(4)
  expect([asked, measured]).toEqual([0, 0])
})

test('managed memory of the only session with processes ends it, and with two sessions is only told', async () => {
  const look = aGuard()
  await look(2)
  listed = [{ pid: 100, memBytes: 518 * MiB }]
  usedBytes = 60 * GiB
  await look(11)
  expect(ended).toEqual([['a', 'gpu_limit', expect.stringMatching(/59.5 GiB of this is managed/)]])

  ended = []
  listed = [
    { pid: 100, memBytes: 518 * MiB },
    { pid: 200, memBytes: 518 * MiB },
  ]
  await look(12)
  expect(ended).toEqual([])
  expect(found.unattributed).toBe(60 * GiB - 2 * 518 * MiB)
})

test('a guard that cannot see says so: no process of a session, no figures, no answer', async () => {
  const look = aGuard()
  groups.clear()
  await look()
  expect(found.blind?.cause).toBe('guard_without_processes')
  groups.set(100, '0::/docker/container-a\n')
  listed = [{ pid: 100, memBytes: null }]
  await look()
  expect(found.blind?.cause).toBe('guard_without_figures')
  listed = [{ pid: 100, memBytes: GiB }]
  await look()
  expect(found).toEqual({})
  listed = undefined
  await look(2)
  expect(found).toEqual({})
  await look()
  expect(found.blind?.cause).toBe('guard_without_answer')
})

test('the memory of the whole GPU is asked for only once a second', async () => {
  const look = aGuard()
  await look(20)
  expect([asked, measured]).toEqual([20, 10])
})
