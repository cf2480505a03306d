import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type AgentDevice, KernelId, type SessionStats, type SettableMode } from '#manager/contract'
import { startManagers } from '../../fixtures/managers.ts'
import { STILL } from '../../fixtures/pulse.ts'
import { gpus, ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const GiB = 2 ** 30
const ROOM = { cpu: 64_000, mem: 128 * GiB }

const ENDED = { state: 'exited', exitCode: 0, oomKilled: false, engineRestarted: false } as const

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster({ agentLostMs: 2_000 })
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(() => cluster.reset())

const join = (count = 2) => cluster.join({ capacity: ROOM, devices: gpus(count) })
const agentNow = async ({ id }: ScriptedAgent) => (await cluster.api.listAgents()).items.find(one => one.id === id)
const devicesOf = async (agent: ScriptedAgent) => (await agentNow(agent))?.devices ?? []
const deviceOf = async (agent: ScriptedAgent, uuid = 'GPU-0'): Promise<AgentDevice> => {
  const device = (await devicesOf(agent)).find(one => one.uuid === uuid)
  if (!device) throw new Error('no such device')
  return device
}
const setMode = ({ id }: ScriptedAgent, mode: SettableMode | 'mig', uuid = 'GPU-0') =>
  cluster.api.setDeviceMode({ params: { id, uuid }, body: { mode } })
const launch = (resources: Record<string, string>) =>
  cluster.launch({ resources: { cpu: '0.5', mem: '512m', ...resources } })
const end = async (id: Awaited<ReturnType<typeof launch>>['id']) => {
  await cluster.api.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
}

test('a GPU that an admin shares is available in shares at once, and its agent receives the mode', async () => {
  const agent = await join()
  const changed = await setMode(agent, 'shared')
  expect(changed.capacity).toMatchObject({ 'cuda.device': '1', 'cuda.shares': '1' })
  expect(changed.devices[0]).toMatchObject({
    mode: 'shared',
    slot: 'cuda.shares',
    isolation: 'accounted',
    occupied: '0',
  })
  expect((await cluster.api.getResources()).partsHold).toBe('accounted')
  const { id } = await launch({ 'cuda.shares': '0.3' })
  const { kernels } = await cluster.reach(id, 'RUNNING')
  expect(kernels[0]?.devices).toEqual([{ uuid: 'GPU-0', slot: 'cuda.shares', amount: '0.3' }])
  expect((await deviceOf(agent)).occupied).toBe('0.3')
  await expect.poll(() => agent.devices.map(({ mode }) => mode)).toEqual(['shared', 'whole'])
  expect(agent.requests('set_device_modes').at(-1)).toEqual({ modes: { 'GPU-0': 'shared', 'GPU-1': 'whole' } })
})

test('two sessions on one GPU have their own figures; an agent of an older version does not tell them', async () => {
  const agent = await join(1)
  await setMode(agent, 'shared')
  const sessions = await Promise.all(['0.25', '0.5'].map(shares => launch({ 'cuda.shares': shares })))
  const running = await Promise.all(sessions.map(({ id }) => cluster.reach(id, 'RUNNING')))
  const kernels = running.map(session => session.kernels[0]?.id ?? KernelId.parse(''))
  const device = { utilization: 90, memBytes: 62 * GiB, totalBytes: 80 * GiB }
  const tell = (figures: readonly SessionStats['gpus'][number][]) =>
    agent.send({
      type: 'stats',
      kernels: kernels.map((kernelId, at) => ({
        kernelId,
        stats: { ...STILL, at: new Date().toISOString(), gpus: figures.slice(at, at + 1) },
      })),
    })
  const told = () =>
    Promise.all(sessions.map(async ({ id }) => (await cluster.api.getSession({ params: { id } })).stats?.gpus))
  const gpu = (utilization: number | null, memBytes: number | null) => ({ uuid: 'GPU-0', utilization, memBytes })
  const both = [
    { ...gpu(30, 20 * GiB), device },
    { ...gpu(null, 41 * GiB), device },
  ]
  tell(both)
  await expect.poll(told).toEqual(both.map(one => [one]))
  tell([gpu(90, 62 * GiB), gpu(90, 62 * GiB)])
  const unknown = { ...gpu(null, null), device: { ...device, totalBytes: 0 } }
  await expect.poll(told).toEqual([[unknown], [unknown]])
  // Nonsense is refused as a whole.
  tell([{ ...gpu(1, 1), device: { ...device, memBytes: -1 } }])
  tell([
    { ...gpu(5, 1), device },
    { ...gpu(6, 1), device },
  ])
  await expect.poll(told).toEqual([[{ ...gpu(5, 1), device }], [{ ...gpu(6, 1), device }]])
  expect((await cluster.api.getResources()).sharedGpus).toEqual([
    { model: agent.devices[0]?.model, memBytes: agent.devices[0]?.memBytes },
  ])
})

test('the mode of a device cannot change while sessions use it; the refusal names them', async () => {
  const agent = await join(1)
  await setMode(agent, 'shared')
  const session = await launch({ 'cuda.shares': '0.3' })
  await cluster.reach(session.id, 'RUNNING')
  expect(await refusal(setMode(agent, 'whole'))).toMatchObject({
    code: 'device_in_use',
    detail: { sessions: [session.name], uuid: 'GPU-0' },
  })
  expect((await setMode(agent, 'shared')).devices[0]?.mode).toBe('shared')
  await end(session.id)
  await setMode(agent, 'whole')
  await cluster.reach((await launch({ 'cuda.device': '1' })).id, 'RUNNING')
})

test('MIG cannot be switched on or off; unknown devices are refused as unknown', async () => {
  const mig = { ...gpus(1)[0], uuid: 'MIG-0', mode: 'mig', isolation: 'mig' } as (typeof agent.devices)[number]
  const agent = await cluster.join({ capacity: ROOM, devices: [...gpus(1), mig] })
  expect(await refusal(setMode(agent, 'mig'))).toMatchObject({ code: 'device_mode_fixed' })
  expect(await refusal(setMode(agent, 'shared', 'MIG-0'))).toMatchObject({ code: 'device_mode_fixed' })
  expect(await refusal(setMode(agent, 'shared', 'GPU-9'))).toMatchObject({ code: 'device_not_found' })
  expect((await agentNow(agent))?.capacity).toMatchObject({ 'cuda.device': '2' })
})

test('modes survive restarts of manager and agent, and reports of the agent do not change them', async () => {
  const agent = await join(1)
  await setMode(agent, 'shared')
  const { id } = await launch({ 'cuda.shares': '0.3' })
  await cluster.reach(id, 'RUNNING')
  await cluster.restart(async () => {
    await agent.disconnect()
    // Restarted: it knows only its configuration.
    agent.devices = gpus(1)
  })
  await agent.connect()
  await expect.poll(() => agent.devices[0]?.mode).toBe('shared')
  expect(await deviceOf(agent)).toMatchObject({ mode: 'shared', slot: 'cuda.shares', occupied: '0.3' })
})

test('the configuration of an agent sets the first mode of a new device only', async () => {
  const agent = await cluster.join({ capacity: ROOM, devices: gpus(1, 'cuda.shares') })
  expect((await deviceOf(agent)).mode).toBe('shared')
  agent.devices = gpus(2)
  await expect.poll(async () => (await devicesOf(agent)).map(({ mode }) => mode)).toEqual(['shared', 'whole'])
})

test('the manager repeats the modes until the agent reports them', async () => {
  let failures = 2
  const agent = await join(1)
  const tell = agent.script.set_device_modes
  agent.script.set_device_modes = (input, signal) => {
    if (failures-- > 0) throw new Error('busy')
    return tell(input, signal)
  }
  await setMode(agent, 'shared')
  await expect.poll(() => agent.devices[0]?.mode).toBe('shared')
  expect(agent.requests('set_device_modes').length).toBeGreaterThanOrEqual(3)
})

test('a mode that is set during placement never changes a device under a placed session', async () => {
  const agent = await join(2)
  await setMode(agent, 'shared', 'GPU-1')
  const create = agent.script.create_kernel
  const seen: { slot: string; mode: string }[] = []
  agent.script.create_kernel = async (input, signal) => {
    const devices = await devicesOf(agent)
    // From the placement on, the kernel holds them, so their mode cannot change now.
    for (const { uuid, slot } of input.spec.devices)
      seen.push({ slot, mode: devices.find(one => one.uuid === uuid)?.slot ?? 'none' })
    const reply = await create(input, signal)
    agent.change(input.spec.kernelId, { ...ENDED, containerId: reply.containerId })
    return reply
  }
  await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      launch(index % 2 === 0 ? { 'cuda.device': '1' } : { 'cuda.shares': '0.5' }),
    ),
  )
  const outcomes = new Set<string>()
  for (let round = 0; seen.length < 24 && round < 2_000; round++) {
    const mode = round % 4 < 2 ? 'shared' : 'whole'
    const call = setMode(agent, mode, `GPU-${round % 2}`)
    outcomes.add(
      await call.then(
        () => 'set',
        (error: unknown) => (error as { code: string }).code,
      ),
    )
  }
  expect(seen.length).toBeGreaterThanOrEqual(24)
  expect(seen.filter(({ slot, mode }) => slot !== mode)).toEqual([])
  expect([...outcomes].toSorted()).toEqual(['device_in_use', 'set'])
})

