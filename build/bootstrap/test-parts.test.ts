import { expect, test } from 'vitest'
import { PARTS, parseTestFlags, stagesOf } from './test-parts.ts'

test('without flags all parts run, and the first failure ends them', () => {
  expect(parseTestFlags([])).toEqual({ parts: PARTS, keepGoing: false, storeDurations: false })
})

test('--only picks parts, in the usual order, and an unknown one is refused', () => {
  expect(parseTestFlags(['--only', 'e2e', '--only=unit', '--keep-going'])).toEqual({
    parts: ['unit', 'e2e'],
    keepGoing: true,
    storeDurations: false,
  })
  expect(() => parseTestFlags(['--only', 'units'])).toThrow('--only takes one of typecheck, lint')
  expect(() => parseTestFlags(['--fast'])).toThrow('--fast is no flag')
})

test('every part runs in exactly one stage, and a stage without parts is left out', () => {
  expect(stagesOf(PARTS).flat(2).toSorted()).toEqual(PARTS.toSorted())
  expect(stagesOf(['engine', 'integration', 'fuzz'])).toEqual([[['integration'], ['engine']], [['fuzz']]])
})
