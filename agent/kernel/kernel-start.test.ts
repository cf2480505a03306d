import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type KernelSpec } from '#agent/contract'
import { AgentId, AppError, KernelId, ManagerId, SessionId, UserId } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { NO_GPUS } from '../docker/gpu-request.ts'
import { NO_ACCOUNTS } from '../images/image-accounts.ts'
import { NO_LIVE_FOLDERS } from '../../test/fixtures/no-live-folders.ts'
import { createKernelManager, type KernelManagerDeps } from './kernel-manager.ts'

const uuid = (end: string) => `01900000-0000-7000-8000-${end.padStart(12, '0')}`
const KERNEL = KernelId.parse(uuid('1'))
const CORES = 8
const noShares = () => []
const noGpus = () => Promise.resolve(NO_GPUS)

const aSpec = (more: Partial<KernelSpec> = {}): KernelSpec => ({
  kernelId: KERNEL,
  sessionId: SessionId.parse(uuid('4')),
  sessionName: 'demo',
  role: 'main1',
  attempt: 1,
  owner: { id: UserId.parse(uuid('5')), email: 'mira@example.com' },
  resourceGroup: 'default',
  image: { reference: 'image:1', digest: 'sha256:aa' },
  slots: { cpu: 2000, mem: 2 ** 30 },
  shmemBytes: 0,
  devices: [],
  environ: {},
  startupCommand: null,
  authorizedKeys: [],
  ...more,
})

const IMAGE_LABELS = {
  'berth.image.apps': '[{"name":"lab","protocol":"http","port":8888,"command":["lab","--port={port}"]}]',
}

interface Container {
  readonly config: {
    readonly User: string
    readonly Labels: Readonly<Record<string, string>>
    readonly HostConfig: { readonly CpusetCpus?: string }
  }
  status: 'created' | 'running' | 'exited'
  exitCode: number
}

