import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImageRequest, type Session, type SessionEvent } from '#manager/contract'
import { type Cli, createCli, loginCommand } from '../../fixtures/cli.ts'
import { hang } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

/** Actions of administrators on sessions of others, as their owners see them, only by the command line. */

let cluster: SessionsCluster
/** The administrator. */
let admin: Cli
let ada: Cli
beforeAll(async () => {
  cluster = await startSessionsCluster()
  await cluster.addUser('ada@example.org')
  admin = await createCli()
  await admin.signIn(cluster.url)
  ada = await createCli()
  expect(await ada.run(loginCommand(cluster.url, 'ada@example.org'), USER_PASSWORD)).toMatchObject({ code: 0 })
})
afterAll(async () => {
  await admin[Symbol.asyncDispose]()
  await ada[Symbol.asyncDispose]()
  await cluster[Symbol.asyncDispose]()
})

async function json<T>(cli: Cli, ...args: string[]): Promise<T> {
  const { code, out, err } = await cli.run([...args, '--json'])
  expect(code, err).toBe(0)
  return JSON.parse(out) as T
}

/** A running session of Ada's. */
async function running(name: string): Promise<Session> {
  const session = await json<Session>(ada, 'session', 'create', '--image', 'berth/python:3.13', '--name', name)
  return cluster.reach(session.id, 'RUNNING')
}

test('a message reaches the owners of sessions and of all that runs on an agent, and is cleared once it was read', async () => {
  const agent = await cluster.join()
  const { id } = await running('first-run')
  expect(await admin.run(['admin', 'message', 'Down at noon.'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('Name sessions, or an agent with --agent.') as string,
  })
  expect((await admin.run(['admin', 'message', 'Down at noon.', id])).out).toBe('sent to 1 owner\n')
  const { name } = (await cluster.api.listAgents()).items.find(one => one.id === agent.id) ?? { name: '' }
  expect((await admin.run(['admin', 'message', 'Save your work.', '--agent', name])).out).toBe('sent to 1 owner\n')
  const { out } = await ada.run(['messages', '--clear'])
  expect(out).toMatch(/admin@localhost {2}\(first-run\)\nSave your work\.\n\n.*\nDown at noon\.\n/)
  expect(await ada.run(['messages'])).toMatchObject({ out: '\n', err: 'There are no messages.\n' })
  expect(await ada.run(['admin', 'message', 'Hello', id])).toMatchObject({ code: 3 })
})

test('the owner sees who ended a session and why; only an admin forces the end of one that hangs', async () => {
  await cluster.reset()
  await cluster.join({ script: { destroy_kernel: (_input, signal) => hang(signal) } })
  const { id } = await running('second-run')
  expect(await ada.run(['session', 'rm', id, '--force'])).toMatchObject({ code: 3 })
  await admin.run(['session', 'rm', id, '--why', 'The host is needed for a course.'])
  await cluster.reach(id, 'TERMINATING')
  const events = await json<SessionEvent[]>(ada, 'session', 'events', id)
  expect(events.find(({ to }) => to === 'TERMINATING')).toMatchObject({
    actor: 'admin@localhost',
    reason: { message: expect.stringContaining('The host is needed for a course.') as string },
  })
  expect((await admin.run(['session', 'rm', id, '--force', '--wait'])).out).toContain('TERMINATED')
})

test('a closed resource group tells its notice to those who launch', async () => {
  const group = ['admin', 'resource-group', 'update', 'default']
  await admin.run([...group, '--no-active', '--notice', 'Moved to the new hall until Monday.'])
  const refused = await ada.run(['session', 'create', '--image', 'berth/python:3.13'])
  expect(refused.err).toContain('Moved to the new hall until Monday.')
  expect(refused.code).not.toBe(0)
  await admin.run([...group, '--active', '--notice', ''])
})

test('the queue names the session that has waited longest, and what is held for it', async () => {
  await cluster.reset()
  await cluster.join({ capacity: { cpu: 2000, mem: 4 * 2 ** 30 } })
  await running('small-one')
  const group = ['admin', 'resource-group', 'update', 'default', '--options']
  await admin.run([...group, '{"reserveAfterSeconds":0}'])
  const large = ['--name', 'large-one', '--cpu', '2', '--mem', '1g']
  await ada.run(['session', 'create', '--image', 'berth/python:3.13', ...large])
  const queue = () => admin.run(['admin', 'queue', '--resource-group', 'default'])
  await expect
    .poll(async () => (await queue()).out)
    .toMatch(/^Held on .* for large-one of ada@.*: needed 2 CPU, 1 GiB RAM; free so far 1 CPU, 1 GiB RAM\./)
  expect((await queue()).out).toMatch(/POSITION.*\n1 .*large-one/)
  expect(await admin.run(['admin', 'queue', '--search', 'nothing-like-it', '--json'])).toMatchObject({ code: 0 })
  expect((await ada.run(['admin', 'queue'])).code).toBe(3)
  await ada.run(['session', 'rm', 'large-one'])
  await admin.run([...group, '{}'])
})

test('an image of a session is asked for, withdrawn, declined with a reason, and made', async () => {
  await cluster.reset()
  await cluster.join()
  const { id } = await running('third-run')
  const commit = (...args: string[]) => ada.run(['session', 'commit', id, ...args])
  expect(await commit()).toMatchObject({ code: 2, err: expect.stringContaining('Give the name') as string })
  expect((await commit('--status')).out).toBe('No image was asked for.\n')
  const { ownerId } = await cluster.api.getSession({ params: { id } })
  const named = (name: string) => `users/ada-${ownerId.slice(-8)}/${name}`
  const { out } = await commit(named('box:1'), '--note', 'For the course')
  expect(out.startsWith(`${named('box:1')}: waits for a superadmin, until 2`), out).toBe(true)
  expect(await commit('--cancel')).toMatchObject({ code: 0 })
  expect(await json(admin, 'admin', 'image', 'request', 'ls')).toEqual([])

  const asked = async (name: string) => {
    await commit(name)
    const [request] = await json<ImageRequest[]>(admin, 'admin', 'image', 'request', 'ls')
    if (!request) throw new Error('no request')
    return request.id
  }
  const request = (...args: string[]) => admin.run(['admin', 'image', 'request', ...args])
  await request('decline', await asked(named('box:2')), '--reason', 'Too large.')
  expect((await ada.run(['messages'])).out).toContain('Too large.')

  const wanted = await asked(named('box:3'))
  expect(await request('accept', wanted, '--project', 'vision')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--project goes with --push.') as string,
  })
  expect(await request('accept', wanted)).toMatchObject({ code: 0, out: expect.stringContaining('done') as string })
  expect((await commit('--status')).out).toContain(named('box:3'))
})
