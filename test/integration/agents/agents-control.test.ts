import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { CONTROL_PATH, CONTROL_PROTOCOL } from '#agent/contract'
import { AgentId } from '#manager/contract'
import { newId } from '../../../manager/store/new-id.ts'
import { gpus, PYTHON, ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { runningOn } from './running-on.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster({ agentLostMs: 2_500, slowTickMs: 500, sweepMs: 50 })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const agentsNow = async () => (await cluster.api.listAgents()).items

describe('an agent', () => {
  test('an agent joins with a token once, and the token is worthless afterwards', async () => {
    const { id, join } = await cluster.api.createJoinToken({ body: {} })
    const joined = async () => (await cluster.api.getJoinToken({ params: { id } })).agent
    expect(await joined()).toBeNull()
    await using first = await new ScriptedAgent({ url: cluster.url, join, name: 'first' }).connect()
    await expect.poll(joined).toEqual({ id: first.id, name: 'first', status: 'CONNECTED' })
    expect((await agentsNow()).map(agent => agent.id)).toEqual([first.id])
    const unknown = cluster.api.getJoinToken({ params: { id: '0'.repeat(64) } })
    expect((await refusal(unknown)).code).toBe('not_found')
    await using second = await new ScriptedAgent({ url: cluster.url, join }).connect()
    expect(second.refusal?.code).toBe('join_token_invalid')
    expect(await agentsNow()).toHaveLength(1)
  })

  test('a peer that has not proven its identity may send only little: one long message, many, or one without an end are cut', async () => {
    const address = new URL(CONTROL_PATH, cluster.url)
    const send: ((socket: WebSocket) => void)[] = [
      socket => socket.send(JSON.stringify({ type: 'prove', signature: 'x'.repeat(100_000) })),
      socket => {
        for (let i = 0; i < 1_000; i++) socket.send(JSON.stringify({ type: 'report', text: 'x'.repeat(100) }))
      },
      socket => socket.send('x'.repeat(20_000), { fin: false }),
    ]
    for (const act of send) {
      const socket = new WebSocket(address.href.replace('http', 'ws'), CONTROL_PROTOCOL)
      const closed = new Promise<number>(resolve => socket.once('close', resolve))
      socket.on('error', () => undefined)
      const heard: string[] = []
      socket.on('message', (data: Buffer) => heard.push(data.toString('utf8')))
      await once(socket, 'message')
      act(socket)
      // Cut off, or only told that it broke the protocol; but not because of the deadline of the handshake.
      expect([1006, 1008]).toContain(await closed)
      expect(heard.join('')).not.toContain('did not answer the challenge')
    }
    await using agent = await cluster.join()
    expect(agent.refusal).toBeUndefined()
  })

  test('an agent that missed the answer may join again with its token; nobody else may use its name, nor the agent once revoked', async () => {
    const { join } = await cluster.manager.createJoinToken()
    const agent = new ScriptedAgent({ url: cluster.url, join })
    await agent.connect()
    await agent.disconnect()
    agent.rejoin(join)
    await agent.connect()
    expect(agent.refusal).toBeUndefined()
    const impostor = new ScriptedAgent({ url: cluster.url, join })
    Object.defineProperty(impostor, 'id', { value: agent.id })
    await impostor.connect()
    expect(impostor.refusal?.code).toBe('join_token_invalid')
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    agent.rejoin(join)
    await agent.connect()
    expect(agent.refusal?.code).toBe('join_token_invalid')
  })

  test('a join string and the id of an agent do not suffice to replace it, not even when it is revoked', async () => {
    const agent = await cluster.join()
    const { join } = await cluster.manager.createJoinToken()
    const impostor = new ScriptedAgent({ url: cluster.url, join })
    Object.defineProperty(impostor, 'id', { value: agent.id })
    await impostor.connect()
    expect(impostor.refusal?.code).toBe('join_token_invalid')
    await agent.disconnect()
    await agent.connect()
    expect(agent.refusal).toBeUndefined()
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    impostor.rejoin(join)
    await impostor.connect()
    expect(impostor.refusal?.code).toBe('join_token_invalid')
    expect((await cluster.api.listAgents()).items).toEqual([])
    await impostor[Symbol.asyncDispose]()
    await agent[Symbol.asyncDispose]()
  })

  test('a second agent with a copy of the key is refused with the reason, and takes over once the first one has gone', async () => {
    const agent = await cluster.join()
    const copy = agent.copy()
    await copy.connect()
    expect(copy.refusal?.code).toBe('agent_running_elsewhere')
    expect(copy.refusal?.message).toContain(agent.name)
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    // The same process that connects again is not a different one.
    await agent.disconnect()
    await agent.connect()
    expect(agent.refusal).toBeUndefined()
    await agent.disconnect()
    copy.refusal = undefined
    await copy.connect()
    expect(copy.refusal).toBeUndefined()
    await copy[Symbol.asyncDispose]()
  })

  test('a revoked agent that joins again with a new token gets work', async () => {
    const agent = await cluster.join()
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    agent.rejoin((await cluster.manager.createJoinToken()).join)
    await agent.connect()
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    await agent[Symbol.asyncDispose]()
  })

  test('forgetting an agent may be repeated', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    const params = { id: agent.id }
    await cluster.api.forgetAgent({ params })
    expect((await cluster.reach(session.id, 'TERMINATED')).reason.code).toBe('agent_forgotten')
    await cluster.api.forgetAgent({ params })
    const unknown = newId(AgentId)
    expect((await refusal(cluster.api.forgetAgent({ params: { id: unknown } }))).code).toBe('agent_not_found')
  })

  test('an agent that is revoked while it connects is disconnected', async () => {
    const agent = await cluster.join()
    for (let round = 0; round < 5; round++) {
      await agent.disconnect()
      const connected = agent.connect()
      await cluster.api.forgetAgent({ params: { id: agent.id } })
      await connected
      await expect.poll(async () => (await agentsNow()).filter(({ status }) => status === 'CONNECTED')).toEqual([])
      await expect.poll(async () => (await cluster.api.getResources()).agents.connected).toBe(0)
      agent.rejoin((await cluster.manager.createJoinToken()).join)
      await agent.connect()
    }
  })

  test('an agent that never joined, or proves another key, is refused', async () => {
    const known = await cluster.join()
    await using stranger = await new ScriptedAgent({ url: cluster.url }).connect()
    expect(stranger.refusal?.code).toBe('agent_revoked')
    const impostor = new ScriptedAgent({ url: cluster.url })
    Object.defineProperty(impostor, 'id', { value: known.id })
    await impostor.connect()
    expect(impostor.refusal?.code).toBe('agent_revoked')
    expect((await agentsNow())[0]?.status).toBe('CONNECTED')
  })

  test('a new connection of an agent replaces its older one', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    const older = agent.dataToken
    await agent.connect()
    expect(agent.dataToken).not.toBe(older)
    await expect.poll(async () => (await cluster.api.getSession({ params: { id: session.id } })).reachable).toBe(true)
    expect((await cluster.api.getSessionLogs({ params: { id: session.id } })).text).toBe('live line\n')
  })

  test('a silent agent is LOST; its sessions stay RUNNING but unreachable, and are reachable again when it returns', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    await agent.disconnect()
    await expect.poll(async () => (await agentsNow())[0]?.status).toBe('LOST')
    const params = { id: session.id }
    expect(await cluster.api.getSession({ params })).toMatchObject({ status: 'RUNNING', reachable: false })
    expect((await refusal(cluster.api.getSessionLogs({ params }))).code).toBe('agent_unreachable')
    expect((await agentsNow())[0]?.occupied.cpu).toBe('1')
    await agent.connect()
    await expect.poll(async () => (await cluster.api.getSession({ params })).reachable).toBe(true)
    expect((await agentsNow())[0]?.status).toBe('CONNECTED')
  })

  test('a request to an agent that is away for a moment waits for its return', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    await agent.disconnect()
    const logs = cluster.api.getSessionLogs({ params: { id: session.id } })
    await agent.connect()
    expect((await logs).text).toBe('live line\n')
  })

  test('a paused agent gets no work, and gets work again after the pause', async () => {
    const agent = await cluster.join()
    const params = { id: agent.id }
    await cluster.api.updateAgent({ params, body: { schedulable: false } })
    const { id } = await cluster.launch()
    await expect.poll(() => cluster.reasonOf(id)).toBe('no_agents')
    await cluster.api.updateAgent({ params, body: { schedulable: true } })
    await cluster.reach(id, 'RUNNING')
  })

  test('an agent reports devices, images and capacity, which set the limits of the launch dialog', async () => {
    await cluster.join({ capacity: { cpu: 4000, mem: 8 * 2 ** 30, 'cuda.device': 2 }, devices: gpus(2) })
    const { id } = await cluster.launch({ resources: { cpu: '1.5', mem: '1g', 'cuda.device': '1' } })
    const session = await cluster.reach(id, 'RUNNING')
    expect(session.kernels[0]?.devices).toEqual([{ uuid: 'GPU-0', slot: 'cuda.device', amount: '1' }])
    expect(await cluster.api.getResources()).toMatchObject({
      largest: { cpu: '4', mem: String(8 * 2 ** 30), 'cuda.device': '2' },
      free: { cpu: '2.5', mem: String(7 * 2 ** 30), 'cuda.device': '1' },
      agents: { connected: 1, lost: 0 },
      sessions: { running: 1, pending: 0 },
    })
    const { items } = await cluster.api.listImages()
    expect(items).toMatchObject([{ reference: 'berth/python:3.13', digest: PYTHON.id, minimum: { cpu: '0.5' } }])
    expect(items[0]?.apps[0]).toEqual({ name: 'jupyter', title: 'JupyterLab', protocol: 'http', path: '/lab' })
  })
})

