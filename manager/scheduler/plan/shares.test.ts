import fc from 'fast-check'
import { expect, test } from 'vitest'
import { drf, explainShares, type GroupSnapshot, openCapacity } from './index.ts'
import { anAgent, aSession, sessionId } from './plan-fixtures.ts'

const GROUP: GroupSnapshot = {
  agents: [anAgent(1, { cpu: 8000, mem: 1000 }), anAgent(2, { cpu: 8000 }, { connected: false })],
  pending: [],
}

test('a share is the largest fraction of the capacity that can be used now, divided by the weight', () => {
  const usage = new Map([
    ['ada', { cpu: 2000, mem: 500 }],
    ['bob', { cpu: 6000 }],
  ])
  const pending = [aSession(1, { cpu: 1000 }, { ownerId: 'bob' }), aSession(2, { cpu: 1000 }, { ownerId: 'cleo' })]
  const shares = explainShares({ ...GROUP, usage, pending, options: { weights: { bob: 3 } } })
  expect(
    shares.map(({ id, dominant, fraction, share, waiting, because }) => [
      id,
      dominant,
      fraction,
      share,
      waiting,
      because,
    ]),
  ).toEqual([
    ['cleo', null, 0, 0, 1, 'share'],
    ['bob', 'cpu', 0.75, 0.25, 1, null],
    ['ada', 'mem', 0.5, 0.5, 0, null],
  ])
})

test('what decides is said: priority before shares, and age where shares are equal', () => {
  const pending = [
    aSession(1, { cpu: 1000 }, { ownerId: 'old', enqueuedAt: 1 }),
    aSession(2, { cpu: 1000 }, { ownerId: 'new', enqueuedAt: 2 }),
    aSession(3, { cpu: 1000 }, { ownerId: 'urgent', enqueuedAt: 3, priority: 5 }),
  ]
  const usage = new Map([['urgent', { cpu: 8000 }]])
  const shares = explainShares({ ...GROUP, usage, pending })
  expect(shares.map(({ id, because, next }) => [id, because, next?.id])).toEqual([
    ['urgent', 'priority', sessionId(3)],
    ['old', 'age', sessionId(1)],
    ['new', null, sessionId(2)],
  ])
})

test('the first in the explanation is the one that DRF tries first', () => {
  const sessions = fc.array(
    fc.record({ owner: fc.nat(4), enqueuedAt: fc.nat(5), priority: fc.integer({ min: -1, max: 1 }) }),
    { minLength: 1, maxLength: 12 },
  )
  const held = fc.dictionary(
    fc.constantFrom('0', '1', '2', '3', '4'),
    fc.record({ cpu: fc.nat(8000), mem: fc.nat(1000) }),
  )
  fc.assert(
    fc.property(sessions, held, fc.integer({ min: 1, max: 3 }), (asked, usage, weight) => {
      const snapshot: GroupSnapshot = {
        ...GROUP,
        usage: new Map(Object.entries(usage)),
        options: { weights: { '1': weight } },
        pending: asked.map(({ owner, ...rest }, n) => aSession(n, { cpu: 1000 }, { ownerId: String(owner), ...rest })),
      }
      const queue = drf.start(snapshot, openCapacity(snapshot))
      expect(explainShares(snapshot)[0]?.next?.id).toBe(queue.next()?.id)
    }),
  )
})
