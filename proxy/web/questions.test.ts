import { expect, test } from 'vitest'
import { createQuestions } from './questions.ts'

/** Questions that are answered one by one. */
function setUp() {
  const questions = createQuestions({ atOnce: 2, waiting: 4 })
  const open: (() => void)[] = []
  const asked: string[] = []
  const ask = (name: string, address: string) =>
    questions
      .ask(address, async () => {
        asked.push(name)
        await new Promise<void>(resolve => open.push(resolve))
        return name
      })
      .catch((error: unknown) => (error as { code: string }).code)
  const answer = async () => {
    open.shift()?.()
    await new Promise(setImmediate)
  }
  return { ask, asked, answer }
}

test('a few questions are asked at once, and the next ones in their order', async () => {
  const { ask, asked, answer } = setUp()
  const all = ['a', 'b', 'c', 'd'].map(name => ask(name, '203.0.113.7'))
  expect(asked).toEqual(['a', 'b'])
  await answer()
  expect(asked).toEqual(['a', 'b', 'c'])
  for (let count = 0; count < 3; count++) await answer()
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
  void ask('e', '203.0.113.7')
  void ask('f', '203.0.113.7')
  void ask('g', '203.0.113.7')
  expect(asked.slice(4)).toEqual(['e', 'f'])
})

test('a newcomer takes the place of one that waits of the network with most, and a question that failed gives its place on', async () => {
  const { ask, asked, answer } = setUp()
  const flood = Array.from({ length: 6 }, (_, index) => ask(`flood ${index}`, `2001:db8:1:${index}::1`))
  const person = ask('person', '203.0.113.7')
  const later = ask('flood 6', '2001:db8:1:ff::1')
  expect(await Promise.race(flood)).toBe('unavailable')
  for (let count = 0; count < 8; count++) await answer()
  expect(await person).toBe('person')
  expect(await later).toBe('flood 6')
  expect(asked).toEqual(['flood 0', 'flood 1', 'flood 4', 'flood 5', 'person', 'flood 6'])
  const failing = createQuestions({ atOnce: 1, waiting: 1 })
  const failed = failing.ask('203.0.113.7', () => Promise.reject(new Error('no answer')))
  const next = failing.ask('203.0.113.7', () => Promise.resolve('next'))
  await expect(failed).rejects.toThrow('no answer')
  expect(await next).toBe('next')
})
