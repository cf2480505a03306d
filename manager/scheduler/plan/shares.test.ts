import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { drf, explainShares, type GroupSnapshot, openCapacity } from './index.ts'
import { anAgent, aSession, sessionId } from './plan-fixtures.ts'

const GROUP: GroupSnapshot = {
  agents: [anAgent(1, { cpu: 8000, mem: 1000 }), anAgent(2, { cpu: 8000 }, { connected: false })],
  pending: [],
}

test('a share is the largest fraction of the capacity that can be used now, divided by the weight', () => {
  const usage = [
    { ownerId: 'ada', slots: { cpu: 2000, mem: 500 } },
    { ownerId: 'bob', slots: { cpu: 6000 } },
  ]
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
  const usage = [{ ownerId: 'urgent', slots: { cpu: 8000 } }]
  const shares = explainShares({ ...GROUP, usage, pending })
  expect(shares.map(({ id, because, next }) => [id, because, next?.id])).toEqual([
    ['urgent', 'priority', sessionId(3)],
    ['old', 'age', sessionId(1)],
    ['new', null, sessionId(2)],
  ])
})

test('the first in the explanation is the one that DRF tries first', () => {
  const sessions = fc.array(
    fc.record({
      owner: fc.nat(4),
      project: fc.nat(2),
      enqueuedAt: fc.nat(5),
      priority: fc.integer({ min: -1, max: 1 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  const slots = fc.record({ cpu: fc.nat(8000), mem: fc.nat(1000) })
  const held = fc.array(fc.record({ owner: fc.nat(4), project: fc.nat(2), slots }), { maxLength: 8 })
  const projectWeights = fc.option(fc.record({ '1': fc.integer({ min: 1, max: 3 }) }), { nil: undefined })
  fc.assert(
    fc.property(sessions, held, fc.integer({ min: 1, max: 3 }), projectWeights, (asked, usage, weight, projects) => {
      const snapshot: GroupSnapshot = {
        ...GROUP,
        usage: usage.map(({ owner, project, slots }) => ({
          ownerId: String(owner),
          projectId: String(project),
          slots,
        })),
        options: { weights: { '1': weight }, ...defined({ projectWeights: projects }) },
        pending: asked.map(({ owner, project, ...rest }, n) =>
          aSession(n, { cpu: 1000 }, { ownerId: String(owner), projectId: String(project), ...rest }),
        ),
      }
      const queue = drf.start(snapshot, openCapacity(snapshot))
      expect(explainShares(snapshot)[0]?.next?.id).toBe(queue.next()?.id)
    }),
  )
})

test('where projects have weights, each user stands there once for each project, and the share of the project decides first', () => {
  const usage = [
    { ownerId: 'ada', projectId: 'speech', slots: { cpu: 4000 } },
    { ownerId: 'bob', projectId: 'vision', slots: { cpu: 2000 } },
  ]
  const pending = [
    aSession(1, { cpu: 1000 }, { ownerId: 'cleo', projectId: 'vision' }),
    aSession(2, { cpu: 1000 }, { ownerId: 'ada', projectId: 'speech' }),
    aSession(3, { cpu: 1000 }, { ownerId: 'ada', projectId: 'vision' }),
  ]
  const shares = explainShares({ ...GROUP, usage, pending, options: { projectWeights: { speech: 4 } } })
  expect(shares.map(({ id, project, share, because }) => [id, project?.id, project?.share, share, because])).toEqual([
    ['ada', 'speech', 0.125, 0.5, 'project'],
    ['cleo', 'vision', 0.25, 0, 'age'],
    ['ada', 'vision', 0.25, 0, null],
    ['bob', 'vision', 0.25, 0.25, null],
  ])
})
