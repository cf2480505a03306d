import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type AgentProgram } from '#agent/contract'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Updates of agents by a real manager; agents are scripted, and the program is seven bytes. */
const OLD = 'a'.repeat(64)
const NEW = 'b'.repeat(64)
const SHA256 = 'ab'.repeat(32)

let cluster: SessionsCluster
let hostProgram: string
const opened = new AsyncDisposableStack()
beforeAll(async () => {
  const { path } = opened.use(await temporaryDirectory())
  hostProgram = join(path, 'make.mjs')
  await writeFile(
    hostProgram,
    `import { mkdirSync, writeFileSync } from 'node:fs'
const folder = process.argv[2]
mkdirSync(folder, { recursive: true })
writeFileSync(folder + '/${SHA256}.tar.gz', 'program')
console.log(JSON.stringify({ file: '${SHA256}.tar.gz', sha256: '${SHA256}', bytes: 7, digest: '${NEW}', toolbox: 'x' }))`,
  )
  cluster = opened.use(await startSessionsCluster({ hostProgram, updatesEveryMs: 50 }))
})
afterEach(() => cluster.reset())
afterAll(() => opened.disposeAsync())

const line = (more: Partial<AgentProgram> = {}): AgentProgram => ({
  kind: 'line',
  digest: OLD,
  updates: true,
  busy: false,
  ...more,
})
const updateOf = async ({ id }: ScriptedAgent) => (await cluster.api.getAgent({ params: { id } })).update
const stateOf = async (agent: ScriptedAgent) => (await updateOf(agent)).state
const set = (agent: ScriptedAgent, program: AgentProgram) => {
  agent.program = program
  agent.report()
}
const manual = async () => {
  await cluster.api.updateSettings({ body: { agentUpdates: 'manual' } })
  onTestFinished(async () => void (await cluster.api.updateSettings({ body: { agentUpdates: 'automatic' } })))
}

test('hosts get the program of the manager one after the other, and fetch it with a ticket', async () => {
  const first = await cluster.join({ name: 'a-first', program: line() })
  const second = await cluster.join({ name: 'b-second', program: line() })
  await expect.poll(() => first.requests('update_program').length + second.requests('update_program').length).toBe(1)
  const [one, other] = first.requests('update_program').length === 1 ? [first, second] : [second, first]
  const [order] = one.requests('update_program')
  expect(order).toMatchObject({ version: '0.1.0', digest: NEW, sha256: SHA256, bytes: 7 })
  expect([await stateOf(one), await stateOf(other)]).toEqual(['updating', 'waiting'])

  const fetched = (ticket: string, sha256 = SHA256) =>
    fetch(`${cluster.url}/api/v1/host-setup/bundles/${sha256}`, { headers: { authorization: `Bearer ${ticket}` } })
  expect(await (await fetched(order?.ticket ?? '')).text()).toBe('program')
  expect((await fetched('A'.repeat(43))).status).toBe(401)
  expect((await fetched(order?.ticket ?? '', '0'.repeat(64))).status).toBe(401)

  // As after its restart.
  set(one, line({ digest: NEW }))
  await expect.poll(() => other.requests('update_program').length).toBe(1)
  set(other, line({ digest: NEW }))
  await expect.poll(async () => [await stateOf(one), await stateOf(other)]).toEqual(['current', 'current'])
})

test('a failure is shown with its reason, and pauses the others until an administrator tries that host again', async () => {
  const failing = await cluster.join({
    program: line(),
    script: {
      update_program() {
        throw new ScriptedError('unavailable', 'No room.', { why: 'No room.' })
      },
    },
  })
  await expect.poll(() => stateOf(failing)).toBe('failed')
  expect((await updateOf(failing)).why).toBe('No room.')
  const told = async () => (await cluster.api.listMessages()).items.map(({ about, detail }) => [about, detail])
  await expect.poll(told).toEqual([['host_update', failing.name]])
  const other = await cluster.join({ name: 'other', program: line() })
  await expect.poll(async () => (await updateOf(other)).whyBy?.cause).toBe('update_paused')

  failing.script.update_program = () => ({})
  await cluster.api.updateAgentProgram({ params: { id: failing.id } })
  await expect.poll(() => failing.requests('update_program').length).toBe(2)
  const id = failing.requests('update_program')[1]?.id ?? ''
  // The host went back by itself.
  set(failing, line({ failed: { id, why: 'The agent ended: no key.' } }))
  await expect.poll(async () => (await updateOf(failing)).why).toBe('The agent ended: no key.')
  expect(other.requests('update_program')).toEqual([])

  await cluster.api.updateAgentProgram({ params: { id: failing.id } })
  await expect.poll(() => failing.requests('update_program').length).toBe(3)
  set(failing, line({ digest: NEW }))
  await expect.poll(() => other.requests('update_program').length).toBe(1)
})

