import { effectScope } from 'vue'
import { expect, onTestFinished, test } from 'vitest'
import { type AgentSummary, type ApiClient } from '#manager/contract'
import { withServices } from '../../../testing/services.ts'
import { useCheckedAgents } from './useCheckedAgents.ts'

const agent = (n: number) => ({ id: `agent-${n}`, name: `host-${n}`, status: 'CONNECTED' }) as unknown as AgentSummary

/** A manager with so many agents, whose cursor is the number of the next one. */
function managerOf(count: number) {
  const asked: (readonly [limit: number, cursor: string | undefined])[] = []
  const all = Array.from({ length: count }, (_, n) => agent(n))
  const listAgentSummaries = (({ query: { limit: most = 100, cursor, sort } = {} } = {}) => {
    const limit = Number(most)
    expect(sort).toBe('-problems')
    asked.push([limit, cursor])
    // An agent moves onto the next page while it is read.
    const from = Math.max(0, Number(cursor ?? 0) - (cursor ? 1 : 0))
    const end = Number(cursor ?? 0) + limit
    return Promise.resolve({ items: all.slice(from, end), nextCursor: end < count ? String(end) : null, total: count })
  }) as ApiClient['listAgentSummaries']
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const found = withServices({ listAgentSummaries }).app.runWithContext(() => scope.run(useCheckedAgents))
  if (!found) throw new Error('no scope')
  return { asked, ...found }
}

test('a page of agents is loaded at first, more when they are wanted, and all before they are checked', async () => {
  const { asked, agents, total, load } = managerOf(1_200)
  await expect.poll(() => total.value).toBe(1_200)
  expect([asked.splice(0), agents.value.length]).toEqual([[[50, undefined]], 50])
  await load(120)
  expect([asked.splice(0), agents.value.length]).toEqual([[[120, undefined]], 120])
  await load(Infinity)
  expect(agents.value.map(({ id }) => id)).toEqual(Array.from({ length: 1_200 }, (_, n) => `agent-${n}`))
  expect(asked.splice(0).map(([limit]) => limit)).toEqual([500, 500, 500])
})
