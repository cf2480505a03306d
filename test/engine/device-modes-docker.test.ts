import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LABEL_KERNEL_ID } from '#agent/contract'
import { type AgentDevice, type SessionId, type SessionStatus } from '#manager/contract'
import { createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { createCli } from '../fixtures/cli.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker } from '../fixtures/docker.ts'
import { startTestManager } from '../fixtures/manager.ts'

// Real manager, agent, engine and containers; only the GPU is simulated.
test('a command shares a GPU, not while a session uses it, and makes it whole again afterwards', async () => {
  await using stack = new AsyncDisposableStack()
  await busyboxImage()
  const manager = stack.use(await startTestManager())
  const cli = stack.use(await createCli())
  const home = stack.use(await createAgentHome())
  const berth = (...args: string[]) => cli.run(args)
  await cli.signIn(manager.url)
  const gpus = join(home.data, 'gpus.toml')
  await writeFile(
    gpus,
    '[[gpu]]\nuuid = "SIM-0"\nmodel = "Simulated A100"\nmemory = "40g"\n[[gpu]]\nuuid = "SIM-MIG"\nmode = "mig"\n',
  )
  const environment = { BERTH_AGENT_NAME: 'lab-ten', BERTH_SIMULATED_GPUS: gpus }
  const { out: joinString } = await berth('admin', 'agent', 'join-token')
  const first = await spawnAgent(home, { ...environment, BERTH_JOIN: joinString.trim() })
  await first.firstLine

  const { api } = await manager.signIn()
  stack.defer(async () => {
    const { items } = await api.listSessions({ query: { status: 'live' } })
    await Promise.all(items.map(({ id }) => api.deleteSession({ params: { id } })))
    await expect.poll(async () => (await api.listSessions({ query: { status: 'live' } })).total).toBe(0)
  })
  const launch = async (resources: Record<string, string>) => {
    const body = { image: BUSYBOX_IMAGE, resources: { cpu: '0.1', mem: '32m', ...resources } }
    const [session] = (await api.createSession({ body })).items
    if (!session) throw new Error('no session')
    return session
  }
  const reach = async (id: SessionId, status: SessionStatus) => {
    const get = () => api.getSession({ params: { id } })
    await expect.poll(async () => (await get()).status).toBe(status)
    return get()
  }
  const device = async () => {
    const [one] = JSON.parse((await berth('admin', 'agent', 'device', 'ls', 'lab-ten', '--json')).out) as AgentDevice[]
    return one
  }
  const setMode = (mode: string, uuid = 'SIM-0') => berth('admin', 'agent', 'device', 'mode', 'lab-ten', uuid, mode)

  expect(await device()).toMatchObject({ uuid: 'SIM-0', mode: 'whole', slot: 'cuda.device', isolation: 'whole' })
  expect(await setMode('shared')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/SIM-0 .* shared +accounted/) as string,
  })
  await expect.poll(async () => (await device())?.isolationReason).toBe('A simulated GPU has no memory to limit.')
  const part = await launch({ 'cuda.shares': '0.3' })
  const { kernels } = await reach(part.id, 'RUNNING')
  expect(kernels[0]?.devices).toEqual([{ uuid: 'SIM-0', slot: 'cuda.shares', amount: '0.3' }])
  const variablesOf = async (kernelId = '') => {
    const filters = { label: [`${LABEL_KERNEL_ID}=${kernelId}`] }
    const [container] = await docker.listContainers({ filters })
    return (await docker.getContainer(container?.Id ?? 'none').inspect()).Config.Env
  }
  const variables = await variablesOf(kernels[0]?.id)
  expect(variables).toEqual(expect.arrayContaining(['BERTH_SIMULATED_GPUS=SIM-0', 'NVIDIA_VISIBLE_DEVICES=void']))
  const told = ['BERTH_GPU_SHARE=0.3', 'BERTH_GPU_MEMORY_MIB=12288', 'CUPY_GPU_MEMORY_LIMIT=30%']
  expect(variables).toEqual(expect.arrayContaining(told))

  const refused = await setMode('whole')
  expect(refused.code).not.toBe(0)
  expect(refused.err).toContain(part.name)
  expect((await setMode('mig')).err).toContain('nvidia-smi on the host')
  expect((await setMode('whole', 'SIM-MIG')).err).toContain('nvidia-smi on the host')

  // A killed and restarted agent knows only its configuration; the manager's mode still applies.
  first.kill('SIGKILL')
  await first.exited
  const second = stack.use(await spawnAgent(home, environment))
  await second.firstLine
  expect(await device()).toMatchObject({ mode: 'shared', occupied: '0.3' })

  await api.deleteSession({ params: { id: part.id } })
  await reach(part.id, 'TERMINATED')
  expect(await setMode('whole')).toMatchObject({ code: 0 })
  const whole = await launch({ 'cuda.device': '1' })
  const [kernel] = (await reach(whole.id, 'RUNNING')).kernels
  expect(kernel?.devices).toMatchObject([{ slot: 'cuda.device' }])
  expect((await variablesOf(kernel?.id)).filter(line => /GPU_SHARE|GPU_MEMORY|ALLOC_CONF/.test(line))).toEqual([])
  await api.deleteSession({ params: { id: whole.id } })
  await reach(whole.id, 'TERMINATED')
})
