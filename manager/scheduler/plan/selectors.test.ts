import { describe, expect, test } from 'vitest'
import { concentrated, dispersed, fifo, plan, roundRobin, type Selector, spreadShares } from './index.ts'
import { agentId, anAgent, aSession, GiB } from './plan-fixtures.ts'

const place = (selector: Selector, agents: readonly ReturnType<typeof anAgent>[], count: number, cpu = 1000) =>
  plan(
    { agents, pending: Array.from({ length: count }, (_, n) => aSession(n, { cpu })) },
    fifo,
    selector,
  ).placements.map(p => p.agentId)

describe('the distribution of many equal sessions', () => {
  const three = [1, 2, 3].map(n => anAgent(n, { cpu: 4000 }))
  test('concentrated fills one agent after the other', () => {
    expect(place(concentrated, three, 6)).toEqual([1, 1, 1, 1, 2, 2].map(agentId))
  })
  test('dispersed chooses the agent with the largest free part', () => {
    expect(place(dispersed, three, 6)).toEqual([1, 2, 3, 1, 2, 3].map(agentId))
    const uneven = [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 2000 } }), anAgent(2, { cpu: 4000 })]
    expect(place(dispersed, uneven, 2)).toEqual([2, 2].map(agentId))
  })
  test('round robin gives each agent its turn, and continues where the last pass ended', () => {
    expect(place(roundRobin, three, 4)).toEqual([1, 2, 3, 1].map(agentId))
    const later = three.map((agent, index) => ({ ...agent, turn: [7, 5, 6][index] }))
    expect(place(roundRobin, later, 4)).toEqual([2, 3, 1, 2].map(agentId))
  })
  test.each([concentrated, dispersed, roundRobin])('CPU sessions avoid GPU hosts (%#)', selector => {
    expect(place(selector, [anAgent(1, { cpu: 9000, 'cuda.device': 1 }), anAgent(2, { cpu: 2000 })], 3)).toEqual(
      [2, 2, 1].map(agentId),
    )
  })
})

describe('no GPU becomes unusable', () => {
  test('a GPU share goes to a GPU that is already shared, on any agent', () => {
    const shares = (occupied: number) => [{ uuid: 'A', slot: 'cuda.shares' as const, total: 100, occupied }]
    const agents = [
      anAgent(1, { cpu: 2000, 'cuda.shares': 100 }, { devices: shares(0) }),
      anAgent(2, { cpu: 9000, 'cuda.shares': 100 }, { devices: shares(40), occupied: { 'cuda.shares': 40 } }),
    ]
    const pending = [aSession(1, { cpu: 1000, 'cuda.shares': 50 }), aSession(2, { cpu: 1000, 'cuda.shares': 100 })]
    expect(plan({ agents, pending }, fifo, concentrated).placements.map(p => p.agentId)).toEqual([2, 1].map(agentId))
  })
  test('CPU sessions that must use a GPU host take the one whose GPUs are in use', () => {
    const agents = [
      anAgent(1, { cpu: 8000, mem: 8 * GiB, 'cuda.device': 4 }),
      anAgent(2, { cpu: 16000, mem: 16 * GiB, 'cuda.device': 4 }, { occupied: { cpu: 4000, 'cuda.device': 4 } }),
    ]
    const pending = [aSession(1, { cpu: 4000, mem: GiB })]
    expect(plan({ agents, pending }, fifo, concentrated).placements[0]?.agentId).toBe(agentId(2))
  })
})

// The table of https://github.com/lablup/backend.ai/issues/85, in hundredths; then the figures from the tests of its
// solution there, without those for a minimum amount per device or a coarser step, which Berth does not have.
test.each<[number[], number, number[] | undefined]>([
  [[30, 20, 10], 10, [0, 0, 10]],
  [[30, 20, 10], 15, [0, 15, 0]],
  [[30, 20, 10], 20, [0, 20, 0]],
  [[30, 20, 10], 30, [30, 0, 0]],
  [[30, 20, 10], 40, [20, 20, 0]],
  [[30, 20, 10], 50, [30, 20, 0]],
  [[30, 20, 10], 60, [30, 20, 10]],
  [[30, 20, 10], 70, undefined],
  [[30, 30], 30, [30, 0]],
  [[30, 30], 40, [20, 20]],
  [[30, 30], 50, [25, 25]],
  [[30, 30], 60, [30, 30]],
  [[30, 30], 70, undefined],
  [[5, 10, 20, 30, 0], 20, [0, 0, 20, 0, 0]],
  [[5, 10, 20, 30, 0], 50, [0, 0, 20, 30, 0]],
  [[5, 10, 20, 30, 0], 65, [5, 10, 20, 30, 0]],
  [[5, 10, 20, 30, 0], 66, undefined],
  [[80, 75, 70, 30, 0], 231, [67, 67, 67, 30, 0]],
  [[80, 75, 70, 30, 0], 200, [67, 67, 66, 0, 0]],
  [[200, 300, 300, 500], 600, [0, 300, 300, 0]],
  [[100, 100], 150, [75, 75]],
])('with %j hundredths free, %i are spread as %j', (free, amount, expected) => {
  expect(spreadShares(free, amount)).toEqual(expected)
})

test('twenty sessions of one hundredth fill the devices with the least room first', () => {
  let free = [5, 10, 20, 30, 0]
  for (let n = 0; n < 20; n++) {
    const taken = spreadShares(free, 1) ?? []
    free = free.map((room, index) => room - (taken[index] ?? 0))
  }
  expect(free).toEqual([0, 0, 15, 30, 0])
})

test('only a group that allows it spreads parts of a GPU over several devices', () => {
  const devices = ['A', 'B'].map(uuid => ({ uuid, slot: 'cuda.shares' as const, total: 100, occupied: 70 }))
  const agents = [anAgent(1, { 'cuda.shares': 200 }, { devices, occupied: { 'cuda.shares': 140 } })]
  const pending = [aSession(1, { 'cuda.shares': 40 })]
  expect(plan({ agents, pending }, fifo, concentrated).reasons.size).toBe(1)
  const split = plan({ agents, pending, options: { splitShares: true } }, fifo, concentrated)
  expect(split.placements[0]?.devices.map(({ uuid, amount }) => [uuid, amount])).toEqual([
    ['A', 20],
    ['B', 20],
  ])
})
