import { expect, test, vi } from 'vitest'
import { together } from './together.ts'

/** A batcher whose query answers only when the test calls `answer` or `fail`. */
function slowly() {
  const asked: { questions: readonly number[]; answer: () => void; fail: () => void }[] = []
  const ask = together<number, string>(questions => {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
    asked.push({
      questions,
      answer: () => resolve(questions.map(question => `answer ${question}`)),
      fail: () => reject(new Error('broken')),
    })
    return promise
  })
  const at = async (index: number) => {
    await expect.poll(() => asked.length).toBeGreaterThan(index)
    const found = asked[index]
    if (!found) throw new Error('not asked')
    return found
  }
  return { ask, at, asked }
}

test('questions of one turn become one query, and each gets its own answer', async () => {
  const { ask, at, asked } = slowly()
  const answers = Promise.all([1, 2, 3].map(ask))
  ;(await at(0)).answer()
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3'])
  expect(asked.map(({ questions }) => questions)).toEqual([[1, 2, 3]])
})

test('requests during a running query get the answer of the next query', async () => {
  const { ask, at, asked } = slowly()
  const first = ask(1)
  const running = await at(0)
  const later = Promise.all([ask(1), ask(2)])
  running.answer()
  expect(await first).toBe('answer 1')
  ;(await at(1)).answer()
  expect(await later).toEqual(['answer 1', 'answer 2'])
  expect(asked.map(({ questions }) => questions)).toEqual([[1], [1, 2]])
})

test('a failing query fails for its callers, not for later ones', async () => {
  const { ask, at } = slowly()
  const first = ask(1)
  ;(await at(0)).fail()
  await expect(first).rejects.toThrow('broken')
  const second = ask(2)
  ;(await at(1)).answer()
  expect(await second).toBe('answer 2')
})

test('a thousand questions become queries of a hundred', async () => {
  const sizes: number[] = []
  const ask = together<number, number>(questions => {
    sizes.push(questions.length)
    return Promise.resolve(questions)
  })
  const all = Array.from({ length: 1_000 }, (_, n) => n)
  expect(await Promise.all(all.map(ask))).toEqual(all)
  expect(Math.max(...sizes)).toBe(100)
})

test('questions that come soon after a query are asked together, one that comes later is asked at once', async () => {
  let now = 0
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  const asked: (readonly number[])[] = []
  const ask = together<number, number>(questions => {
    asked.push(questions)
    return Promise.resolve(questions)
  })
  await ask(1)
  const soon = ask(2)
  await new Promise(setImmediate)
  await Promise.all([soon, ask(3)])
  expect(asked).toEqual([[1], [2, 3]])
  now += 25
  const later = ask(4)
  await new Promise(setImmediate)
  expect(asked).toEqual([[1], [2, 3], [4]])
  await later
})
