import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Files of sessions, as the manager sees them; `test/engine/session-files.test.ts` has the real ones. */
let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(() => cluster.reset())

test('a right that is withdrawn while a transfer starts ends the transfer', async () => {
  const owner = await cluster.addUser('owner@example.org')
  const member = await cluster.addUser('member@example.org')
  const agent = await cluster.join()
  const { id } = await cluster.launch({}, owner)
  await cluster.reach(id, 'RUNNING')
  const params = { id }
  const { userId } = await owner.shareSession({ params, body: { email: 'member@example.org', permission: 'use' } })
  agent.script.start_command = async input => {
    await owner.unshareSession({ params: { id, userId } })
    return agent.startCommand({ ...input, command: ['ls'] })
  }
  await expect(member.listSessionFiles({ params })).rejects.toMatchObject({ code: 'session_not_found' })
  await expect.poll(() => [...agent.commands.values()].map(({ end }) => end?.reason)).toEqual(['killed'])
})
