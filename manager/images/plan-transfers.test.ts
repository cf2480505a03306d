import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AgentId } from '#manager/contract'
import { planTransfers, type RunningTransfer, type TransferState, type WaitingTransfer } from './plan-transfers.ts'

const agent = (name: string) => name as AgentId
const wants = (digest: string, to: string, failures: Record<string, number> = {}): WaitingTransfer => ({
  digest,
  to: agent(to),
  failures: new Map(Object.entries(failures).map(([id, count]) => [agent(id), count])),
})
const state = (given: Partial<TransferState<WaitingTransfer>>): TransferState<WaitingTransfer> => ({
  waiting: [],
  running: [],
  holders: new Map(),
  isConnected: () => true,
  ...given,
})
const pairs = (given: Partial<TransferState<WaitingTransfer>>) =>
  planTransfers(state(given)).map(({ wanted, from }) => `${wanted.digest}: ${from} → ${wanted.to}`)
const holders = (map: Record<string, string[]>) =>
  new Map(Object.entries(map).map(([digest, ids]) => [digest, ids.map(agent)]))

test('an image is in one transfer at a time, and the next agent takes it from who has it then', () => {
  const waiting = [wants('i', 'b'), wants('i', 'c')]
  expect(pairs({ waiting, holders: holders({ i: ['a'] }) })).toEqual(['i: a → b'])
  const running: RunningTransfer[] = [{ digest: 'i', from: agent('a'), to: agent('b') }]
  expect(pairs({ waiting: waiting.slice(1), running, holders: holders({ i: ['a'] }) })).toEqual([])
  expect(
    pairs({ waiting: waiting.slice(1), holders: holders({ i: ['a', 'b'] }), isConnected: id => id !== agent('a') }),
  ).toEqual(['i: b → c'])
})

test('an agent takes part in one transfer at a time; different images of different agents go at once', () => {
  const given = { i: ['a'], j: ['b'], k: ['a'] }
  const waiting = [wants('i', 'c'), wants('j', 'd'), wants('k', 'e')]
  expect(pairs({ waiting, holders: holders(given) })).toEqual(['i: a → c', 'j: b → d'])
})

test('the agent that has failed least gives the image', () => {
  const waiting = [wants('i', 'c', { a: 2, b: 1 })]
  expect(pairs({ waiting, holders: holders({ i: ['a', 'b'] }) })).toEqual(['i: b → c'])
})

test('nobody gives to itself, and nobody who is away gives or takes', () => {
  expect(pairs({ waiting: [wants('i', 'a')], holders: holders({ i: ['a'] }) })).toEqual([])
  const away = { holders: holders({ i: ['a'] }), waiting: [wants('i', 'b')] }
  expect(pairs({ ...away, isConnected: id => id !== agent('b') })).toEqual([])
  expect(pairs({ ...away, isConnected: id => id !== agent('a') })).toEqual([])
})

test('no plan uses an agent or an image twice, and each giver holds the image', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const digest = fc.constantFrom('i', 'j', 'k')
  const given = fc.dictionary(digest, fc.uniqueArray(name, { maxLength: 5 }))
  const waiting = fc.array(fc.record({ digest, to: name }), { maxLength: 12 })
  fc.assert(
    fc.property(given, waiting, fc.uniqueArray(name), (map, asked, connected) => {
      const held = holders(map)
      const isConnected = (id: AgentId) => connected.some(one => agent(one) === id)
      const plan = planTransfers(
        state({ waiting: asked.map(one => wants(one.digest, one.to)), holders: held, isConnected }),
      )
      const used = plan.flatMap(({ wanted, from }) => [wanted.to, from])
      expect(new Set(used).size).toBe(used.length)
      expect(new Set(plan.map(({ wanted }) => wanted.digest)).size).toBe(plan.length)
      for (const { wanted, from } of plan) expect(held.get(wanted.digest)).toContain(from)
      expect(used.every(isConnected)).toBe(true)
    }),
  )
})