/** An engine that creates containers in memory, and a kernel manager on it. */
async function kernelsInMemory(more: Partial<KernelManagerDeps> = {}) {
  const containers = new Map<string, Container>()
  let made = 0
  let silences = 0
  let hidden = 0
  let imageLooks = 0
  const container = (id: string) => {
    const of = () => {
      const found = containers.get(id)
      if (!found) throw Object.assign(new Error('no such container'), { statusCode: 404 })
      return found
    }
    return {
      id,
      start: () => Promise.resolve(void (of().status = 'running')),
      stop: () => Promise.resolve(void (of().status = 'exited')),
      logs: () => Promise.resolve(Buffer.alloc(0)),
      remove: () => Promise.resolve(void containers.delete(id)),
      // oxlint-disable-next-line typescript/require-await -- throws like the engine rejects
      inspect: async () => {
        if (hidden > 0 && hidden--) throw Object.assign(new Error('no such container'), { statusCode: 404 })
        const { config, status, exitCode } = of()
        const Running = status === 'running'
        const StartedAt = '2026-01-01T00:00:00Z'
        return {
          Id: id,
          State: { Status: status, Running, OOMKilled: false, Pid: 1, ExitCode: exitCode, StartedAt },
          Config: { User: config.User, Labels: config.Labels },
          HostConfig: { CpusetCpus: config.HostConfig.CpusetCpus ?? '' },
          NetworkSettings: { Networks: {} },
        }
      },
    }
  }
  const calls = {
    listVolumes: () => Promise.resolve({ Volumes: [] }),
    listContainers: ({ filters }: { filters: { label: string[] } }) =>
      Promise.resolve(
        (hidden > 0 ? [] : [...containers]).flatMap(([Id, { config }]) => {
          const labels = new Set(Object.entries(config.Labels).map(([name, value]) => `${name}=${value}`))
          return filters.label.every(label => labels.has(label)) ? [{ Id }] : []
        }),
      ),
    getImage: () => ({
      inspect() {
        imageLooks++
        return Promise.resolve({ Id: 'sha256:aa', Config: { Env: [], Labels: IMAGE_LABELS }, RepoDigests: [] })
      },
    }),
    createContainer(config: Container['config']) {
      if (silences > 0 && silences--) return Promise.reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' }))
      const id = `container-${++made}`
      containers.set(id, { config, status: 'created', exitCode: 0 })
      return Promise.resolve(container(id))
    },
    getContainer: container,
  }
  const ssh = { user: 'work', hostKey: 'h', privateKey: 'p', publicKey: 'k' }
  const nothing = () => Promise.resolve()
  const deps = {
    engine: { calls, streams: calls } as unknown as EngineClient,
    files: {
      user: () => Promise.resolve({ uid: 1000, gid: 1000 }),
      sweep: nothing,
      createControl: () => Promise.resolve(ssh),
      createScratch: nothing,
      ownScratch: nothing,
      writeEnvironment: nothing,
      writeAccounts: nothing,
      writeStart: () => Promise.resolve(false),
      paths: () => ({ scratch: '/scratch', control: '/control', etc: '/etc' }),
      readSsh: () => Promise.resolve(ssh),
      discard: nothing,
    },
    liveFolders: NO_LIVE_FOLDERS,
    clusters: {
      join: () => Promise.resolve(),
      attach: () => Promise.resolve(),
      leave: () => Promise.resolve(),
      sweep: () => Promise.resolve(),
    },
    reach: { prepare: () => Promise.resolve(undefined), resume: nothing, leave: nothing },
    networks: {
      list: () => Promise.resolve([]),
      create: () => Promise.resolve({ name: 'network', gateway: '10.213.0.1' }),
      remove: nothing,
    },
    keptLogs: { mib: 16, keep: nothing, discard: nothing, sweep: nothing },
    accounts: { of: () => Promise.resolve(NO_ACCOUNTS) },
    toolbox: { volume: () => Promise.resolve('toolbox') },
    devices: { settled: nothing, request: noGpus, sharesOf: noShares, limit: nothing },
    trust: { labelKey: Buffer.alloc(32, 7), inherited: new Set() },
    agentId: AgentId.parse(uuid('3')),
    verifyEngine: nothing,
    cores: CORES,
    networksAhead: 0,
    bootedAtSeconds: undefined,
    onChange: () => undefined,
    onRemoved: () => undefined,
    onPull: () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    ...more,
  } as unknown as KernelManagerDeps
  const kernels = createKernelManager(deps)
  kernels.serve(ManagerId.parse(uuid('2')))
  await kernels.rescan({ cpus: CORES, memBytes: 2 ** 34 })
  return {
    containers,
    kernels,
    /** For this many further containers, the engine does not answer. */
    silence: (times: number) => void (silences = times),
    /** This many further checks do not see an existing container. */
    hide: (looks: number) => void (hidden = looks),
    imageLooks: () => imageLooks,
    end(exitCode: number) {
      for (const found of containers.values()) Object.assign(found, { status: 'exited', exitCode })
    },
    state: () => kernels.reports().map(({ state }) => state),
    create: (spec = aSpec(), startWithinMs = 5_000) =>
      kernels.create(spec, { startWithinMs, signal: new AbortController().signal }),
    [Symbol.asyncDispose]: () => kernels[Symbol.asyncDispose](),
  }
}

test('kernels that start together are pinned to different cores', async () => {
  await using engine = await kernelsInMemory()
  const ids = ['11', '12', '13', '14'].map(end => KernelId.parse(uuid(end)))
  await Promise.all(ids.map(kernelId => engine.create(aSpec({ kernelId }))))
  const pinned = [...engine.containers.values()].map(({ config }) => config.HostConfig.CpusetCpus)
  expect(pinned.toSorted()).toEqual(['0,1', '2,3', '4,5', '6,7'])
})

