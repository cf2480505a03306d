import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT } from './image-recipes.ts'
import { leftOut, ONLY_IN_ALL, testSet, withTestSet } from './test-sets.ts'

test('vitest alone runs all tests, and npm test those of a change', () => {
  expect(testSet({})).toBe('all')
  expect(testSet(withTestSet('all'))).toBe('all')
  expect(testSet(withTestSet('change'))).toBe('change')
  expect(leftOut('all')).toEqual([])
  expect(leftOut('change')).toHaveLength(ONLY_IN_ALL.length)
})

test.each(ONLY_IN_ALL)('$files names tests that exist', ({ files }) => {
  const named = files.split(',')
  expect(globSync(files, { cwd: ROOT })).toHaveLength(named.length)
})
