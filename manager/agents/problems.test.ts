import { expect, test } from 'vitest'
import { createProblems, unknownProblem } from './problems.ts'

test('problems are one text, in the order of their subjects, until they are cleared', () => {
  const problems = createProblems()
  expect(problems.text()).toBeNull()
  problems.note('leftOut', 'An image was left out.')
  problems.note('network', 'No network.')
  expect(problems.text()).toBe('No network. An image was left out.')
  expect(problems.has('network')).toBe(true)
  problems.note('network', null)
  expect(problems.text()).toBe('An image was left out.')
  problems.note('leftOut', null)
  expect(problems.text()).toBeNull()
})

test('the sentence about unknown containers fits their number', () => {
  expect(unknownProblem(0)).toBeNull()
  expect(unknownProblem(1)).toMatch(/^1 container on the host carries the name of this Berth, but not its signature\./)
  expect(unknownProblem(3)).toMatch(/^3 containers on the host carry the name of this Berth, but not its signature\./)
})
