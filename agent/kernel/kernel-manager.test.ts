import { once } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { type KernelLabel } from '#agent/contract'
import { AgentId, KernelId, ManagerId, SessionId, UserId } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { signKernelLabel } from '../docker/kernel-labels.ts'
import { type KernelFiles } from './kernel-files.ts'
import { NO_LIVE_FOLDERS } from '../../test/fixtures/no-live-folders.ts'
import { createKernelManager, type KernelManagerDeps } from './kernel-manager.ts'

const uuid = (end: string) => `01900000-0000-7000-8000-${end.padStart(12, '0')}`
const KERNEL = KernelId.parse(uuid('1'))
const MANAGER = ManagerId.parse(uuid('2'))
const LABEL_KEY = Buffer.alloc(32, 7)
const LIMITS = { cpus: 2, memBytes: 2 ** 30 }

const LABEL: KernelLabel = {
  v: 1,
  managerId: MANAGER,
  agentId: AgentId.parse(uuid('3')),
  sessionId: SessionId.parse(uuid('4')),
  sessionName: 'demo',
  kernelId: KERNEL,
  role: 'main1',
  attempt: 1,
  owner: { id: UserId.parse(uuid('5')), email: 'mira@example.com' },
  resourceGroup: 'default',
  image: { reference: 'image', digest: '' },
  slots: {},
  shmemBytes: 0,
  devices: [],
  environ: {},
  startupCommand: null,
  apps: [],
  createdAt: '2026-01-01T00:00:00.000Z',
}

function inspection(status: 'running' | 'exited', isPaused = false) {
  return {
    Id: 'container',
    State: {
      Status: status,
      Running: status === 'running',
      Paused: isPaused,
      OOMKilled: false,
      Pid: 0,
      ExitCode: status === 'running' ? 0 : 3,
      StartedAt: '2026-01-01T00:00:00Z',
    },
    Config: { User: '998:998', Labels: signKernelLabel(LABEL, LABEL_KEY) },
    HostConfig: { CpusetCpus: '' },
    NetworkSettings: { Networks: {} },
  }
}

const warn = vi.fn()
const files = {
  user: () => Promise.resolve({ uid: 1000, gid: 1000 }),
  ownScratch: vi.fn<KernelFiles['ownScratch']>(() => Promise.resolve()),
  sweep: vi.fn<KernelFiles['sweep']>(() => Promise.resolve()),
}
afterEach(() => {
  files.sweep.mockReset().mockResolvedValue()
})

/** A kernel manager on an engine with one container; `inspect` answers the inspections. */
function kernelsOn(inspect: () => Promise<unknown>, more: Partial<KernelManagerDeps> = {}) {
  const calls = {
    listContainers: () => Promise.resolve([{ Id: 'container' }]),
    listVolumes: () => Promise.resolve({ Volumes: [] }),
    getContainer: () => ({ inspect }),
  }
  const deps = {
    engine: { calls, streams: calls } as unknown as EngineClient,
    files,
    keptLogs: { sweep: () => Promise.resolve() },
    liveFolders: NO_LIVE_FOLDERS,
    networks: { list: () => Promise.resolve([]) },
    clusters: { sweep: () => Promise.resolve() },
    reach: { resume: () => Promise.resolve(), leave: () => Promise.resolve() },
    trust: { labelKey: LABEL_KEY, inherited: new Set() },
    agentId: LABEL.agentId,
    networksAhead: 0,
    onChange: () => undefined,
    onRemoved: () => undefined,
    log: { warn },
    ...more,
  } as unknown as KernelManagerDeps
  const kernels = createKernelManager(deps)
  kernels.serve(MANAGER)
  return kernels
}

