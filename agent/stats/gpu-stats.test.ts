import { expect, test } from 'vitest'
import { type Device } from '#manager/contract'
import { type GpuProcess } from '../gpu/gpu-plugin.ts'
import { type GpuLook, sessionGpus } from './gpu-stats.ts'

// The tests have no GPU. Process ids of the host and their control groups are put together in the forms of both versions.
const FIRST = '4738'.repeat(16)
const SECOND = 'beef'.repeat(16)
const GROUPS: Readonly<Record<number, string>> = {
  10: `0::/docker/${FIRST}\n`,
  11: `0::/system.slice/docker-${FIRST}.scope\n`,
  12: `9:name=systemd:/\n4:memory:/docker/${FIRST}\n2:cpu,cpuacct:/docker/${FIRST}\n0::/\n`,
  20: `0::/docker/${SECOND}\n`,
  30: '0::/user.slice/user-1000.slice/session-2.scope\n',
}
const groupOf = (pid: number) => GROUPS[pid] ?? ''
const GiB = 2 ** 30

const device = (more: Partial<Device> = {}): Device => ({
  uuid: 'GPU-0',
  model: 'NVIDIA H100 80GB HBM3',
  slot: 'cuda.shares',
  memBytes: 80 * GiB,
  mode: 'shared',
  isolation: 'accounted',
  isolationReason: null,
  problem: null,
  plugin: 'nvidia',
  ...more,
})
const process = (pid: number, gib: number, utilization: number | null = null): GpuProcess => ({
  pid,
  memBytes: gib * GiB,
  utilization,
})
const lookAt = (one: Device, processes?: readonly GpuProcess[]): GpuLook => ({
  devices: new Map([[one.uuid, one]]),
  figures: [{ uuid: one.uuid, utilization: 90, memBytes: 62 * GiB }],
  processes: new Map(processes ? [[one.uuid, processes]] : []),
})
const first = { containerId: FIRST, pid: 10, devices: ['GPU-0'] }
const second = { containerId: SECOND, pid: 20, devices: ['GPU-0'] }
const whole = { utilization: 90, memBytes: 62 * GiB, totalBytes: 80 * GiB }

test('two sessions on one GPU have the figures of their containers, beside those of the device', () => {
  const look = lookAt(device(), [process(11, 20, 30), process(12, 1, 5), process(20, 31, 50), process(30, 5)])
  expect(sessionGpus(first, look, groupOf)).toEqual([
    { uuid: 'GPU-0', utilization: 35, memBytes: 21 * GiB, device: whole },
  ])
  expect(sessionGpus(second, look, groupOf)).toEqual([
    { uuid: 'GPU-0', utilization: 50, memBytes: 31 * GiB, device: whole },
  ])
})

test('a process that has ended since the driver listed it counts for nobody', () => {
  const look = lookAt(device(), [process(10, 20), process(99, 5)])
  expect(sessionGpus(first, look, groupOf)).toMatchObject([{ utilization: 90, memBytes: 20 * GiB }])
})

test('on a whole GPU all use is that of its session', () => {
  const own = device({ mode: 'whole', isolation: 'whole', slot: 'cuda.device' })
  expect(sessionGpus(first, lookAt(own), groupOf)).toEqual([
    { uuid: 'GPU-0', utilization: 90, memBytes: 62 * GiB, device: whole },
  ])
})

const UNKNOWN = [{ uuid: 'GPU-0', utilization: null, memBytes: null, device: whole }]

test('own figures are unknown, never those of the device, where processes cannot be told apart', () => {
  const processes = [process(10, 20, 30)]
  expect(sessionGpus(first, lookAt(device()), groupOf)).toEqual(UNKNOWN)
  // The engine is on another computer, or the agent in a container: the same process ids are others here.
  expect(sessionGpus(first, lookAt(device(), processes), () => '0::/user.slice\n')).toEqual(UNKNOWN)
  expect(sessionGpus({ ...first, pid: 0 }, lookAt(device(), processes), groupOf)).toEqual(UNKNOWN)
  expect(sessionGpus(first, lookAt(device({ mode: 'mig', slot: 'cuda.device' })), groupOf)).toEqual(UNKNOWN)
})

test('while the driver does not answer, a GPU stays listed, with unknown figures', () => {
  const silent: GpuLook = { ...lookAt(device()), figures: [] }
  expect(sessionGpus(first, silent, groupOf)).toEqual([
    {
      uuid: 'GPU-0',
      utilization: null,
      memBytes: null,
      device: { utilization: null, memBytes: null, totalBytes: 80 * GiB },
    },
  ])
  expect(sessionGpus(first, lookAt(device({ plugin: 'simulated' })), groupOf)).toEqual([])
})
