import { expect, test } from 'vitest'
import { lanesOf, PARTS, parseTestFlags } from './test-parts.ts'

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

test('every part runs in exactly one lane, and a lane without parts is left out', () => {
  expect(lanesOf(PARTS).flat().toSorted()).toEqual(PARTS.toSorted())
  expect(lanesOf(['engine', 'integration', 'fuzz'])).toEqual([['integration', 'fuzz'], ['engine']])
  expect(lanesOf(['lint'])).toEqual([['lint']])
})
