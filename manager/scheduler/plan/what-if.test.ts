import { expect, test } from 'vitest'
import { concentrated, fifo, type PendingSession, type AgentSnapshot, whatIf } from './index.ts'
import { agentId, anAgent, aSession, GiB } from './plan-fixtures.ts'

const ask = (agents: readonly AgentSnapshot[], session: PendingSession, pending: readonly PendingSession[] = []) =>
  whatIf({ agents, pending }, session, { sequencer: fifo, selector: concentrated, minimum: { cpu: 500 } })

test('for a request that fits, what-if says where it would start', () => {
  expect(ask([anAgent(1, { cpu: 2000 })], aSession(1, { cpu: 1000 }))).toEqual({
    agentId: agentId(1),
    reason: null,
    smaller: [],
  })
})

test('for a request that does not fit, what-if says why, and each proposed change of one slot lets it start', () => {
  const agents = [
    anAgent(1, { cpu: 8000, mem: 8 * GiB }, { occupied: { cpu: 6000 } }),
    anAgent(2, { cpu: 8000, mem: 8 * GiB }, { occupied: { mem: 5 * GiB } }),
  ]
  const session = aSession(9, { cpu: 4000, mem: 4 * GiB })
  const answer = ask(agents, session)
  expect(answer).toMatchObject({ agentId: null, reason: { code: 'fragmentation' } })
  expect(answer.smaller).toEqual([
    { slot: 'mem', amount: 3 * GiB },
    { slot: 'cpu', amount: 2000 },
  ])
  for (const { slot, amount } of answer.smaller) {
    const changed = { ...session, requested: { ...session.requested, [slot]: amount } }
    expect(ask(agents, changed).agentId).not.toBeNull()
  }
})

test('sessions ahead in the queue are placed first, and no proposal is below the minimum', () => {
  const agents = [anAgent(1, { cpu: 4000 })]
  const ahead = [aSession(1, { cpu: 3600 })]
  const answer = ask(agents, aSession(9, { cpu: 1000 }), ahead)
  expect(answer).toMatchObject({ agentId: null, reason: { code: 'queued_behind' }, smaller: [] })
  expect(ask(agents, aSession(9, { cpu: 1000 }), [aSession(1, { cpu: 3000 })]).agentId).toBe(agentId(1))
})