describe('the list of agents', () => {
  test('the server searches, filters, sorts and pages; GPUs are a number, with those that have a problem', async () => {
    const [sick] = gpus(2)
    const broken = { ...sick, uuid: 'GPU-9', problem: 'fell off the bus' } as ReturnType<typeof gpus>[number]
    const room = { cpu: 8_000, mem: 32 * 2 ** 30 }
    const busy = await cluster.join({ name: 'busy', capacity: room, devices: [...gpus(2), broken] })
    const idle = await cluster.join({ name: 'Idle', capacity: room })
    const gone = await cluster.join({ name: 'gone', capacity: room })
    await cluster.api.updateAgent({ params: { id: idle.id }, body: { schedulable: false } })
    await cluster.api.updateAgent({ params: { id: gone.id }, body: { schedulable: false } })
    const { id } = await cluster.launch({ resources: { cpu: '2', mem: '1g' } })
    await cluster.reach(id, 'RUNNING')
    const ask = (query: Parameters<typeof cluster.api.listAgentSummaries>[0]) =>
      cluster.api.listAgentSummaries(query).then(page => ({ ...page, names: page.items.map(({ name }) => name) }))
    expect(await ask({})).toMatchObject({ names: ['busy', 'gone', 'Idle'], total: 3, nextCursor: null })
    const first = await ask({ query: { limit: 2, sort: '-name' } })
    expect(first).toMatchObject({ names: ['Idle', 'gone'], total: 3 })
    const rest = await ask({ query: { limit: 2, sort: '-name', cursor: first.nextCursor ?? '' } })
    expect(rest).toMatchObject({ names: ['busy'], nextCursor: null, total: 3 })
    expect(await ask({ query: { sort: '-cpu', limit: 1 } })).toMatchObject({ names: ['busy'] })
    expect(await ask({ query: { state: 'paused', sort: 'name' } })).toMatchObject({ names: ['gone', 'Idle'] })
    expect(await ask({ query: { search: 'IDL' } })).toMatchObject({ names: ['Idle'] })
    expect(await ask({ query: { resourceGroup: 'elsewhere' } })).toMatchObject({ names: [], total: 0 })
    const { items } = await ask({ query: { problems: 'true' } })
    expect(items).toMatchObject([{ id: busy.id, gpus: 3, occupied: { cpu: '2' } }])
    expect(items[0]?.deviceProblems).toMatchObject([{ uuid: 'GPU-9', problem: 'fell off the bus' }])
    expect(Object.keys(items[0] ?? {})).not.toContain('devices')
    await cluster.api.forgetAgent({ params: { id: gone.id } })
    expect(await ask({})).toMatchObject({ names: ['busy', 'Idle'] })
    expect(await ask({ query: { state: 'forgotten', search: gone.id } })).toMatchObject({ names: ['gone'] })
  })

  test('one agent has its devices, also when it was forgotten; its images are those on it', async () => {
    const other = { ...PYTHON, id: `sha256:${'b'.repeat(64)}`, references: ['made/here:1'] }
    const agent = await cluster.join({ devices: gpus(2), images: [PYTHON, other] })
    await cluster.join({ images: [PYTHON] })
    const imagesOf = async (id: AgentId) => (await cluster.api.listImages({ query: { agent: id } })).items
    await expect.poll(async () => (await imagesOf(agent.id)).length).toBe(2)
    const images = await imagesOf(agent.id)
    expect(images.map(({ reference, holders }) => [reference, holders])).toEqual(
      expect.arrayContaining([
        ['made/here:1', 1],
        ['berth/python:3.13', 2],
      ]),
    )
    const user = await cluster.addUser('images@example.org')
    expect((await refusal(user.listImages({ query: { agent: agent.id } }))).code).toBe('forbidden')
    expect((await cluster.api.getAgent({ params: { id: agent.id } })).devices).toHaveLength(2)
    await cluster.api.forgetAgent({ params: { id: agent.id } })
    expect(await cluster.api.getAgent({ params: { id: agent.id } })).toMatchObject({ status: 'REVOKED' })
    const nobody = newId(AgentId)
    expect((await refusal(cluster.api.getAgent({ params: { id: nobody } }))).code).toBe('agent_not_found')
  })
})