test('nothing is placed on a device with a problem; a device that is lost while in use stays in the list', async () => {
  const agent = await join(2)
  const first = await launch({ 'cuda.device': '1' })
  await cluster.reach(first.id, 'RUNNING')
  agent.devices = gpus(2).map(device =>
    device.uuid === 'GPU-1' ? { ...device, problem: 'nvidia-smi: GPU is lost.' } : device,
  )
  await expect.poll(async () => (await deviceOf(agent, 'GPU-1')).problem).toContain('GPU is lost')
  const second = await launch({ 'cuda.device': '1' })
  await expect.poll(() => cluster.reasonOf(second.id)).toBe('capacity')
  expect((await cluster.api.getResources()).largest['cuda.device']).toBe('1')
  // The held one vanishes, the other one recovers.
  agent.devices = gpus(2).slice(1)
  await cluster.reach(second.id, 'RUNNING')
  expect(await deviceOf(agent)).toMatchObject({
    occupied: '1',
    problem: expect.stringContaining('does not find this device') as string,
  })
  await end(first.id)
  agent.devices = gpus(2)
    .slice(1)
    .map(device => ({ ...device, model: 'Looked at again' }))
  await expect.poll(async () => (await devicesOf(agent)).map(({ uuid }) => uuid)).toEqual(['GPU-1'])
})