test('a start looks at its image once, and again for every repetition', async () => {
  await using engine = await kernelsInMemory()
  await engine.create()
  expect(engine.imageLooks()).toBe(1)
  engine.silence(2)
  await engine.create(aSpec({ kernelId: KernelId.parse(uuid('12')) }))
  expect(engine.imageLooks()).toBe(4)
})

test('nothing is made for a start on an engine that belongs to another agent', async () => {
  const taken = new AppError('engine_already_managed', { why: 'Another agent has it.' })
  let made = 0
  const make = () => Promise.reject(new Error(`made ${++made}`))
  await using engine = await kernelsInMemory({
    verifyEngine: () => Promise.reject(taken),
    networks: { list: () => Promise.resolve([]), create: make, remove: () => Promise.resolve() } as never,
  })
  await expect(engine.create()).rejects.toMatchObject({ code: 'engine_already_managed' })
  expect([made, engine.containers.size]).toEqual([0, 0])
})

test('the apps of a kernel come from the image on the engine, whatever the manager sends', async () => {
  await using engine = await kernelsInMemory()
  const evil = { name: 'lab', title: 'Lab', protocol: 'http', path: '/', port: 1, command: ['sh', '-c', 'evil'] }
  await engine.create(Object.assign(aSpec(), { apps: [evil] }))
  expect(engine.kernels.reports()[0]?.label).toMatchObject({
    apps: [{ name: 'lab', port: 8888, command: ['lab', '--port={port}'] }],
  })
})

test('a container that ends during its creation is noticed', async () => {
  await using engine = await kernelsInMemory({
    devices: {
      settled: () => Promise.resolve(),
      request: noGpus,
      sharesOf: noShares,
      limit() {
        engine.end(3)
        // A kernel that is being created is not polled.
        engine.kernels.containerChanged(KERNEL)
        return Promise.resolve()
      },
    },
  })
  await engine.create()
  await expect.poll(engine.state).toMatchObject([{ state: 'exited', exitCode: 3 }])
})

