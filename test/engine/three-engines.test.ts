import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session } from '#manager/contract'
import { BUSYBOX_IMAGE } from '../fixtures/docker.ts'
import { type Lab, type LabHost, startLab } from '../fixtures/lab.ts'
import { type TestManager } from '../fixtures/manager.ts'
import { inTerminal as typeIn } from '../fixtures/terminal.ts'

let lab: Lab
let manager: TestManager
let api: ApiClient
let token: string
let hosts: readonly LabHost[]

beforeAll(async () => {
  lab = await startLab({ hosts: ['lab-one', 'lab-two', 'lab-three'] })
  ;({ manager, api, token, hosts } = lab)
})
afterAll(() => lab[Symbol.asyncDispose]())

async function launch(resourceSpec: { cpu: string; mem: string } = { cpu: '0.5', mem: '128m' }): Promise<Session> {
  const { items } = await api.createSession({ body: { image: BUSYBOX_IMAGE, resources: resourceSpec } })
  const [session] = items
  if (!session) throw new Error('no session')
  return session
}
const show = (id: Session['id']) => api.getSession({ params: { id } })
const runs = (id: Session['id']) => expect.poll(async () => (await show(id)).status).toBe('RUNNING')
const agentOf = async (id: Session['id']) => (await show(id)).kernels[0]?.agentName
async function runningOn({ agentId }: LabHost): Promise<Session[]> {
  const { items } = await api.listSessions({ query: { status: 'live' } })
  return items.filter(({ status, kernels }) => status === 'RUNNING' && kernels[0]?.agentId === agentId)
}
const containersOn = async ({ engine }: LabHost) =>
  (await engine.docker('ps', '-q', '--filter', 'label=berth.kernel')).split('\n').filter(Boolean).length

const inTerminal = (id: Session['id'], line: string, answer: RegExp) =>
  typeIn({ url: manager.url, token }, id, line, answer)

test('dispersed sessions spread over three engines, and a terminal reaches each', async () => {
  const sessions = await Promise.all([launch(), launch(), launch()])
  for (const { id } of sessions) await runs(id)
  const places = await Promise.all(sessions.map(({ id }) => agentOf(id)))
  expect(places.toSorted()).toEqual(['lab-one', 'lab-three', 'lab-two'])
  expect(await Promise.all(hosts.map(containersOn))).toEqual([1, 1, 1])
  for (const { id } of sessions) await inTerminal(id, 'echo "six $((2*3))"', /six 6/)
})

test('each agent has an identity of its own, also where the engines of one machine report the same ID, as Docker 20 does', async () => {
  const { items } = await api.listAgents()
  expect(new Set(items.map(({ id }) => id)).size).toBe(3)
  expect(items.map(({ status }) => status)).toEqual(['CONNECTED', 'CONNECTED', 'CONNECTED'])
})

test('after an engine is killed others take new sessions, none is lost, and the engine is used again when it is back', async () => {
  const [victim] = hosts
  if (!victim) throw new Error('no host')
  const [there] = await runningOn(victim)
  await victim.engine.kill()
  let isDead = true
  await expect.poll(placeOfNext, { interval: 500 }).not.toBe(victim.name)
  expect((await show(there?.id as Session['id'])).status).toBe('RUNNING')
  await victim.engine.start()
  isDead = false
  await expect.poll(() => containersOn(victim)).toBe(1)
  await inTerminal(there?.id as Session['id'], 'echo "again $((3*3))"', /again 9/)
  await expect.poll(placeOfNext, { interval: 500 }).toBe(victim.name)

  /**
   * The host on which the next session is placed. A session placed on the dead engine before the manager noticed would run there later, so
   * it is ended.
   */
  async function placeOfNext(): Promise<string> {
    const { id } = await launch({ cpu: '0.1', mem: '64m' })
    await expect.poll(() => agentOf(id)).toEqual(expect.any(String))
    const place = (await agentOf(id)) ?? ''
    if (place === victim?.name && isDead) await api.deleteSession({ params: { id } })
    else await runs(id)
    return place
  }
})

test('sessions of an agent whose computer is gone stay, shown as unreachable, and it gets no new ones', async () => {
  const lost = hosts[2]
  if (!lost) throw new Error('no host')
  const there = await runningOn(lost)
  expect(there.length).toBeGreaterThan(0)
  lost.agent.kill('SIGKILL')
  await lost.agent.exited
  const id = there[0]?.id as Session['id']
  await expect.poll(async () => (await show(id)).reachable).toBe(false)
  expect((await show(id)).status).toBe('RUNNING')
  const next = await launch({ cpu: '0.1', mem: '64m' })
  await runs(next.id)
  expect(await agentOf(next.id)).not.toBe(lost.name)
})