describe('a grant for an app', () => {
  test('a grant starts the app, names the header to inject, and can be renewed', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    const grant = await cluster.api.createGrant({ params: { id: session.id, app: 'jupyter' } })
    expect(grant).toMatchObject({ app: { name: 'jupyter' }, inject: { header: 'authorization' } })
    expect(agent.requests('start_app').map(input => input.app)).toEqual(['jupyter'])
    const headers = { 'x-berth-grant': grant.grant }
    const renewed = await cluster.api.renewGrant({ headers })
    expect(renewed).toMatchObject({ grant: grant.grant, sessionId: session.id, inject: { value: 'token secret' } })
    expect(agent.requests('start_app')).toHaveLength(1)
    await cluster.api.deleteSession({ params: { id: session.id } })
    await cluster.reach(session.id, 'TERMINATED')
    expect((await refusal(cluster.api.renewGrant({ headers }))).code).toBe('grant_invalid')
  })

  test('a grant is given only for apps that the session has and that start', async () => {
    const agent = await cluster.join()
    const { session } = await runningOn(cluster, agent)
    const grant = (app: string) => cluster.api.createGrant({ params: { id: session.id, app } })
    expect((await refusal(grant('nothing'))).code).toBe('app_not_found')
    // The terminal has an endpoint of its own.
    expect((await refusal(grant('terminal'))).code).toBe('app_not_found')
    expect((await grant('sshd')).inject).toBeNull()
    agent.script.start_app = () => {
      throw new ScriptedError('app_failed', 'It printed: no such file')
    }
    expect(await refusal(grant('jupyter'))).toMatchObject({
      code: 'app_failed',
      detail: { why: 'It printed: no such file' },
    })
    expect((await refusal(cluster.api.renewGrant({ headers: { 'x-berth-grant': 'x' } }))).code).toBe('grant_invalid')
  })
})
