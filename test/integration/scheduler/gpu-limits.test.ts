import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  type ApiClient,
  type Device,
  type Group,
  type ResourcePolicy,
  type Session,
  type SessionSpec,
} from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const MIB = 2 ** 20
const H100 = 'NVIDIA H100 80GB HBM3'
const POLICY = 'hopper'

let cluster: SessionsCluster
let cli: Cli
let person: ApiClient
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cli = await createCli()
  await cli.signIn(cluster.url)
  person = await cluster.addUser('ada@example.org')
  const limits = ['--gpu-limit', 'h100=1.5', '--gpu-limit', 'T4=0']
  const made = await cli.run(['admin', 'policy', 'create', POLICY, ...limits, '--json'])
  expect(JSON.parse(made.out)).toMatchObject({
    gpuLimits: [
      { model: 'h100', gpus: '1.5' },
      { model: 'T4', gpus: '0' },
    ],
  })
  await cli.run(['admin', 'policy', 'assign', POLICY, '--user', 'ada@example.org'])
})
afterEach(() => cluster.reset())
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

const gpu = (uuid: string, model: string, mode: Device['mode'] = 'whole'): Device => ({
  uuid,
  slot: mode === 'shared' ? 'cuda.shares' : 'cuda.device',
  model,
  memBytes: 81_559 * MIB,
  mode,
  isolation: mode === 'shared' ? 'accounted' : mode,
  isolationReason: null,
  problem: null,
  plugin: 'nvidia',
})
const join = (devices: Device[]) => cluster.join({ capacity: { cpu: 16_000, mem: 16 * 1024 * MIB }, devices })
const ask = (amounts: Record<string, string>, more: Partial<SessionSpec> = {}): Partial<SessionSpec> => ({
  resources: { cpu: '0.5', mem: '512m', ...amounts },
  ...more,
})
const given = ({ kernels }: Session) => kernels.flatMap(({ devices }) => devices.map(({ uuid }) => uuid)).toSorted()
const run = async (spec: Partial<SessionSpec>) => cluster.reach((await cluster.launch(spec, person)).id, 'RUNNING')

test('what runs counts by its part of a GPU, the next gets another model, and one that insists waits and says why', async () => {
  await join([
    gpu('GPU-a', H100),
    gpu('GPU-b', H100),
    gpu('MIG-c', `${H100} 3g.40gb`, 'mig'),
    gpu('GPU-z', 'NVIDIA L4'),
  ])
  const first = await run(ask({ 'cuda.device': '1' }, { gpu: { model: 'H100' } }))
  expect(given(first)).toEqual(['GPU-a'])
  expect(given(await run(ask({ 'cuda.device': '1' }, { gpu: { migProfile: '3g.40gb' } })))).toEqual(['MIG-c'])
  expect(given(await run(ask({ 'cuda.device': '1' })))).toEqual(['GPU-z'])
  const insisting = await cluster.launch(ask({ 'cuda.device': '1' }, { gpu: { model: 'H100' } }), person)
  await expect
    .poll(async () => (await person.getSession({ params: { id: insisting.id } })).reason)
    .toMatchObject({
      code: 'user_policy',
      message: `Needs 1 GPU (H100); in use are 1.43 of the 1.5 GPU "h100" that resource policy "${POLICY}" gives each user. Starts when other sessions end.`,
    })
  expect((await person.getResources()).gpuLimits).toEqual([
    { model: 'h100', policy: POLICY, limit: '1.5', held: '1.43', left: '0.07' },
    { model: 'T4', policy: POLICY, limit: '0', held: '0', left: '0' },
  ])
  const usage = await person.getUsage({})
  expect(usage.items.find(({ kind }) => kind === 'user')?.gpuLimits?.[0]).toMatchObject({ held: '1.43' })
  expect((await cli.run(['admin', 'policy', 'ls'])).out).toMatch(/hopper +∞ +h100=1\.5, T4=0 /)

  await person.deleteSession({ params: { id: first.id } })
  await cluster.reach(insisting.id, 'RUNNING')
})

test('a request that no GPU of the group could ever meet within the limit is refused, with the limit', async () => {
  await join([gpu('GPU-a', H100), gpu('GPU-b', H100), gpu('GPU-t', 'Tesla T4'), gpu('GPU-s', 'Tesla T4', 'shared')])
  expect(await refusal(cluster.launch(ask({ 'cuda.device': '2' }, { gpu: { model: 'H100' } }), person))).toMatchObject({
    code: 'over_user_policy',
    detail: {
      model: 'h100',
      why: `The request needs 2 GPU (H100); resource policy "${POLICY}" gives each user at most 1.5 GPU "h100" in total. Choose another GPU or fewer.`,
    },
  })
  expect(await refusal(cluster.launch(ask({ 'cuda.shares': '0.1' }), person))).toMatchObject({
    code: 'over_user_policy',
  })
  const body = { image: 'berth/python:3.13', environ: {}, count: 1, resourceGroup: 'default' }
  expect(await person.whatIf({ body: { ...body, ...ask({ 'cuda.device': '1' }) } })).toMatchObject({ startsNow: true })
  await run(ask({ 'cuda.device': '1' }))
  const size = { cpu: '0.5', mem: '512m', 'cuda.device': '1' }
  for (const [name, gpu] of Object.entries({ any: null, hopper: { model: 'H100' } }))
    await cluster.api.createPreset({ body: { name, slots: size, gpu } })
  const { items } = await person.listPresets()
  expect(items.filter(({ name }) => name === 'any' || name === 'hopper').map(({ fits }) => fits)).toEqual([
    false,
    false,
  ])
  const forecast = await person.whatIf({ body: { ...body, ...ask({ 'cuda.device': '1' }) } })
  expect(forecast).toMatchObject({ startsNow: false, reason: { code: 'user_policy', cause: 'needs_model_of_user' } })
})

