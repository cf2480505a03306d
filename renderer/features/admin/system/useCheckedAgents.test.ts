import { expect, test } from 'vitest'
import { type AgentSummary, type ApiClient } from '#manager/contract'
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
  return { asked, ...useCheckedAgents({ listAgentSummaries }) }
}

test('a page of agents is loaded at first, more when they are wanted, and all before they are checked', async () => {
  const { asked, agents, total, load, loadMore } = managerOf(1_200)
  await load()
  expect([asked, agents.value.length, total.value]).toEqual([[[50, undefined]], 50, 1_200])
  await loadMore(100)
  expect(agents.value.length).toBe(550)
  await loadMore(100)
  expect(asked.length).toBe(2)
  await loadMore()
  expect(agents.value.map(({ id }) => id)).toEqual(Array.from({ length: 1_200 }, (_, n) => `agent-${n}`))
  expect(asked.map(([limit]) => limit)).toEqual([50, 500, 500, 500])
  await load()
  expect(agents.value.length).toBe(50)
})
