import { expect, test } from 'vitest'
import { createBatches } from './batches.ts'

test('questions that come during a run share the next one, each key once, and so many at most', async () => {
  const runs: (readonly string[])[] = []
  const find = createBatches({
    most: 3,
    run: async keys => {
      runs.push(keys)
      await Promise.resolve()
      return new Map(keys.filter(key => key !== 'x').map(key => [key, key.toUpperCase()]))
    },
  })
  const found = await Promise.all(['a', 'b', 'c', 'b', 'x', 'd'].map(find))
  expect(found).toEqual(['A', 'B', 'C', 'B', undefined, 'D'])
  expect(runs).toEqual([['a'], ['b', 'c', 'x'], ['d']])
  expect(await find('a')).toBe('A')
  expect(runs.at(-1)).toEqual(['a'])
})

test('a run that fails fails for those who waited for it, and for nobody later', async () => {
  let fails = true
  const find = createBatches({
    most: 10,
    run: async keys => {
      await Promise.resolve()
      if (fails) throw new Error('away')
      return new Map(keys.map(key => [key, key]))
    },
  })
  await expect(find('a')).rejects.toThrow('away')
  fails = false
  expect(await find('a')).toBe('a')
})
