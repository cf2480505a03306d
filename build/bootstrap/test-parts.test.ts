import { expect, test } from 'vitest'
import { PARTS, parseTestFlags, scheduleOf } from './test-parts.ts'

const NO_SWITCH = { since: undefined, keepGoing: false, storeDurations: false, enforceBudget: false, coverage: false }

test('without flags all parts but the fuzzer run, and the first failure ends them', () => {
  const parts = PARTS.filter(part => part !== 'fuzz')
  expect(parseTestFlags([])).toEqual({ ...NO_SWITCH, set: 'change', parts })
})

test('--all runs everything', () => {
  expect(parseTestFlags(['--all', '--enforce-budget'])).toEqual({
    ...NO_SWITCH,
    ...{ set: 'all', parts: PARTS, enforceBudget: true },
  })
})

test('--only picks parts, in the usual order, and an unknown one is refused', () => {
  expect(parseTestFlags(['--only', 'e2e', '--only=unit', '--keep-going', '--coverage'])).toEqual({
    ...NO_SWITCH,
    set: 'change',
    parts: ['unit', 'e2e'],
    keepGoing: true,
    coverage: true,
  })
  expect(() => parseTestFlags(['--only', 'units'])).toThrow('--only takes one of typecheck, lint')
  expect(parseTestFlags(['--since', 'main']).since).toBe('main')
  expect(parseTestFlags(['--since=v1']).since).toBe('v1')
  expect(() => parseTestFlags(['--since'])).toThrow('--since takes a branch')
  expect(() => parseTestFlags(['--fast'])).toThrow('--fast is no flag')
})

test('every part is scheduled exactly once, and a lane without parts is left out', () => {
  const { lanes, either } = scheduleOf(PARTS)
  expect([...lanes.flat(), ...either].toSorted()).toEqual(PARTS.toSorted())
  expect(scheduleOf(['engine', 'integration', 'fuzz'])).toEqual({
    lanes: [['integration'], ['engine']],
    either: ['fuzz'],
  })
  expect(scheduleOf(['lint'])).toEqual({ lanes: [['lint']], either: [] })
  expect(scheduleOf(['fuzz', 'console'])).toEqual({ lanes: [['console', 'fuzz']], either: [] })
})
