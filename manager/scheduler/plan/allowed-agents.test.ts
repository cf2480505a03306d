import { describe, expect, test } from 'vitest'
import { concentrated, fifo, plan } from './index.ts'
import { agentId, anAgent, aSession, GiB, sessionId } from './plan-fixtures.ts'
import { type GroupSnapshot } from './snapshot.ts'

const small = { cpu: 1000, mem: GiB }
const large = { cpu: 4000, mem: 8 * GiB }
const run = (snapshot: GroupSnapshot) => plan(snapshot, fifo, concentrated)
const placed = (snapshot: GroupSnapshot) => run(snapshot).placements.map(placement => placement.agentId)

describe('a group that requires isolation', () => {
  const agents = [anAgent(1, small, { isolated: false }), anAgent(2, large, { isolated: true })]
  const pending = [aSession(1, small)]
  const options = { requireIsolation: true }

  test('sessions are placed only on agents with full isolation', () => {
    expect(placed({ agents, pending })).toEqual([agentId(1)])
    expect(placed({ agents, pending, options })).toEqual([agentId(2)])
  })

  test('if no agent isolates fully, the reason says so', () => {
    const { placements, reasons } = run({ agents: agents.slice(0, 1), pending, options })
    expect(placements).toEqual([])
    expect(reasons.get(sessionId(1))?.code).toBe('no_agents')
    expect(reasons.get(sessionId(1))?.message).toContain('isolates sessions as this resource group requires')
  })
})

describe('a session that continues with its files', () => {
  const waiting = aSession(1, small, { onlyOn: agentId(2) })

  test('the session starts on the agent with the files, while others with the same image start elsewhere', () => {
    const agents = [anAgent(1, small), anAgent(2, small)]
    expect(placed({ agents, pending: [waiting] })).toEqual([agentId(2)])
    expect(placed({ agents, pending: [waiting, aSession(2, small)] })).toEqual([agentId(2), agentId(1)])
  })

  test('the session waits for its agent, and names it', () => {
    const agents = [anAgent(1, large), anAgent(2, large, { connected: false })]
    const { placements, reasons } = run({ agents, pending: [waiting] })
    expect(placements).toEqual([])
    expect(reasons.get(sessionId(1))).toMatchObject({ code: 'agents_unreachable' })
    expect(reasons.get(sessionId(1))?.message).toContain('agent-2')
    const open = [anAgent(1, large, { isolated: true }), anAgent(2, large)]
    const notIsolated = run({ agents: open, pending: [waiting], options: { requireIsolation: true } })
    expect(notIsolated.reasons.get(sessionId(1))?.message).toContain('agent-2, which does not isolate')
    const gone = run({ agents: agents.slice(0, 1), pending: [waiting] })
    expect(gone.reasons.get(sessionId(1))?.message).toContain('does not belong to this resource group')
  })
})
