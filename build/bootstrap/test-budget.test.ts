import { expect, test } from 'vitest'
import {
  type Budget,
  describeBudget,
  keptBudget,
  NO_BUDGET,
  overBudget,
  runOverBudget,
  type Spent,
} from './test-budget.ts'

const BUDGET: Budget = {
  sliceMs: 10,
  parts: { all: { console: 100, unit: 50 } },
  files: { all: { 'a.test.ts': 20, 'b.test.ts': 30 }, change: { 'a.test.ts': 5 } },
}
const spent = (seconds: number, files: Record<string, number> = {}, sliceMs = 10): Spent => ({
  ...{ set: 'all', sliceMs },
  parts: [{ part: 'console', processor: { user: seconds - 10, system: 10 }, files }],
})

test('a part may take a tenth more than its budget; beyond that the files that grew are named, those that grew most first', () => {
  expect(overBudget(spent(110), BUDGET)).toEqual([])
  expect(describeBudget(spent(111, { 'a.test.ts': 24, 'b.test.ts': 30.5, 'new.test.ts': 6 }), BUDGET)).toEqual([
    '✗ OVER BUDGET: console took 111 processor seconds of 100. What grew:',
    '    0.0 s → 6.0 s  new.test.ts',
    '    20.0 s → 24.0 s  a.test.ts',
  ])
})

test('seconds of a slower machine count as many as the faster one of the budget would need', () => {
  expect(overBudget(spent(210, {}, 20), BUDGET)).toEqual([])
  expect(overBudget(spent(230, { 'a.test.ts': 44 }, 20), BUDGET)).toEqual([
    { part: 'console', allowed: 100, seconds: 115, grown: [{ file: 'a.test.ts', before: 20, seconds: 22 }] },
  ])
})

/** A run of both parts, with user time only. */
const run = (console: number, unit: number, sliceMs = 10): Spent => {
  const part = (name: string, user: number) => ({ part: name, processor: { user, system: 0 }, files: {} })
  return { set: 'all', sliceMs, parts: [part('console', console), part('unit', unit)] }
}

test('a run may take two fifths more than its parts together; one part may grow while others shrink', () => {
  expect(runOverBudget(run(160, 50), BUDGET)).toBeUndefined()
  expect(runOverBudget(run(160, 51), BUDGET)).toEqual({ allowed: 150, seconds: 211 })
  expect(describeBudget(run(160, 51), BUDGET).at(-1)).toContain('OVER ITS BUDGET: 211 processor seconds of 150')
})

test('a run on a machine that is half as fast may take twice the seconds', () => {
  expect(runOverBudget(run(320, 100, 20), BUDGET)).toBeUndefined()
  expect(runOverBudget(run(320, 102, 20), BUDGET)).toEqual({ allowed: 150, seconds: 211 })
})

test('a run of one part is judged by that part alone', () => {
  expect(runOverBudget(spent(900), BUDGET)).toBeUndefined()
  expect(runOverBudget(run(900, 900), NO_BUDGET)).toBeUndefined()
})

test('a part without a budget, and another set of tests, are never over it', () => {
  expect(overBudget(spent(900), NO_BUDGET)).toEqual([])
  expect(overBudget({ ...spent(900), set: 'change' }, BUDGET)).toEqual([])
})

test('a kept budget has the figures of the run, and scales the others to its machine', () => {
  expect(keptBudget(spent(80, { 'a.test.ts': 15, 'c.test.ts': 0.4 }, 20), BUDGET)).toEqual({
    sliceMs: 20,
    parts: { all: { console: 80, unit: 100 } },
    files: { all: { 'a.test.ts': 15, 'b.test.ts': 60 }, change: { 'a.test.ts': 10 } },
  })
})