test('changes during a query of the engine are not overwritten by its older result', async () => {
  const inspect = vi.fn(() => Promise.resolve<unknown>(inspection('running')))
  await using kernels = kernelsOn(inspect)
  const state = () => kernels.reports().map(report => report.state.state)
  await kernels.rescan(LIMITS)
  expect(state()).toEqual(['running'])

  const slow = Promise.withResolvers<unknown>()
  inspect.mockImplementationOnce(() => slow.promise)
  const look = kernels.rescan(LIMITS)
  await expect.poll(() => inspect).toHaveBeenCalledTimes(3)
  inspect.mockImplementation(() => Promise.resolve(inspection('exited')))
  kernels.containerChanged(KERNEL)
  await expect.poll(() => state()).toEqual(['exited'])
  slow.resolve(inspection('running'))
  await look
  expect(state()).toEqual(['exited'])
})

test('the end of a replaced attempt does not touch the newer one', async () => {
  await using kernels = kernelsOn(() => Promise.resolve(inspection('running')))
  await kernels.rescan(LIMITS)
  expect(await kernels.destroy(KERNEL, 0, LABEL.attempt - 1)).toEqual({ exitCode: null, logTail: '' })
  expect(kernels.reports().map(report => report.state.state)).toEqual(['running'])
})

test('the end of a container is noticed even if it had another event just before', async () => {
  const inspect = vi.fn(() => Promise.resolve<unknown>(inspection('running')))
  await using kernels = kernelsOn(inspect)
  await kernels.rescan(LIMITS)
  const [first, second] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
  inspect.mockImplementationOnce(() => first.promise).mockImplementationOnce(() => second.promise)
  inspect.mockImplementation(() => Promise.resolve(inspection('exited')))
  kernels.containerChanged(KERNEL)
  kernels.containerChanged(KERNEL)
  first.resolve(inspection('running'))
  await first.promise
  second.resolve(inspection('exited'))
  await expect.poll(() => kernels.reports().map(report => report.state.state)).toEqual(['exited'])
})

test('a container that started just before the agent crashed keeps its files', async () => {
  files.ownScratch.mockClear()
  await using kernels = kernelsOn(() => Promise.resolve(inspection('running')))
  await kernels.rescan(LIMITS)
  await kernels.rescan(LIMITS)
  expect(files.ownScratch.mock.calls).toEqual([[KERNEL]])
})

test.each([
  [false, 'goes on'],
  [true, 'stays so'],
])('a session that is stopped when the agent starts, paused by the engine: %s, %s', async isPaused => {
  const asked: boolean[] = []
  const thaw: KernelManagerDeps['thaw'] = async (_, paused) => {
    asked.push(await paused())
    return !isPaused
  }
  await using kernels = kernelsOn(() => Promise.resolve(inspection('running', isPaused)), { thaw })
  warn.mockClear()
  await kernels.rescan(LIMITS)
  // A session that is stopped later is being measured.
  await kernels.rescan(LIMITS)
  expect(asked).toEqual([isPaused])
  expect(warn).toHaveBeenCalledTimes(isPaused ? 0 : 1)
})

test('starts do not wait for the removal of homes; only one sweep runs at a time, and it ends with the agent', async () => {
  files.sweep.mockImplementation(async ({ signal }) => {
    await once(signal, 'abort')
  })
  const kernels = kernelsOn(() => Promise.resolve(inspection('running')))
  await kernels.rescan(LIMITS)
  await kernels.rescan(LIMITS)
  expect(kernels.known).toBe(true)
  expect(files.sweep).toHaveBeenCalledOnce()
  expect(files.sweep.mock.lastCall?.[0].isLive(KERNEL)).toBe(true)
  await kernels[Symbol.asyncDispose]()
})

test('a failed sweep is logged, and repeated by the next check', async () => {
  files.sweep.mockRejectedValueOnce(new Error('read-only file system'))
  await using kernels = kernelsOn(() => Promise.resolve(inspection('running')))
  await kernels.rescan(LIMITS)
  await expect.poll(() => warn).toHaveBeenCalledWith({ why: 'read-only file system' }, expect.any(String))
  await kernels.rescan(LIMITS)
  expect(files.sweep).toHaveBeenCalledTimes(2)
})
