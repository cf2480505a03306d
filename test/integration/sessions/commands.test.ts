import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type ApiClient, type CommandSpec, isAppError, type Session } from '#manager/contract'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Commands in sessions, as the manager sees them; `test/engine/commands.test.ts` has the real ones. */
let cluster: SessionsCluster
let agent: ScriptedAgent
let owner: ApiClient
let member: ApiClient
let session: Session
beforeAll(async () => {
  cluster = await startSessionsCluster()
  owner = await cluster.addUser('owner@example.org')
  member = await cluster.addUser('member@example.org')
})
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  agent = await cluster.join()
  const { id } = await cluster.launch({}, owner)
  session = await cluster.reach(id, 'RUNNING')
})
afterEach(() => cluster.reset())

const run = (api: ApiClient, body: Partial<CommandSpec> = {}) =>
  api.runCommand({ params: { id: session.id }, body: { command: ['sleep', '9'], ...body } })
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  )
const share = () =>
  owner.shareSession({ params: { id: session.id }, body: { email: 'member@example.org', permission: 'use' } })

test('a command gets its bounds, and an attached one none of its own', async () => {
  await run(owner)
  await run(owner, { attached: true, environ: { A: 'b' } })
  expect(agent.requests('start_command')).toMatchObject([
    { command: ['sleep', '9'], timeoutMs: 600_000, attached: false, workingDirectory: null },
    { timeoutMs: null, attached: true, environ: { A: 'b' } },
  ])
  for (const wrong of [{ stdin: 'x', attached: true }, { environ: { BERTH_X: '' } }, { waitSeconds: 51 }])
    expect(await codeOf(run(owner, wrong))).toBe('bad_request')
  expect(await codeOf(run(owner, { kernel: 'sub7' }))).toBe('kernel_not_found')
})

test('a right that is withdrawn while a command starts ends the command', async () => {
  const { userId } = await share()
  agent.script.start_command = async input => {
    await owner.unshareSession({ params: { id: session.id, userId } })
    return agent.startCommand(input)
  }
  expect(await codeOf(run(member))).toBe('session_not_found')
  await expect.poll(() => [...agent.commands.values()].map(({ end }) => end?.reason)).toEqual(['killed'])
})

test('a restarted manager ends the commands of somebody who loses the right', async () => {
  const { userId } = await share()
  const { id } = await run(member)
  const own = await run(owner)
  await cluster.restart()
  await agent.connect()
  await vi.waitFor(async () => expect(await codeOf(owner.listCommands({ params: { id: session.id } }))).toBe('ok'), {
    timeout: 120_000,
    interval: 200,
  })
  await owner.unshareSession({ params: { id: session.id, userId } })
  await vi.waitFor(() => expect(agent.commands.get(id)?.end).toEqual({ reason: 'killed', exitCode: null }), {
    timeout: 120_000,
  })
  expect(agent.commands.get(own.id)?.end).toBeNull()
})

test('a command of somebody who lost the right while the agent was away ends when the agent is back', async () => {
  const { userId } = await share()
  const { id } = await run(member)
  await agent.disconnect()
  await owner.unshareSession({ params: { id: session.id, userId } })
  await agent.connect()
  await vi.waitFor(() => expect(agent.commands.get(id)?.end?.reason).toBe('killed'), { timeout: 120_000 })
})

test('commands end with the account of their user, also those whose agent was away', async () => {
  const late = await cluster.addUser('late@example.org')
  const other = await owner.shareSession({
    params: { id: session.id },
    body: { email: 'late@example.org', permission: 'use' },
  })
  const { userId } = await share()
  const [own, theirs, last] = [await run(owner), await run(member), await run(late)]
  const set = (id: string, active: boolean) => cluster.api.updateUser({ params: { id }, body: { active } })
  const isKilled = ({ id }: { id: string }) => expect.poll(() => agent.commands.get(id)?.end?.reason).toBe('killed')
  await set(userId, false)
  await isKilled(theirs)
  await agent.disconnect()
  await set(other.userId, false)
  await agent.connect()
  await isKilled(last)
  expect(agent.commands.get(own.id)?.end).toBeNull()
  member = await set(userId, true).then(() => cluster.signIn('member@example.org'))
})

test('an agent that answers nonsense is not believed', async () => {
  const { id: commandId } = await run(owner)
  agent.script.read_command = () => ({ offset: 0, bytes: Buffer.alloc(100).toString('base64'), total: 1, ended: false })
  const read = owner.readCommandOutput({ params: { id: session.id, commandId } })
  expect(await codeOf(read)).toBe('agent_failed')
})

test('the output of one person does not wait for all that another one reads', async () => {
  await share()
  const [{ id: first }, { id: second }] = [await run(owner), await run(member)]
  const asked: string[] = []
  const { promise: isOpen, resolve: open } = Promise.withResolvers<undefined>()
  agent.script.read_command = async ({ commandId }) => {
    asked.push(commandId)
    await isOpen
    return { offset: 0, bytes: Buffer.from('x').toString('base64'), total: 1, ended: true }
  }
  const read = (api: ApiClient, commandId: string) => api.readCommandOutput({ params: { id: session.id, commandId } })
  const many = Array.from({ length: 30 }, () => read(owner, first))
  await expect.poll(() => asked).toEqual([first])
  const one = read(member, second)
  // Both are at the manager when a later request of each has been answered.
  await Promise.all([owner.me({}), member.me({})])
  open(undefined)
  await Promise.all([...many, one])
  expect(asked.indexOf(second)).toBeLessThanOrEqual(3)
})