test('memory limits of parts count as enforced only if all parts are enforced', async () => {
  const agent = await join(2)
  const partsHold = async () => (await cluster.api.getResources()).partsHold
  expect(await partsHold()).toBeNull()
  const proven = gpus(2, 'cuda.shares').map(device => ({ ...device, isolation: 'enforced' as const }))
  await setMode(agent, 'shared')
  await setMode(agent, 'shared', 'GPU-1')
  agent.devices = proven
  await expect.poll(partsHold).toBe('enforced')
  agent.devices = [...proven.slice(1), ...gpus(1, 'cuda.shares')]
  await expect.poll(partsHold).toBe('accounted')
})

test('a device is listed with its figures; unknown figures stay unknown', async () => {
  const agent = await join(2)
  agent.deviceFigures = [{ uuid: 'GPU-0', utilization: null, memBytes: 3 * GiB }]
  await expect.poll(async () => (await deviceOf(agent)).memUsedBytes).toBe(3 * GiB)
  expect(await devicesOf(agent)).toMatchObject([{ utilization: null }, { utilization: null, memUsedBytes: null }])
})

test('an agent receives a mode that was set at a manager without a connection to it', async () => {
  await using managers = await startManagers()
  const [here, there] = [await managers.start(), await managers.start()]
  const { join } = await there.createJoinToken()
  await using agent = await new ScriptedAgent({ url: there.url, join, devices: gpus(1) }).connect()
  const { api } = await managers.admin(here)
  await expect.poll(async () => (await api.listAgents()).items[0]?.devices.length).toBe(1)
  await api.setDeviceMode({ params: { id: agent.id, uuid: 'GPU-0' }, body: { mode: 'shared' } })
  await expect.poll(() => agent.devices[0]?.mode).toBe('shared')
})
