import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Device, type GpuStock, type Session, type SessionSpec } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { gpus, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const MIB = 2 ** 20
const H100 = 'NVIDIA H100 80GB HBM3'

let cluster: SessionsCluster
let cli: Cli
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cli = await createCli()
  await cli.signIn(cluster.url)
})
afterEach(() => cluster.reset())
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

function gpu(uuid: string, model: string, mib: number, mode: Device['mode'] = 'whole'): Device {
  const slot = mode === 'shared' ? 'cuda.shares' : 'cuda.device'
  const isolation = mode === 'shared' ? 'accounted' : mode
  return {
    uuid,
    slot,
    model,
    memBytes: mib * MIB,
    mode,
    isolation,
    isolationReason: null,
    problem: null,
    plugin: 'nvidia',
  }
}
const DEVICES = [
  gpu('GPU-a', 'Tesla T4', 15_360),
  gpu('GPU-b', H100, 81_559),
  gpu('GPU-c', H100, 81_559),
  gpu('MIG-d', `${H100} 3g.40gb`, 40_448, 'mig'),
]
const join = (): Promise<ScriptedAgent> =>
  cluster.join({ capacity: { cpu: 16_000, mem: 16 * 1024 * MIB }, devices: DEVICES })

const ask = (gpu: SessionSpec['gpu'], count = 1): Partial<SessionSpec> => ({
  resources: { cpu: '0.5', mem: '512m', 'cuda.device': String(count) },
  gpu,
})
const given = ({ kernels }: Session) => kernels.flatMap(({ devices }) => devices.map(({ uuid }) => uuid)).toSorted()
const run = async (spec: Partial<SessionSpec>) => given(await cluster.reach((await cluster.launch(spec)).id, 'RUNNING'))

test('a session gets the GPU that it chose, in every form of request', async () => {
  await join()
  expect(await run(ask({ memory: '40g', migProfile: '3g.40gb' }))).toEqual(['MIG-d'])
  expect(await run({ ...ask({ model: 'h100' }), clusterSize: 2 })).toEqual(['GPU-b', 'GPU-c'])
  expect((await cluster.api.getResources()).gpus).toEqual<GpuStock[]>([
    { model: H100, memBytes: 81_559 * MIB, mode: 'whole', total: 2, free: '0' },
    { model: `${H100} 3g.40gb`, memBytes: 40_448 * MIB, mode: 'mig', total: 1, free: '0' },
    { model: 'Tesla T4', memBytes: 15_360 * MIB, mode: 'whole', total: 1, free: '1' },
  ])
  const waiting = await cluster.launch(ask({ model: 'H100' }))
  await expect
    .poll(async () => (await cluster.api.getSession({ params: { id: waiting.id } })).reason.message)
    .toBe('Needs 1 GPU (H100) (none free). Starts when other sessions end.')
  const forecast = await cluster.api.whatIf({ body: { ...spec, ...ask({ model: 'H100' }) } })
  expect(forecast).toMatchObject({ startsNow: false, reason: { code: 'capacity' } })
  expect(await cluster.api.whatIf({ body: { ...spec, ...ask({ model: 'T4' }) } })).toMatchObject({ startsNow: true })
})

const spec = { image: 'berth/python:3.13', environ: {}, count: 1, resourceGroup: 'default' }

test('a model that no host has is refused with the models that there are, and a choice of no GPU too', async () => {
  await join()
  expect(await refusal(cluster.launch(ask({ model: 'A100' })))).toMatchObject({
    code: 'request_too_large',
    detail: {
      slot: 'cuda.device',
      why: `No host has a working GPU "A100". The GPUs here: ${H100} (80 GiB), ${H100} 3g.40gb (40 GiB), Tesla T4 (15 GiB). Choose one of these, or any.`,
    },
  })
  expect(await refusal(cluster.launch(ask({ model: 'H100' }, 3)))).toMatchObject({
    code: 'request_too_large',
    detail: { largest: '2', why: 'The request needs 3 GPU (H100); one host offers at most 2 GPU. Ask for less.' },
  })
  expect(await refusal(cluster.launch({ resources: {}, gpu: { model: 'H100' } }))).toMatchObject({
    code: 'bad_request',
    detail: { why: 'The request chooses a GPU (H100) and asks for none. Ask for GPUs or a share of one.' },
  })
  expect(await refusal(cluster.launch(ask({ migProfile: 'half' })))).toMatchObject({ code: 'bad_request' })
})

