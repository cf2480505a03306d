import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** An agent moves from one resource group to another, while both groups are scheduled. */

const GROUPS = ['default', 'lab'] as const
const EMPTY_AGAIN = { state: 'exited', exitCode: 0, oomKilled: false, engineRestarted: false } as const

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
  await cluster.api.createResourceGroup({ body: { name: 'lab' } })
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(() => cluster.reset())

const agentNow = ({ id }: ScriptedAgent) => cluster.api.getAgent({ params: { id } })
const move = ({ id }: ScriptedAgent, resourceGroup: string) =>
  cluster.api.updateAgent({ params: { id }, body: { resourceGroup } })
const launch = (resourceGroup: string) => cluster.launch({ resourceGroup, resources: { cpu: '0.5', mem: '512m' } })

test('an agent moves to another resource group, whose waiting sessions start there at once', async () => {
  const agent = await cluster.join()
  const waiting = await launch('lab')
  await expect.poll(() => cluster.reasonOf(waiting.id)).toBe('no_agents')
  expect(await move(agent, 'lab')).toMatchObject({ id: agent.id, resourceGroup: 'lab', schedulable: true })
  const { kernels } = await cluster.reach(waiting.id, 'RUNNING')
  expect(kernels[0]?.agentId).toBe(agent.id)
  const { id } = await launch('default')
  await expect.poll(() => cluster.reasonOf(id)).toBe('no_agents')
  const { items } = await cluster.api.listAuditLog({ query: { target: `agent:${agent.id}` } })
  expect(items[0]).toMatchObject({ action: 'updateAgent', result: 'ok', detail: { resourceGroup: 'lab' } })
})

test('an agent stays while sessions are on it, also while they end; the refusal names them', async () => {
  const agent = await cluster.join()
  const { id, name } = await launch('default')
  await cluster.reach(id, 'RUNNING')
  const destroy = agent.script.destroy_kernel
  const held = Promise.withResolvers<undefined>()
  agent.script.destroy_kernel = async (input, signal) => {
    await held.promise
    return destroy(input, signal)
  }
  const refused = { code: 'agent_in_use', detail: { cause: 'agent_used_by', running: [name] } }
  expect(await refusal(move(agent, 'lab'))).toMatchObject(refused)
  await cluster.api.deleteSession({ params: { id } })
  expect(await refusal(move(agent, 'lab'))).toMatchObject(refused)
  held.resolve(undefined)
  await cluster.reach(id, 'TERMINATED')
  expect((await move(agent, 'lab')).resourceGroup).toBe('lab')
})

test('an agent with the files of a waiting session stays', async () => {
  const agent = await cluster.join()
  const first = await launch('default')
  await cluster.reach(first.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: first.id } })
  await cluster.reach(first.id, 'TERMINATED')
  await cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
  const again = await cluster.api.restartSession({ params: { id: first.id }, body: {} })
  expect(await refusal(move(agent, 'lab'))).toMatchObject({
    code: 'agent_in_use',
    detail: { cause: 'agent_has_files', waiting: [again.name] },
  })
})

test('the same group is no move; an unknown group, an unknown and a forgotten agent are refused', async () => {
  const agent = await cluster.join()
  const { id } = await launch('default')
  await cluster.reach(id, 'RUNNING')
  expect((await move(agent, 'default')).resourceGroup).toBe('default')
  expect((await refusal(move(agent, 'none'))).code).toBe('resource_group_not_found')
  await cluster.api.forgetAgent({ params: { id: agent.id } })
  expect((await refusal(move(agent, 'lab'))).code).toBe('agent_not_found')
})

test('resource groups count their agents for superadmins, and versions name them, without forgotten ones', async () => {
  const agents = [await cluster.join(), await cluster.join()]
  const counts = async (api = cluster.api) =>
    (await api.listResourceGroups()).items.map(({ name, agents: count }) => [name, count])
  const named = async () => (await cluster.api.getVersions()).agents.flatMap(({ names }) => names)
  for (const agent of agents) await move(agent, 'lab')
  expect(await counts()).toEqual([
    ['default', 0],
    ['lab', 2],
  ])
  const names = await Promise.all(agents.map(async agent => (await agentNow(agent)).name))
  expect(await named()).toEqual(names.toSorted())
  await cluster.api.forgetAgent({ params: { id: agents[0]?.id as ScriptedAgent['id'] } })
  expect(await counts()).toEqual([
    ['default', 0],
    ['lab', 1],
  ])
  expect(await named()).toEqual([names[1]])
  const counted = (await counts(await cluster.addUser('grace@localhost'))).map(([, count]) => count)
  expect(new Set(counted)).toEqual(new Set([undefined]))
})

test('an agent that joins again stays in the group to which it was moved', async () => {
  const agent = await cluster.join()
  await move(agent, 'lab')
  await agent.disconnect()
  agent.rejoin((await cluster.api.createJoinToken({ body: { resourceGroup: 'default' } })).join)
  await agent.connect()
  expect(agent.refusal).toBeUndefined()
  expect((await agentNow(agent)).resourceGroup).toBe('lab')
})

test('an agent that is moved to and fro during placement never runs a session of another group', async () => {
  const agent = await cluster.join({ capacity: { cpu: 2_000, mem: 2 ** 40 } })
  const create = agent.script.create_kernel
  const seen: { of: string; on: string }[] = []
  agent.script.create_kernel = async (input, signal) => {
    // From the placement on, the agent is occupied, so it stays in its group until the container is gone.
    seen.push({ of: input.spec.resourceGroup, on: (await agentNow(agent)).resourceGroup })
    const reply = await create(input, signal)
    agent.change(input.spec.kernelId, { ...EMPTY_AGAIN, containerId: reply.containerId })
    return reply
  }
  const wanted = 16
  await Promise.all(Array.from({ length: wanted }, (_, n) => launch(GROUPS[n % 2] ?? 'default')))
  const outcomes = new Set<string>()
  for (let round = 0; seen.length < wanted && round < 2_000; round++) {
    outcomes.add(
      await move(agent, GROUPS[round % 2] ?? 'default').then(
        () => 'moved',
        (error: unknown) => (error as { code: string }).code,
      ),
    )
  }
  expect(seen).toHaveLength(wanted)
  expect(seen.filter(({ of, on }) => of !== on)).toEqual([])
  expect([...outcomes].toSorted()).toEqual(['agent_in_use', 'moved'])
})
