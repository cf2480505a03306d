import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { KernelId, type Session, SessionId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { hang, type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const join = (number: number) =>
  cluster.join({ capacity: { cpu: 2000, mem: 2 ** 33 }, clusterAddress: `192.168.7.${number}` })
const onThree = { name: 'train', clusterSize: 3, clusterMode: 'multi-host', resources: { cpu: '2' } } as const
const specsOf = (agent: ScriptedAgent) => agent.requests('create_kernel').map(({ spec }) => spec)
const show = (id: Session['id']) => cluster.api.getSession({ params: { id } })

describe('a session over several hosts', () => {
  test('has a kernel on each, which all know the same network, and ends on all of them', async () => {
    const agents = [await join(1), await join(2), await join(3)]
    const { id, clusterMode } = await cluster.launch(onThree)
    expect(clusterMode).toBe('multi-host')
    const running = await cluster.reach(id, 'RUNNING')
    expect(new Set(running.kernels.map(kernel => kernel.agentId)).size).toBe(3)
    const specs = agents.flatMap(specsOf)
    expect(specs).toHaveLength(3)
    const [network] = specs.map(spec => spec.cluster)
    for (const spec of specs) expect(spec.cluster).toEqual(network)
    expect(network?.kernels.map(kernel => kernel.role)).toEqual(['main1', 'sub1', 'sub2'])
    expect(new Set(network?.kernels.map(kernel => kernel.host)).size).toBe(3)
    for (const agent of agents) {
      const [spec] = specsOf(agent)
      expect(network?.kernels.find(kernel => kernel.role === spec?.role)?.host).toBe(agent.clusterAddress)
    }
    const placed = (await cluster.timeline(id)).includes('SCHEDULED placed')
    expect(placed).toBe(true)
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect(agents.map(agent => agent.containers.size)).toEqual([0, 0, 0])
  })

  test('two sessions have different networks', async () => {
    const agents = [await join(1), await join(2)]
    const half = { ...onThree, clusterSize: 2, resources: { cpu: '1.5', mem: '64m' } }
    const first = await cluster.launch({ ...half, name: 'first' })
    await cluster.reach(first.id, 'RUNNING')
    await cluster.api.deleteSession({ params: { id: first.id } })
    await cluster.reach(first.id, 'TERMINATED')
    const second = await cluster.launch({ ...half, name: 'second' })
    await cluster.reach(second.id, 'RUNNING')
    const ids = agents.flatMap(specsOf).map(spec => spec.cluster?.id)
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(2)
  })

  test('if it cannot start on one host, the kernels on the others are removed before it starts again', async () => {
    const agents = [await join(1), await join(2), await join(3)]
    const [, failing] = agents
    if (!failing) throw new Error('no agent')
    failing.script.create_kernel = ({ spec }) => {
      if (spec.attempt === 1) throw new ScriptedError('kernel_create_failed', 'no room on the disk')
      return failing.run(spec)
    }
    const { id } = await cluster.launch(onThree)
    const running = await cluster.reach(id, 'RUNNING')
    expect(running.kernels.map(kernel => kernel.status)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    // A host on which the first attempt has left something must not be joined with the hosts of the second one.
    const numbers = agents.flatMap(specsOf).map(({ attempt, cluster: network }) => `${attempt} ${network?.id}`)
    const [first, second] = [...new Set(numbers)].toSorted().map(text => text.split(' ')[1])
    expect(second).not.toBe(first)
    for (const agent of agents.filter(one => one !== failing)) {
      expect(agent.requests('destroy_kernel').some(({ attempt }) => attempt === 1)).toBe(true)
    }
  })

  test('ends everywhere when a kernel on another host than that of main1 dies', async () => {
    const agents = [await join(1), await join(2), await join(3)]
    const { id } = await cluster.launch(onThree)
    const running = await cluster.reach(id, 'RUNNING')
    const sub = running.kernels.find(kernel => kernel.role === 'sub2')
    const agent = agents.find(one => one.id === sub?.agentId)
    if (!sub || !agent) throw new Error('no sub2')
    const containerId = sub.containerId ?? ''
    agent.change(sub.id, { state: 'exited', containerId, exitCode: 3, oomKilled: false, engineRestarted: false })
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.reason.code).toBe('kernel_failed')
    expect(agents.map(one => one.containers.size)).toEqual([0, 0, 0])
  })

  test('shows that a host of it is away, goes on, and ends on the others first', async () => {
    const agents = [await join(1), await join(2), await join(3)]
    const { id } = await cluster.launch(onThree)
    const running = await cluster.reach(id, 'RUNNING')
    const away = agents.find(one => one.id === running.kernels[1]?.agentId)
    if (!away) throw new Error('no agent')
    await away.disconnect()
    await expect.poll(async () => (await show(id)).reachable).toBe(false)
    expect((await show(id)).status).toBe('RUNNING')
    await cluster.api.deleteSession({ params: { id } })
    const others = agents.filter(one => one !== away)
    await expect.poll(() => others.map(one => one.containers.size)).toEqual([0, 0])
    expect((await show(id)).status).toBe('TERMINATING')
    await away.connect()
    await cluster.reach(id, 'TERMINATED')
    expect(away.containers.size).toBe(0)
  })

  test('ends when the host of a kernel is removed from Berth, and its containers elsewhere end', async () => {
    const agents = [await join(1), await join(2), await join(3)]
    const { id } = await cluster.launch(onThree)
    const running = await cluster.reach(id, 'RUNNING')
    const away = agents.find(one => one.id === running.kernels[2]?.agentId)
    if (!away) throw new Error('no agent')
    await away.disconnect()
    await cluster.api.forgetAgent({ params: { id: away.id } })
    expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('agent_forgotten')
    await expect.poll(() => agents.filter(one => one !== away).map(one => one.containers.size)).toEqual([0, 0])
  })

  test('is imported as such from its hosts if the database does not know it, and no other session gets its network', async () => {
    const agents = [await join(1), await join(2)]
    const small = { ...onThree, clusterSize: 2, resources: { cpu: '1.1', mem: '64m' } }
    const { id } = await cluster.launch(small)
    const { kernels } = await cluster.reach(id, 'RUNNING')
    const other = newId(SessionId)
    for (const kernel of kernels) {
      const agent = agents.find(one => one.id === kernel.agentId)
      const container = agent?.containers.get(kernel.id)
      if (!agent || !container?.label.cluster) throw new Error('no container')
      const kernelId = newId(KernelId)
      const network = { ...container.label.cluster, id: container.label.cluster.id + 1 }
      const own = { kernelId, sessionId: other, slots: { cpu: 1, mem: 1 }, cluster: network }
      agent.containers.set(kernelId, { ...container, label: await cluster.signed({ ...container.label, ...own }) })
    }
    const known = () => cluster.api.getSession({ params: { id: other } }).catch(() => null)
    await expect.poll(async () => (await known())?.kernels.length).toBe(2)
    expect(await known()).toMatchObject({ status: 'RUNNING', clusterMode: 'multi-host' })
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    const next = await cluster.launch({ ...small, name: 'next' })
    await cluster.reach(next.id, 'RUNNING')
    const numbers = agents.flatMap(specsOf).map(spec => spec.cluster?.id ?? 0)
    expect(numbers).not.toContain((numbers[0] ?? 0) + 1)
  })

  test('does not starve: what becomes free on its hosts is held for it, until all its containers fit', async () => {
    const agents = [await join(1), await join(2)]
    await cluster.api.updateResourceGroup({
      params: { name: 'default' },
      body: { options: { reserveAfterSeconds: 0 } },
    })
    const small = { resources: { cpu: '1.5', mem: '64m' } }
    const others = [
      await cluster.launch({ ...small, name: 'small-1' }),
      await cluster.launch({ ...small, name: 'small-2' }),
    ]
    for (const { id } of others) await cluster.reach(id, 'RUNNING')
    const { id } = await cluster.launch({ ...onThree, clusterSize: 2 })
    const held = async () => (await cluster.api.listReservations({ query: {} })).items
    await expect
      .poll(held)
      .toMatchObject([{ session: { id }, needed: { cpu: '4' }, held: { cpu: '1' }, devices: [], expectedBy: null }])
    const [reservation] = await held()
    expect(new Set(reservation?.agents.map(agent => agent.id))).toEqual(new Set(agents.map(agent => agent.id)))
    await expect.poll(async () => (await show(id)).reason.code).toBe('reserved')
    // A later one would fit, and waits.
    const late = await cluster.launch({ resources: { cpu: '0.5', mem: '64m' }, name: 'late' })
    await expect.poll(async () => (await show(late.id)).reason.code).toBe('queued_behind')
    for (const one of others) await cluster.api.deleteSession({ params: { id: one.id } })
    await cluster.reach(id, 'RUNNING')
    await expect.poll(async () => (await held()).map(({ session }) => session.id)).toEqual([late.id])
    await cluster.api.updateResourceGroup({ params: { name: 'default' }, body: { options: {} } })
  })

  test('is refused where the hosts have no network between them, and where Berth cannot keep the promise of a choice', async () => {
    await cluster.join({ capacity: { cpu: 2000, mem: 2 ** 33 } })
    // Every host is 127.0.0.1, and none is 224.0.0.1.
    await cluster.join({ capacity: { cpu: 2000, mem: 2 ** 33 }, clusterAddress: '127.0.0.1' })
    await cluster.join({ capacity: { cpu: 2000, mem: 2 ** 33 }, clusterAddress: '224.0.0.1' })
    await join(2)
    expect(await refusal(cluster.launch(onThree))).toMatchObject({ code: 'no_host_network' })
    await join(3)
    expect(await refusal(cluster.launch(onThree))).toMatchObject({ code: 'request_too_large' })
    expect(await refusal(cluster.launch({ ...onThree, interruptible: true }))).toMatchObject({ code: 'bad_request' })
  })
})

test('a start over several hosts of which the first one is lost goes on elsewhere, and its containers on the others end', async () => {
  await using quick = await startSessionsCluster({ sweepMs: 50, agentLostMs: 300, slowTickMs: 300 })
  const joinQuick = (number: number) =>
    quick.join({ capacity: { cpu: 2000, mem: 2 ** 33 }, clusterAddress: `192.168.7.${number}` })
  const agents = [await joinQuick(1), await joinQuick(2)]
  for (const agent of agents)
    agent.script.create_kernel = ({ spec }, signal) => (spec.role === 'main1' ? hang(signal) : agent.run(spec))
  const { id } = await quick.launch({ ...onThree, clusterSize: 2 })
  const kernels = async () => (await quick.api.getSession({ params: { id } })).kernels
  await expect.poll(async () => (await kernels()).map(({ status }) => status)).toEqual(['PREPARING', 'RUNNING'])
  const [main] = await kernels()
  const lost = agents.find(agent => agent.id === main?.agentId)
  const kept = agents.find(agent => agent !== lost)
  await lost?.disconnect()
  // The time of the start is over, also for the agent that nobody hears.
  await using store = await openToRead({ ...quick.source, log: silentLog })
  await sql`update kernels set start_by = now() where session_id = ${id}`.execute(store.db)
  await sql`update sessions set status_at = now() - interval '1 hour' where id = ${id}`.execute(store.db)
  await expect.poll(() => kept?.containers.size).toBe(0)
  await expect.poll(async () => (await quick.api.getSession({ params: { id } })).status).toBe('PENDING')
})
