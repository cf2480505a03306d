import pg from 'pg'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AgentImage } from '#agent/contract'
import { startDatabase } from '../../fixtures/postgres.ts'
import { gpus, PYTHON, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

// Reports of returning agents: known facts are not written again, new ones are.

const stack = new AsyncDisposableStack()
let cluster: SessionsCluster
let db: pg.Client
beforeAll(async () => {
  const { url } = stack.use(await startDatabase())
  cluster = stack.use(
    await startSessionsCluster({ agentLostMs: 3_000, slowTickMs: 500, sweepMs: 50 }, { databaseUrl: url }),
  )
  db = new pg.Client({ connectionString: url })
  await db.connect()
  stack.defer(() => db.end())
})
beforeEach(() => cluster.reset())
afterAll(() => stack.disposeAsync())

const image = (n: number): AgentImage => ({
  ...PYTHON,
  id: `sha256:${String(n).repeat(64)}`,
  references: [`berth/image-${n}:1`],
})

/** The rows of the agent, with the transaction that wrote each last. */
async function rowsOf({ id }: ScriptedAgent) {
  const { rows: agents } = await db.query<Record<string, unknown>>(
    'select xmin::text, capacity, devices, version, status, row_version from agents where id = $1',
    [id],
  )
  const { rows: images } = await db.query<{ digest: string; xmin: string; image: AgentImage }>(
    'select xmin::text, digest, image from agent_images where agent_id = $1 order by digest',
    [id],
  )
  return { agent: agents[0], images }
}

async function ready(count: number, cores: number): Promise<void> {
  await expect
    .poll(async () => {
      const { agents, capacity } = await cluster.api.getResources()
      return [agents.connected, Number(capacity.cpu ?? 0)]
    })
    .toEqual([count, cores])
}

test('the return of an unchanged agent writes no row', async () => {
  const agent = await cluster.join({ devices: gpus(2), images: [PYTHON, image(1)] })
  await ready(1, 8)
  const before = await rowsOf(agent)
  await agent.disconnect()
  await ready(0, 0)
  agent.images = agent.images.toReversed()
  await agent.connect()
  await ready(1, 8)
  expect(await rowsOf(agent)).toEqual(before)
  await cluster.reach((await cluster.launch()).id, 'RUNNING')
})

test('a LOST agent that returns is CONNECTED again, with its sessions', async () => {
  const agent = await cluster.join()
  await agent.disconnect()
  const status = async () => (await cluster.api.listAgents()).items.map(item => item.status)
  await expect.poll(status).toEqual(['LOST'])
  await agent.connect()
  await expect.poll(status).toEqual(['CONNECTED'])
})

test('changes during the absence of an agent are recorded, whatever the number of reconnections and restarts of the manager', async () => {
  const agents = [await cluster.join(), await cluster.join(), await cluster.join()]
  const change = fc.record({
    cores: fc.integer({ min: 1, max: 16 }),
    gpus: fc.nat(3),
    images: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
    // The same image with other labels, as after a new build under an old id.
    title: fc.constantFrom('One', 'Other'),
    restart: fc.constantFrom(false, false, false, true),
  })
  await fc.assert(
    fc.asyncProperty(fc.tuple(change, change, change), async changes => {
      const away = async () => {
        await Promise.all(agents.map(agent => agent.disconnect()))
        changes.forEach(({ cores, gpus: count, images, title }, index) => {
          const agent = agents[index]
          if (!agent) return
          agent.capacity = { cpu: 1000 * cores, mem: 2 ** 34, ...(count > 0 ? { 'cuda.device': count } : {}) }
          agent.devices = gpus(count)
          agent.images = images.map(n => ({ ...image(n), title }))
        })
      }
      if (changes.some(({ restart }) => restart)) await cluster.restart(away)
      else await away()
      await Promise.all(agents.map(agent => agent.connect()))
      const cores = changes.reduce((sum, one) => sum + one.cores, 0)
      await ready(agents.length, cores)
      for (const agent of agents) {
        const { agent: row, images } = await rowsOf(agent)
        expect(row).toMatchObject({ capacity: agent.capacity, status: 'CONNECTED' })
        expect(row?.devices).toMatchObject(agent.devices)
        const told = agent.images.toSorted((a, b) => (a.id < b.id ? -1 : 1))
        expect(images.map(held => held.image)).toEqual(told)
      }
    }),
    { numRuns: 25 },
  )
})

test('an image that disappears and comes back while the agent stays connected is recorded each time', async () => {
  const agent = await cluster.join({ images: [PYTHON] })
  const digests = async () => (await rowsOf(agent)).images.map(({ digest }) => digest)
  await expect.poll(digests).toEqual([PYTHON.id])
  for (const images of [[], [PYTHON], [image(1)], [PYTHON]]) {
    agent.images = images
    agent.report(true)
    await expect.poll(digests).toEqual(images.map(({ id }) => id))
  }
})

test('forty agents that are cut off and return at once keep all sessions, and users see each session reachable again', async () => {
  const agents: ScriptedAgent[] = []
  while (agents.length < 40) agents.push(await cluster.join({ heartbeatMs: 500 }))
  await cluster.api.updateResourceGroup({ params: { name: 'default' }, body: { selector: 'dispersed' } })
  const ids = await Promise.all(
    Array.from({ length: 40 }, async () => (await cluster.launch({ resources: { cpu: '5' } })).id),
  )
  for (const id of ids) await cluster.reach(id, 'RUNNING')
  const reachable = async () => {
    const { items } = await cluster.api.listSessions({ query: { status: 'live', limit: 200 } })
    return items.filter(session => session.status === 'RUNNING' && session.reachable).length
  }
  expect(await reachable()).toBe(40)
  await Promise.all(agents.map(agent => agent.disconnect()))
  await expect.poll(reachable).toBe(0)
  await Promise.all(agents.map(agent => agent.connect()))
  await expect.poll(reachable).toBe(40)
  expect(agents.flatMap(agent => agent.requests('destroy_kernel'))).toEqual([])
})
