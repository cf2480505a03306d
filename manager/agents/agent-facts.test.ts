import { expect, test } from 'vitest'
import { AgentId, because } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { createAgentFacts } from './agent-facts.ts'
import { createMemories } from './agent-memory.ts'

test('an engine counts as down once it has been away longer than a restart takes', () => {
  const memories = createMemories()
  const facts = createAgentFacts(memories)
  const agentId = newId(AgentId)
  expect(facts.engineIsDown(agentId), 'not connected').toBe(false)
  const memory = memories.of(agentId)
  expect(facts.engineIsDown(agentId), 'its engine answers').toBe(false)
  memory.engineDownSince = performance.now() - 30_000
  expect(facts.engineIsDown(agentId), 'half a minute').toBe(false)
  memory.engineDownSince = performance.now() - 61_000
  expect(facts.engineIsDown(agentId), 'over a minute').toBe(true)
})

test('without a connection an agent is not ready, and nothing is known of it', () => {
  const memories = createMemories()
  const facts = createAgentFacts(memories)
  const agentId = newId(AgentId)
  memories.of(agentId).ready = true
  memories.of(agentId).problems.note('network', because('docker_silent'))
  expect([facts.isReady(agentId), facts.isUnfit(agentId)]).toEqual([true, true])
  memories.forget(agentId)
  expect([facts.isReady(agentId), facts.isUnfit(agentId)]).toEqual([false, false])
  expect([facts.architectures(agentId), facts.storage(agentId).size]).toEqual([undefined, 0])
})
