import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { hang, ScriptedError, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 500, sweepMs: 50 })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const restart = ({ id }: Session) => cluster.api.restartSession({ params: { id } })

async function ended(spec: Parameters<SessionsCluster['launch']>[0] = {}): Promise<Session> {
  const { id } = await cluster.launch(spec)
  await cluster.reach(id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id } })
  return cluster.reach(id, 'TERMINATED')
}

async function twoAgents(): Promise<{ first: ScriptedAgent; second: ScriptedAgent }> {
  const first = await cluster.join()
  const session = await ended({ name: 'probe' })
  expect(session.kernels[0]?.agentId).toBe(first.id)
  return { first, second: await cluster.join({ capacity: { cpu: 4000, mem: 8 * 2 ** 30 } }) }
}

test('an ended session starts again on its agent with its files, as it was requested', async () => {
  const agent = await cluster.join()
  const old = await ended({ name: 'study', resources: { cpu: '2', mem: '1g' }, environ: { TOKEN: 'secret' } })
  // Fuller than the other one: concentrated placement would choose it.
  const other = await cluster.join({ name: 'other', capacity: { cpu: 2000, mem: 2 * 2 ** 30 } })
  const next = await restart(old)
  expect(next).toMatchObject({ name: 'study', requested: old.requested, image: old.image })
  await cluster.reach(next.id, 'RUNNING')
  expect(other.requests('create_kernel')).toEqual([])
  expect(agent.requests('create_kernel').at(-1)?.spec).toMatchObject({
    filesOf: old.kernels[0]?.id,
    environ: { TOKEN: 'secret' },
    slots: { cpu: 2000, mem: 2 ** 30 },
  })
})

test('a restarted session waits for its agent, even if others have room', async () => {
  const { first, second } = await twoAgents()
  const old = (await cluster.api.listSessions({ query: { status: 'finished', name: 'probe' } })).items[0]
  if (!old) throw new Error('nothing has ended')
  await first.disconnect()
  const next = await restart(old)
  await expect.poll(() => cluster.reasonOf(next.id)).toBe('agents_unreachable')
  const { reason } = await cluster.api.getSession({ params: { id: next.id } })
  expect(reason.message).toContain(`on host ${first.name}`)
  expect(second.requests('create_kernel')).toEqual([])
  await first.connect()
  await cluster.reach(next.id, 'RUNNING')
})

test('files continue in one session only; after a failed start the next one may take them', async () => {
  const agent = await cluster.join()
  const old = await ended()
  const create = agent.script.create_kernel
  agent.script.create_kernel = () => Promise.reject(new ScriptedError('files_gone', 'not kept any more'))
  const failed = await restart(old)
  expect((await cluster.reach(failed.id, 'ERROR')).reason.message).toContain('not kept any more')
  expect(agent.requests('create_kernel')).toHaveLength(2)
  agent.script.create_kernel = create
  const two = await Promise.allSettled([restart(old), restart(old)])
  expect(two.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await refusal(restart(old))).toMatchObject({ code: 'files_gone' })
})

test('a start that ends before it runs leaves the files to the next one, and a forgotten host has none', async () => {
  const agent = await cluster.join()
  const old = await ended({ name: 'twice' })
  const create = agent.script.create_kernel
  agent.script.create_kernel = (_input, signal) => hang(signal)
  const stopped = await restart(old)
  await cluster.reach(stopped.id, 'PREPARING')
  await cluster.api.deleteSession({ params: { id: stopped.id } })
  await cluster.reach(stopped.id, 'TERMINATED')
  agent.script.create_kernel = create
  const next = await restart(old)
  await cluster.reach(next.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: next.id } })
  const ran = await cluster.reach(next.id, 'TERMINATED')
  await cluster.api.forgetAgent({ params: { id: agent.id } })
  expect(await refusal(restart(ran))).toMatchObject({ code: 'files_gone' })
})

test('a session that is live, never ran, had several containers, or belongs to somebody else cannot be restarted', async () => {
  await cluster.join()
  const live = await cluster.launch()
  await cluster.reach(live.id, 'RUNNING')
  expect(await refusal(restart(live))).toMatchObject({ code: 'session_live' })
  const waiting = await cluster.launch({ resources: { cpu: '8' } })
  await cluster.api.deleteSession({ params: { id: waiting.id } })
  expect(await refusal(restart(await cluster.reach(waiting.id, 'CANCELLED')))).toMatchObject({ code: 'files_gone' })
  expect(await refusal(restart(await ended({ clusterSize: 2 })))).toMatchObject({ code: 'files_gone' })
  const mira = await cluster.addUser('mira@example.org')
  const { id } = await cluster.launch({}, mira)
  await cluster.reach(id, 'RUNNING')
  await mira.deleteSession({ params: { id } })
  const hers = await cluster.reach(id, 'TERMINATED')
  expect(await refusal(restart(hers))).toMatchObject({ code: 'forbidden' })
  expect(await refusal(mira.restartSession({ params: { id: live.id } }))).toMatchObject({ code: 'session_not_found' })
})
