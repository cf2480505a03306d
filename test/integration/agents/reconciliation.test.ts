import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, KernelId, SessionId, UserId } from '#manager/contract'
import { newId } from '../../../manager/store/new-id.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { gpus, hang } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'
import { runningOn } from './running-on.ts'

/** Agents report containers that the manager's records do not contain, or contain differently. */
let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster({ agentLostMs: 700, slowTickMs: 500, sweepMs: 50 })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

async function tokenOf(person: ApiClient) {
  const made = await person.createAccessToken({ body: { name: 'ci', scopes: ['read', 'launch', 'enter'], days: 1 } })
  return { ...made, api: apiOf(cluster.url, made.token) }
}

describe('reconciliation of reported containers with records', () => {
  test('a container without a record is imported with its slots, and can be ended', async () => {
    const agent = await cluster.join()
    const { session, container } = await runningOn(cluster, agent)
    const [otherKernel, otherSession] = [newId(KernelId), newId(SessionId)]
    const label = {
      ...container.label,
      kernelId: otherKernel,
      sessionId: otherSession,
      slots: { cpu: 3000, mem: 2 ** 30 },
    }
    agent.containers.set(otherKernel, { ...container, label: await cluster.signed(label) })

    const imported = await cluster.reach(otherSession, 'RUNNING').catch(() => undefined)
    expect(imported).toMatchObject({ reason: { code: 'imported' }, ownerEmail: 'admin@localhost' })
    // The name of the original session is taken.
    expect(imported?.name).toBe(`${session.name}-2`)
    expect((await cluster.api.listAgents()).items[0]?.occupied.cpu).toBe('4')
    await cluster.api.deleteSession({ params: { id: otherSession } })
    await cluster.reach(otherSession, 'TERMINATED')
    expect(agent.containers.has(otherKernel)).toBe(false)
  })

  test('an imported session of an access token stays one', async () => {
    const agent = await cluster.join()
    const { api, id: tokenId } = await tokenOf(cluster.api)
    const { id } = await cluster.launch({ startupCommand: 'make' }, api)
    const { kernels } = await cluster.reach(id, 'RUNNING')
    const container = agent.containers.get(KernelId.parse(kernels[0]?.id))
    if (!container) throw new Error('not on this agent')
    expect(container.label.tokenId).toBe(tokenId)
    const label = { ...container.label, kernelId: newId(KernelId), sessionId: newId(SessionId) }
    agent.containers.set(label.kernelId, { ...container, label: await cluster.signed(label) })
    expect((await cluster.reach(label.sessionId, 'RUNNING')).launchedBy).toBe('access token')
    // The token enters it, as before.
    await api.getSshAccess({ params: { id: label.sessionId } })
  })

  test.each([
    ['that nobody has', 'nobody@example.org'],
    ['of an account whose password an administrator chose since', 'made-again@example.org'],
  ])(
    'a container of an unknown person with an address %s is nobody’s: no administrator enters it',
    async (_, email) => {
      const agent = await cluster.join()
      const { container } = await runningOn(cluster, agent)
      if (email.startsWith('made'))
        await cluster.api.createUser({ body: { email, name: 'Made', password: 'Chosen-by-admin-1' } })
      const owner = { id: newId(UserId), email }
      const label = { ...container.label, owner, kernelId: newId(KernelId), sessionId: newId(SessionId) }
      agent.containers.set(label.kernelId, { ...container, label: await cluster.signed(label) })
      const params = { id: agent.id }
      const unknown = () =>
        cluster.api.listUnknownContainers({ params }).then(({ items }) => items.map(one => one.ownerEmail))
      await expect.poll(unknown).toEqual([email])
      const decide = (action: 'import' | 'remove') =>
        cluster.api.decideUnknownContainer({ params: { ...params, kernelId: label.kernelId }, body: { action } })
      expect((await refusal(decide('import'))).detail.cause).toBe('container_without_owner')
      expect((await refusal(cluster.api.getSession({ params: { id: label.sessionId } }))).code).toBe(
        'session_not_found',
      )
      await decide('remove')
      await expect.poll(unknown).toEqual([])
    },
  )

  test('a container goes to the account of its address once the person has chosen a password that nobody else knows', async () => {
    const agent = await cluster.join()
    const { container } = await runningOn(cluster, agent)
    const email = 'back@localhost'
    const owner = { id: newId(UserId), email }
    const label = { ...container.label, owner, kernelId: newId(KernelId), sessionId: newId(SessionId) }
    const person = await cluster.addUser(email)
    await person.changePassword({ body: { oldPassword: USER_PASSWORD, newPassword: 'Own-and-unknown-1' } })
    agent.containers.set(label.kernelId, { ...container, label: await cluster.signed(label) })
    await cluster.reach(label.sessionId, 'RUNNING')
    await person.getSshAccess({ params: { id: label.sessionId } })
  })

  test('the start of a session is recorded in database time, whatever the clock of its agent says', async () => {
    const agent = await cluster.join()
    agent.clockOffsetMs = 3_600_000
    agent.report()
    const { session, container } = await runningOn(cluster, agent)
    const label = { ...container.label, kernelId: newId(KernelId), sessionId: newId(SessionId) }
    agent.containers.set(label.kernelId, { ...container, label: await cluster.signed(label) })
    const imported = await cluster.reach(label.sessionId, 'RUNNING')
    for (const { startedAt } of [session, imported]) {
      const tookMs = Date.parse(startedAt ?? '') - Date.parse(session.createdAt)
      expect(tookMs).toBeGreaterThanOrEqual(0)
      expect(tookMs).toBeLessThan(60_000)
    }
  })

  test('a container that names a known session but is none of its kernels is ended', async () => {
    const agent = await cluster.join()
    const { session, container } = await runningOn(cluster, agent)
    const orphan = newId(KernelId)
    const label = await cluster.signed({ ...container.label, kernelId: orphan })
    agent.containers.set(orphan, { ...container, label })
    await expect.poll(() => agent.containers.has(orphan)).toBe(false)
    expect(agent.requests('destroy_kernel')).toMatchObject([{ kernelId: orphan, attempt: container.attempt }])
    expect((await cluster.api.getSession({ params: { id: session.id } })).status).toBe('RUNNING')
  })

  test('a container that cannot be imported does not keep its agent from getting work', async () => {
    const agent = await cluster.join()
    const { container } = await runningOn(cluster, agent)
    const odd = newId(KernelId)
    // More than the column can store.
    const label = { ...container.label, kernelId: odd, sessionId: newId(SessionId), clusterSize: 2 ** 40 }
    await agent.disconnect()
    agent.containers.set(odd, { ...container, label: await cluster.signed(label) })
    await agent.connect()
    // The agent's reports about other containers are still processed.
    await expect.poll(() => agent.notTakenUp).toEqual([odd])
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    expect(agent.containers.has(odd)).toBe(true)
  })

  test('an agent cannot report on the pull of another agent', async () => {
    const owner = await cluster.join()
    owner.script.create_kernel = ({ spec }, signal) => {
      owner.run(spec)
      owner.change(spec.kernelId, { state: 'starting', phase: 'pulling' })
      return hang(signal)
    }
    const { id } = await cluster.launch()
    const kernelId = (await cluster.reach(id, 'PULLING')).kernels[0]?.id
    if (!kernelId) throw new Error('no kernel')
    const liar = await cluster.join()
    const progress = (bytesDone: number) => ({ layersDone: 0, layersTotal: 1, bytesDone, bytesTotal: 9, layers: [] })
    const pullNow = async () => (await cluster.api.getSession({ params: { id } })).pull
    liar.pull(kernelId, progress(6))
    liar.images = []
    liar.report(true)
    // Messages are handled in order: when the report is handled, so is the pull before it.
    await expect
      .poll(async () => (await cluster.api.listImages()).items.flatMap(image => image.agentIds))
      .not.toContain(liar.id)
    expect(await pullNow()).toBeNull()
    owner.pull(kernelId, progress(3))
    await expect.poll(async () => (await pullNow())?.bytesDone).toBe(3)
  })

  test('a container of another manager is left alone', async () => {
    const agent = await cluster.join()
    const { container } = await runningOn(cluster, agent)
    const foreign = newId(KernelId)
    const label = {
      ...container.label,
      kernelId: foreign,
      sessionId: newId(SessionId),
      managerId: newId(SessionId) as never,
    }
    agent.containers.set(foreign, { ...container, label })
    const sequence = agent.log.length
    agent.report()
    agent.report()
    await cluster.api.deleteSession({ params: { id: container.label.sessionId } })
    await cluster.reach(container.label.sessionId, 'TERMINATED')
    expect(agent.containers.has(foreign)).toBe(true)
    expect(agent.log.slice(sequence).map(entry => entry.name)).toEqual(['destroy_kernel'])
    expect((await cluster.api.listSessions({ query: { status: 'live' } })).total).toBe(0)
  })

  test('a container whose session ended while its agent was away is removed', async () => {
    const agent = await cluster.join()
    const { session, kernelId } = await runningOn(cluster, agent)
    agent.change(kernelId, { state: 'exited', containerId: 'c', exitCode: 0, oomKilled: false, engineRestarted: false })
    await cluster.reach(session.id, 'TERMINATED')
    await expect.poll(() => agent.containers.size).toBe(0)
    await agent.disconnect()
    const label = agent.requests('create_kernel')[0]
    if (label) agent.run(label.spec)
    await agent.connect()
    await expect.poll(() => agent.containers.size).toBe(0)
    expect((await cluster.api.getSession({ params: { id: session.id } })).status).toBe('TERMINATED')
  })

  test('the GPU of a container without a session is handed out only when the container is gone; its other slots at once', async () => {
    const agent = await cluster.join({ devices: gpus(1) })
    const resources = { cpu: '1', mem: '1g', 'cuda.device': '1' }
    const first = await cluster.launch({ resources })
    await cluster.reach(first.id, 'RUNNING')
    const [started] = agent.requests('create_kernel')
    if (!started) throw new Error('not started')
    await cluster.api.deleteSession({ params: { id: first.id } })
    await cluster.reach(first.id, 'TERMINATED')
    await agent.disconnect()
    agent.run(started.spec)
    const removal = Promise.withResolvers<undefined>()
    const destroy = agent.script.destroy_kernel
    agent.script.destroy_kernel = async (input, signal) => {
      await removal.promise
      return destroy(input, signal)
    }
    await agent.connect()
    const second = await cluster.launch({ resources })
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    await expect.poll(() => cluster.reasonOf(second.id)).toBe('capacity')
    expect(agent.requests('create_kernel')).toHaveLength(2)
    removal.resolve(undefined)
    await cluster.reach(second.id, 'RUNNING')
    expect(agent.containers.has(started.spec.kernelId)).toBe(false)
  })

  test('a repeated report changes nothing', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    const before = await cluster.timeline(session.id)
    for (let round = 0; round < 20; round++) agent.report(round % 2 === 0)
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    expect(await cluster.timeline(session.id)).toEqual(before)
    expect(agent.requests('create_kernel')).toHaveLength(2)
  })

  test('an agent whose engine does not answer says nothing about its containers and gets no work', async () => {
    const agent = await cluster.join()
    const { session, kernelId, container } = await runningOn(cluster, agent)
    agent.engineReachable = false
    agent.containers.delete(kernelId)
    await expect.poll(async () => (await cluster.api.getSession({ params: { id: session.id } })).reachable).toBe(false)
    const { id } = await cluster.launch()
    await expect.poll(() => cluster.reasonOf(id)).toBe('agents_unreachable')
    agent.containers.set(kernelId, container)
    agent.engineReachable = true
    await cluster.reach(id, 'RUNNING')
    expect((await cluster.api.getSession({ params: { id: session.id } })).status).toBe('RUNNING')
  })
})
