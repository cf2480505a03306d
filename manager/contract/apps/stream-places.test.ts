import { expect, test } from 'vitest'
import { createStreamPlaces, STREAM_LIMITS } from './stream-places.ts'

const { person, signIn } = STREAM_LIMITS

/** Places of one person, whose open streams are named in the order in which they were opened. */
function setUp() {
  const places = createStreamPlaces()
  const open: string[] = []
  let opened = 0
  const take = (of: string) => {
    const name = `${of}-${++opened}`
    const close = () => void open.splice(open.indexOf(name), 1)
    const leave = places.take(of, 'person', close)
    open.push(name)
    return () => {
      leave()
      close()
    }
  }
  const countOf = (of: string) => open.filter(name => name.startsWith(`${of}-`)).length
  return { places, open, take, countOf }
}

/** The first sign-ins have as many streams as each may have, and the person as many as one may have. */
function full() {
  const world = setUp()
  for (let index = 0; index < person; index++) world.take(`s${Math.floor(index / signIn)}`)
  return world
}

test('a sign-in with few streams gets the place of the oldest stream of the sign-in with most', () => {
  const { open, take, countOf } = full()
  const leaveOne = take('new')
  expect(open).toHaveLength(person)
  expect(open).not.toContain('s0-1')
  expect(countOf('new')).toBe(1)
  leaveOne()
  expect(open).toHaveLength(person - 1)
})

test('a stream that was closed for another sign-in cannot take the place back', () => {
  const { open, take } = full()
  take('new')
  expect(() => take('s0')).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  expect(open).toHaveLength(person)
})

test('a sign-in that opens many gets no more than its share', () => {
  const { open, take, countOf } = full()
  let got = 0
  expect(() => {
    for (; got < person; got++) take('new')
  }).toThrow(expect.objectContaining({ detail: expect.objectContaining({ cause: 'streams_of_person' }) as unknown }))
  expect(got).toBe(Math.floor(person / 5))
  expect(['s0', 's1', 's2', 's3', 'new'].map(countOf).toSorted()).toEqual([25, 25, 26, 26, 26])
  expect(open).toHaveLength(person)
})

test('the end of a stream that was closed for another one frees no second place', () => {
  const { open, places, take } = setUp()
  const leaves = Array.from({ length: signIn }, () => take('s0'))
  for (const other of ['s1', 's2', 's3']) for (let count = 0; count < signIn; count++) take(other)
  take('new')
  leaves[0]?.()
  expect(() => take('s1')).toThrow()
  expect(open.length).toBeLessThanOrEqual(person)
  expect(() => places.take('s0', 'another person', () => undefined)).not.toThrow()
})
