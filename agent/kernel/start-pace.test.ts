import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createStartPace, FIRST_PACE, nextPace, type PaceState, type StartOutcome } from './start-pace.ts'

const quick = (beganAt: number): StartOutcome => ({ outcome: 'started', beganAt, endedAt: beganAt + 300 })
const slow = (beganAt: number): StartOutcome => ({ outcome: 'started', beganAt, endedAt: beganAt + 20_000 })
const busy = (beganAt: number): StartOutcome => ({ outcome: 'busy', beganAt, endedAt: beganAt + 3_000 })
const after = (...outcomes: readonly StartOutcome[]) => outcomes.reduce(nextPace, FIRST_PACE).limit

test('a round of quick starts allows one more at a time', () => {
  expect(after(quick(0), quick(0), quick(0))).toBeCloseTo(4, 0)
})

test('an engine that does not answer gets half as many starts, once for all starts in flight', () => {
  const ten: PaceState = { limit: 10, loweredAt: -Infinity }
  const once = nextPace(ten, busy(0))
  expect(once.limit).toBe(5)
  expect(nextPace(nextPace(once, busy(100)), slow(200)).limit).toBe(5)
  expect(nextPace(once, busy(4_000)).limit).toBe(2.5)
})

test('a slow engine gets fewer starts; an engine of medium speed gets as many as before', () => {
  expect(after(slow(0))).toBe(2.25)
  expect(after({ outcome: 'started', beganAt: 0, endedAt: 4_000 })).toBe(3)
})

test('at least one start and at most sixteen may run, whatever happens', () => {
  const outcome = fc.record({
    outcome: fc.constantFrom('started' as const, 'busy' as const),
    beganAt: fc.nat(1_000_000),
    endedAt: fc.nat(2_000_000),
  })
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 200 }), outcomes => {
      const { limit } = outcomes.reduce(nextPace, FIRST_PACE)
      expect(limit).toBeGreaterThanOrEqual(1)
      expect(limit).toBeLessThanOrEqual(16)
    }),
  )
})

test('starts begin in the order of arrival, and pause after the engine did not answer', async () => {
  const silence = new Error('no answer')
  const pace = createStartPace({ now: () => performance.now(), isBusy: error => error === silence, pauseMs: 50 })
  const never = new AbortController().signal
  const begun: string[] = []
  const gates = new Map<string, PromiseWithResolvers<undefined>>()
  const run = (key: string, signal = never) => {
    gates.set(key, Promise.withResolvers())
    return pace.run(key, signal, async () => {
      begun.push(key)
      await gates.get(key)?.promise
    })
  }
  const away = new AbortController()
  const runs = [run('a'), run('b'), run('c'), run('d', away.signal), run('e'), run('f')]
  const settled = Promise.allSettled(runs)
  await expect.poll(() => begun).toEqual(['a', 'b', 'c'])
  expect(['c', 'd', 'e', 'f'].map(key => pace.ahead(key))).toEqual([undefined, 3, 4, 5])
  away.abort(new Error('not wanted any more'))
  expect(['e', 'f'].map(key => pace.ahead(key))).toEqual([3, 4])
  gates.get('a')?.reject(silence)
  gates.get('b')?.resolve(undefined)
  gates.get('c')?.resolve(undefined)
  await Promise.allSettled(runs.slice(0, 3))
  expect(begun).toHaveLength(3)
  await expect.poll(() => begun).toEqual(['a', 'b', 'c', 'e'])
  gates.get('e')?.resolve(undefined)
  gates.get('f')?.resolve(undefined)
  expect((await settled).map(({ status }) => status)).toEqual([
    ...['rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  ])
})