test('a session that is started again, a template and the command line choose alike', async () => {
  await join()
  const { id } = await cluster.launch(ask({ model: 'H100', memory: '80g' }))
  await cluster.reach(id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
  const again = await cluster.api.restartSession({ params: { id } })
  expect(again.gpu).toEqual({ model: 'H100', memory: '80g' })
  expect(given(await cluster.reach(again.id, 'RUNNING'))).toEqual(['GPU-b'])

  await cluster.api.saveSessionTemplate({ params: { name: 'big' }, body: { ...spec, ...ask({ model: 'H100' }) } })
  const create = ['session', 'create', '--template', 'big', '--json']
  const made = async (...flags: string[]) => JSON.parse((await cli.run([...create, ...flags])).out) as Session
  const first = await made()
  expect(first.gpu).toEqual({ model: 'H100' })
  expect((await made('--gpu-model', 'any', '--mig-profile', '3g.40gb')).gpu).toEqual({ migProfile: '3g.40gb' })
  expect((await made('--gpu-model', 'any')).gpu).toBeNull()
  await cluster.reach(first.id, 'RUNNING')
  expect((await cli.run(['session', 'show', first.name])).out).toMatch(/0\.5 CPU, 512 MiB RAM, 1 GPU \(H100\)/)
  expect((await cli.run(['gpu', 'ls'])).out).toMatch(/NVIDIA H100 80GB HBM3 +80 GiB +whole +0 +2\n/)
  expect(await cli.run([...create, '--gpu-memory', 'much'])).toMatchObject({ code: 2 })
})

test('a preset chooses a GPU, and fits while such a GPU is free', async () => {
  await join()
  const size = ['--cpu', '0.5', '--mem', '512m', '--gpu', '1']
  const made = await cli.run(['admin', 'preset', 'create', 'hopper', ...size, '--gpu-model', 'H100', '--json'])
  expect(JSON.parse(made.out)).toMatchObject({ gpu: { model: 'H100' }, fits: true })
  expect((await cli.run(['preset', 'ls'])).out).toMatch(/hopper +0\.5 CPU, 512 MiB RAM, 1 GPU \(H100\) .*yes/)
  expect(await run(ask({ model: 'H100' }, 2))).toEqual(['GPU-b', 'GPU-c'])
  const fits = async () => (await cluster.api.listPresets()).items.find(({ name }) => name === 'hopper')?.fits
  expect(await fits()).toBe(false)
  const update = ['admin', 'preset', 'update', 'hopper', '--json']
  expect(JSON.parse((await cli.run([...update, '--gpu-model', 'any'])).out)).toMatchObject({ gpu: null })
  expect(await fits()).toBe(true)
  const none = { name: 'none', slots: { cpu: '1', mem: '1g' }, gpu: { model: 'H100' } }
  expect(await refusal(cluster.api.createPreset({ body: none }))).toMatchObject({ code: 'bad_request' })
  await cluster.api.deletePreset({ params: { name: 'hopper' } })
})

test('a GPU with a problem is none to choose', async () => {
  const broken = { ...gpu('GPU-x', 'Tesla T4', 15_360), problem: 'GPU is lost' }
  await cluster.join({ capacity: { cpu: 4000, mem: 4096 * MIB }, devices: [broken, ...gpus(1)] })
  expect(await refusal(cluster.launch(ask({ model: 'T4' })))).toMatchObject({ code: 'request_too_large' })
  expect((await cluster.api.getResources()).gpus.map(({ model }) => model)).toEqual(['Test GPU'])
})
