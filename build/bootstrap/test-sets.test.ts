import { globSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT } from './image-recipes.ts'
import { leftOut, ONLY_IN_ALL, setFor, testSet, wayOf, withTestSet } from './test-sets.ts'

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

test('a run for a change takes the set that has the changed tests', () => {
  expect(setFor('change', ['test/engine/agent.test.ts', 'test/desktop/windows.test.ts'])).toBe('change')
  expect(setFor('change', ['test/engine/agent.test.ts', 'test/desktop/tray.test.ts'])).toBe('all')
  expect(setFor('all', [])).toBe('all')
})

test('a thing is tested in the same way again, whatever was tested before, and things in different ways', () => {
  const WAYS = ['light', 'dark'] as const
  const places = Array.from({ length: 20 }, (_, n) => `/place-${n}`)
  const ways = () => places.map(place => wayOf(place, WAYS))
  expect(ways()).toEqual(ways())
  expect(new Set(ways().flat())).toEqual(new Set(WAYS))
})
