import { expect, test } from 'vitest'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { startManagers } from '../../fixtures/managers.ts'

test('recalculating names agents that only another manager is connected to; asked at that manager, they are compared', async () => {
  await using managers = await startManagers()
  const [a, b] = [await managers.start(), await managers.start()]
  await using agent = new ScriptedAgent({ url: b.url, join: (await b.createJoinToken()).join, name: 'far' })
  // The agent is connected to `b`, and does not connect to the calling manager.
  await agent.connect()
  const [{ api: atA }, { api: atB }] = [await managers.admin(a), await managers.admin(b)]
  await expect.poll(async () => (await atB.recalculateUsage()).agents.map(one => one.compared)).toEqual([true])
  const compared = (await atA.recalculateUsage()).agents
  expect(compared).toMatchObject([{ agentId: agent.id, name: 'far', compared: false, containers: 0 }])
  expect(compared[0]?.why).toContain('connected to another manager')
})