test('limits on models are changed one by one, and a model is named once', async () => {
  const update = async (...flags: string[]) =>
    JSON.parse((await cli.run(['admin', 'policy', 'update', 'other', ...flags, '--json'])).out) as ResourcePolicy
  await cli.run(['admin', 'policy', 'create', 'other', '--cpu', '4'])
  expect(await update('--gpu-limit', 'A100 80GB=2', '--gpu-limit', 'L4=1')).toMatchObject({ limits: { cpu: '4' } })
  expect((await update('--gpu-limit', 'a100-80gb=3')).gpuLimits).toEqual([
    { model: 'L4', gpus: '1' },
    { model: 'a100-80gb', gpus: '3' },
  ])
  expect((await update('--sessions', '3')).gpuLimits).toHaveLength(2)
  expect((await update('--gpu-limit', 'unlimited')).gpuLimits).toEqual([])
  expect(await cli.run(['admin', 'policy', 'update', 'other', '--gpu-limit', 'H100'])).toMatchObject({ code: 2 })
  const twice = [
    { model: 'H100', gpus: '1' },
    { model: 'h100', gpus: '2' },
  ]
  const change = cluster.api.updateResourcePolicy({ params: { name: 'other' }, body: { gpuLimits: twice } })
  expect(await refusal(change)).toMatchObject({ code: 'bad_request' })
})

test('a limit of a domain counts the sessions of all its projects, and ends with it', async () => {
  await join([gpu('GPU-a', H100), gpu('GPU-b', H100)])
  await cluster.api.createDomain({ body: { name: 'hopland', gpuLimits: [{ model: 'H100', gpus: '1' }] } })
  const [first, second] = await Promise.all(
    ['cat@hop.example.org', 'dan@hop.example.org'].map(email => cluster.addUser(email, { domain: 'hopland' })),
  )
  const launch = (api: ApiClient | undefined, count: string) => cluster.launch(ask({ 'cuda.device': count }), api)
  await cluster.reach((await launch(first, '1')).id, 'RUNNING')
  const waiting = await launch(second, '1')
  await expect
    .poll(async () => (await cluster.api.getSession({ params: { id: waiting.id } })).reason)
    .toMatchObject({
      code: 'domain_limit',
      message:
        'Needs 1 GPU; in use are 1 of the 1 GPU "H100" that domain "hopland" may hold. Starts when other sessions end.',
    })
  expect(await refusal(launch(second, '2'))).toMatchObject({
    code: 'over_domain_limit',
    detail: { why: expect.stringContaining('domain "hopland" may hold at most 1 GPU "H100" in total') as string },
  })
  expect((await cli.run(['admin', 'domain', 'ls'])).out).toMatch(/hopland.*H100=1/)
  const changed = await cli.run(['admin', 'domain', 'update', 'hopland', '--gpu-limit', 'H100=unlimited', '--json'])
  expect(JSON.parse(changed.out)).toMatchObject({ gpuLimits: [] })
  await cluster.reach(waiting.id, 'RUNNING')
})

test('a limit of a project counts the sessions of all its users', async () => {
  await join([gpu('GPU-a', H100), gpu('GPU-b', H100)])
  const flags = ['--gpu-limit', 'H100=1', '--json']
  const made = JSON.parse((await cli.run(['admin', 'project', 'create', 'hopping', ...flags])).out) as Group
  expect(made.gpuLimits).toEqual([{ model: 'H100', gpus: '1' }])
  for (const user of ['ada@example.org', 'bob@example.org']) {
    if (user.startsWith('bob')) await cluster.addUser(user)
    expect(await cli.run(['admin', 'project', 'members', 'add', 'hopping', user])).toMatchObject({ code: 0 })
  }
  const inProject = (api: ApiClient, count: string) =>
    cluster.launch(ask({ 'cuda.device': count }, { group: 'hopping' }), api)
  await cluster.reach((await inProject(person, '1')).id, 'RUNNING')
  const waiting = await inProject(await cluster.signIn('bob@example.org'), '1')
  await expect
    .poll(async () => (await cluster.api.getSession({ params: { id: waiting.id } })).reason)
    .toMatchObject({
      code: 'group_limit',
      message:
        'Needs 1 GPU; in use are 1 of the 1 GPU "H100" that project "hopping" may hold. Starts when other sessions end.',
    })
  expect(await refusal(inProject(person, '2'))).toMatchObject({ code: expect.stringMatching(/^over_/) as string })
  expect((await cli.run(['admin', 'project', 'ls', '--search', 'hopping'])).out).toMatch(/H100=1/)
})
