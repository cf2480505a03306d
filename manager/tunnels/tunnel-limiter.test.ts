import { expect, test } from 'vitest'
import { isAppError, SessionId, type UserId } from '#manager/contract'
import { createTunnelLimiter, tunnelLimits } from './tunnel-limiter.ts'

const SESSION = SessionId.parse('01900000-0000-7000-8000-000000000001')
const [ada, bob, cho, dee] = ['ada', 'bob', 'cho', 'dee'] as unknown as readonly [UserId, UserId, UserId, UserId]

/** People open tunnels in turn until nobody gets another one. @returns how many each has */
function openAll(limiter: ReturnType<typeof createTunnelLimiter>, people: readonly UserId[]) {
  const has = new Map(people.map(one => [one, [] as (() => void)[]]))
  for (let isGoingOn = true; isGoingOn;) {
    isGoingOn = false
    for (const one of people) {
      try {
        has.get(one)?.push(limiter.take(one, 'tunnels', { sessionId: SESSION, app: `tcp-${has.get(one)?.length}` }))
        isGoingOn = true
      } catch (error) {
        expect(isAppError(error) && [error.code, error.detail.cause]).toEqual(['rate_limited', 'connections_of_all'])
      }
    }
  }
  return has
}

test('of the places of everybody, people with as many as they can have leave some to a person with few', () => {
  const limiter = createTunnelLimiter({ ...tunnelLimits(Infinity), all: 100 })
  const first = openAll(limiter, [ada])
  expect(first.get(ada)).toHaveLength(50)
  // Further people get shares, though the first one gives none back.
  expect(openAll(limiter, [bob]).get(bob)).toHaveLength(25)
  expect(openAll(limiter, [cho]).get(cho)).toHaveLength(13)
  const leave = limiter.take(dee, 'terminals', { sessionId: SESSION })
  // Visitors of links have a share of their own.
  limiter.take(ada, 'visitors', { sessionId: SESSION, app: 'echo' })
  // Places that are given back can be taken.
  leave()
  for (const close of first.get(ada) ?? []) close()
  expect(openAll(limiter, [dee]).get(dee)?.length).toBeGreaterThanOrEqual(20)
})

test('people who want all at once get as many each', () => {
  const limiter = createTunnelLimiter({ ...tunnelLimits(Infinity), all: 100 })
  expect([...openAll(limiter, [ada, bob, cho]).values()].map(own => own.length)).toEqual([25, 25, 25])
})

test('tunnels of all take two thirds of the descriptors, and not more than the ports of a computer allow', () => {
  expect([1_024, 20_000, 524_288, Infinity].map(count => tunnelLimits(count).all)).toEqual([341, 6_666, 10_000, 10_000])
})