test('waiting starts report how many come first, and their deadline is suspended', async () => {
  const gate = Promise.withResolvers<undefined>()
  await using engine = await kernelsInMemory({
    devices: { settled: () => gate.promise, request: noGpus, sharesOf: noShares, limit: () => Promise.resolve() },
  })
  const ids = Array.from({ length: 5 }, (_, i) => KernelId.parse(uuid(String(20 + i))))
  const starts = ids.map(kernelId => engine.create(aSpec({ kernelId }), 400))
  const ahead = () =>
    engine.kernels.reports().map(({ state }) => (state.state === 'starting' ? (state.ahead ?? null) : state.state))
  await expect.poll(ahead).toEqual([null, null, null, 3, 4])
  // Like the heartbeats of a manager that processes them.
  const heartbeat = setInterval(() => engine.kernels.heard(engine.kernels.reports(), performance.now()), 50)
  const outcomes = Promise.allSettled(starts)
  await delay(600)
  expect(ahead()).toEqual([null, null, null, 3, 4])
  // The three started ones have run out of time; the others come next, with their full time.
  gate.resolve(undefined)
  expect((await outcomes).map(({ status }) => status)).toEqual([
    ...['rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
  ])
  clearInterval(heartbeat)
})

test('a start whose waiting report is not confirmed is abandoned in time', async () => {
  const gate = Promise.withResolvers<undefined>()
  await using engine = await kernelsInMemory({
    devices: { settled: () => gate.promise, request: noGpus, sharesOf: noShares, limit: () => Promise.resolve() },
  })
  const ids = Array.from({ length: 4 }, (_, i) => KernelId.parse(uuid(String(20 + i))))
  const outcomes = Promise.allSettled(ids.map(kernelId => engine.create(aSpec({ kernelId }), 200)))
  setTimeout(() => gate.resolve(undefined), 300)
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  expect(engine.containers.size).toBe(0)
})

test('an engine that does not answer fails no start: the start is retried', async () => {
  await using engine = await kernelsInMemory()
  engine.silence(1)
  await engine.create()
  expect(engine.state()).toMatchObject([{ state: 'running' }])
})

test('a sweep keeps the network of a kernel that started at the second attempt', async () => {
  const removed: string[] = []
  const networks: Partial<KernelManagerDeps['networks']> = {
    list: () => Promise.resolve([{ key: KERNEL, id: 'network' }]),
    create: () => Promise.resolve({ id: 'network', name: 'network', gateway: '10.213.0.1' }),
    remove: (key, _managerId, isUsed) => Promise.resolve(isUsed() ? undefined : void removed.push(key)),
  }
  await using engine = await kernelsInMemory({ networks: networks as KernelManagerDeps['networks'] })
  engine.silence(1)
  await engine.create()
  removed.length = 0
  await engine.kernels.rescan({ cpus: CORES, memBytes: 2 ** 34 })
  expect(removed).toEqual([])
})

test('a container counts as gone only after the engine has reported it twice', async () => {
  await using engine = await kernelsInMemory()
  await engine.create()
  engine.hide(2)
  engine.kernels.containerChanged(KERNEL)
  await engine.kernels.rescan({ cpus: CORES, memBytes: 2 ** 34 })
  expect(engine.state()).toMatchObject([{ state: 'running' }])
  engine.hide(Infinity)
  await engine.kernels.rescan({ cpus: CORES, memBytes: 2 ** 34 })
  expect(engine.state()).toMatchObject([{ state: 'gone' }])
})

test('a container whose start no manager confirms in time is removed; a confirmed one stays', async () => {
  await using engine = await kernelsInMemory()
  const [heard, unheard] = [KernelId.parse(uuid('11')), KernelId.parse(uuid('12'))]
  await engine.create(aSpec({ kernelId: heard }), 200)
  engine.kernels.heard(engine.kernels.reports(), performance.now())
  await engine.create(aSpec({ kernelId: unheard }), 200)
  expect(engine.containers.size).toBe(2)
  await expect.poll(() => engine.kernels.reports().map(({ kernelId }) => kernelId)).toEqual([heard])
  expect(engine.containers.size).toBe(1)
})

test('a confirmation of one attempt does not confirm the next', async () => {
  await using engine = await kernelsInMemory()
  await engine.create()
  const before = engine.kernels.reports()
  await engine.create(aSpec({ attempt: 2 }), 100)
  engine.kernels.heard(before, performance.now())
  await expect.poll(() => engine.containers.size).toBe(0)
})

test('a short command that ends before its GPU is limited has ended, and is no failed start', async () => {
  const limit: KernelManagerDeps['devices']['limit'] = async (_spec, _pid, hasEnded) => {
    engine.end(0)
    if (!(await hasEnded?.())) throw new Error('no such process')
  }
  await using engine = await kernelsInMemory({
    devices: { settled: () => Promise.resolve(), request: noGpus, sharesOf: noShares, limit },
  })
  await engine.create()
  await expect.poll(engine.state).toMatchObject([{ state: 'exited', exitCode: 0 }])
})

test('a kernel ends before the next one takes over its files', async () => {
  await using engine = await kernelsInMemory()
  const next = KernelId.parse(uuid('11'))
  await engine.create()
  await engine.create(aSpec({ kernelId: next, filesOf: KERNEL }))
  expect(engine.kernels.reports().map(({ kernelId }) => kernelId)).toEqual([next])
  expect(engine.containers.size).toBe(1)
})

test('exit code 255 of a process does not count as a restart of the engine, also later', async () => {
  await using engine = await kernelsInMemory()
  await engine.create()
  engine.end(255)
  engine.kernels.containerChanged(KERNEL)
  const ended = [{ state: 'exited', exitCode: 255, engineRestarted: false }]
  await expect.poll(engine.state).toMatchObject(ended)
  engine.kernels.engineWentAway()
  await engine.kernels.rescan({ cpus: CORES, memBytes: 2 ** 34 })
  expect(engine.state()).toMatchObject(ended)
})