test('nobody is cut off: a host in use waits, unless an administrator names it', async () => {
  const busy = await cluster.join({ program: line({ busy: true }) })
  await expect.poll(async () => (await updateOf(busy)).whyBy?.cause).toBe('update_in_use')
  await cluster.api.updateAgentProgram({ params: { id: busy.id } })
  await expect.poll(() => busy.requests('update_program').length).toBe(1)
})

test('by hand, only a host that an administrator names is updated', async () => {
  await manual()
  const agent = await cluster.join({ program: line() })
  await expect.poll(async () => (await updateOf(agent)).whyBy?.cause).toBe('update_by_command')
  await cluster.api.updateAgentProgram({ params: { id: agent.id } })
  await expect.poll(() => agent.requests('update_program').length).toBe(1)
})

test('hosts that were installed in another way are left alone, and show what to run', async () => {
  const agent = await cluster.join({ program: line({ kind: 'package', digest: null, updates: false }) })
  expect(await updateOf(agent)).toMatchObject({ state: 'current', kind: 'package' })
  const refused = await refusal(cluster.api.updateAgentProgram({ params: { id: agent.id } }))
  expect(refused.code).toBe('agent_not_updatable')
  // A later host has its turn.
  const other = await cluster.join({ name: 'other', program: line() })
  await expect.poll(() => other.requests('update_program').length).toBe(1)
  expect(agent.requests('update_program')).toEqual([])
})

test('a host that keeps its program from now on ends its update, and the next one has its turn', async () => {
  const first = await cluster.join({ name: 'first', program: line() })
  await expect.poll(() => first.requests('update_program').length).toBe(1)
  const other = await cluster.join({ name: 'other', program: line() })
  set(first, line({ updates: false }))
  await expect.poll(() => other.requests('update_program').length).toBe(1)
})

test('a host whose program is being replaced leaves afterwards', async () => {
  const agent = await cluster.join({ program: line() })
  await expect.poll(() => agent.requests('update_program').length).toBe(1)
  await cluster.api.removeAgent({ params: { id: agent.id }, body: {} })
  const removal = async () => (await cluster.api.getAgent({ params: { id: agent.id } })).removal
  await expect.poll(async () => (await removal())?.problemBy?.cause).toBe('update_at_work')
  expect(agent.requests('leave_host')).toEqual([])
  set(agent, line({ digest: NEW }))
  await expect.poll(async () => (await removal())?.step).toBe('removed')
})

test('a manager that stops while a host fetches the program has the next one begin anew, and nothing has failed', async () => {
  const agent = await cluster.join({
    program: line(),
    script: {
      update_program: (_order, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('It stops.')))),
    },
  })
  await expect.poll(() => agent.requests('update_program').length).toBe(1)
  agent.script.update_program = () => ({})
  await cluster.restart()
  await agent.connect()
  await expect.poll(() => agent.requests('update_program').length).toBe(2)
  expect(await stateOf(agent)).toBe('updating')
})

test('a manager that starts anew goes on with an update in progress, also where it cannot pack its program', async () => {
  const agent = await cluster.join({ program: line() })
  await expect.poll(() => agent.requests('update_program').length).toBe(1)
  const made = await readFile(hostProgram)
  onTestFinished(async () => {
    await writeFile(hostProgram, made)
    await cluster.restart()
  })
  await cluster.restart(() => writeFile(hostProgram, 'process.exit(1)'))
  await agent.connect()
  await expect.poll(() => stateOf(agent)).toBe('updating')
  set(agent, line({ digest: NEW }))
  await expect.poll(() => stateOf(agent)).toBe('current')
})
