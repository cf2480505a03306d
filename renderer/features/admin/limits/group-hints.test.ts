import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ENGINES, ResourceGroupOptions, SELECTORS, SEQUENCERS } from '#manager/contract'
import en from '../../../words/en/admin-limits.ts'
import ko from '../../../words/ko/admin-limits.ts'

/** Weights are tables by user and by project, with an explanation above each; Slurm's settings have fields of their own. */
const ELSEWHERE = ['weights', 'projectWeights', 'slurm'] as const

/** The explanation of each other option of a scheduler. */
const HINTS: Readonly<Record<Exclude<keyof ResourceGroupOptions, (typeof ELSEWHERE)[number]>, readonly string[]>> = {
  reserveAfterSeconds: ['reserveHint'],
  requireIsolation: ['requireIsolationHint'],
  splitShares: ['splitSharesHint'],
  spreadClusters: ['spreadClustersHint'],
  interruption: ['interruptsHint', 'minRunHint', 'warnTimeHint'],
}
const CHOICES = [
  ...ENGINES.map(value => `engineHint_${value}`),
  ...SEQUENCERS.map(value => `sequencerHint_${value}`),
  ...SELECTORS.map(value => `selectorHint_${value}`),
]

test.each([
  ['English', en],
  ['Korean', ko],
])('every option of the scheduler of a resource group is explained in %s', (_, catalogue) => {
  const texts = new Map<string, string>(Object.entries(catalogue))
  const keys = [...CHOICES, ...Object.values(HINTS).flat()]
  expect(keys.filter(key => (texts.get(key) ?? '').trim().length < 10)).toEqual([])
  // Each says something of its own.
  expect(new Set(keys.map(key => texts.get(key))).size).toBe(keys.length)
})

test('no option of the contract is without an explanation, and the dialog shows each', () => {
  expect(
    Object.keys(ResourceGroupOptions.shape)
      .filter(name => !ELSEWHERE.some(one => one === name))
      .toSorted(),
  ).toEqual(Object.keys(HINTS).toSorted())
  const dialog = readFileSync(new URL('GroupDialog.vue', import.meta.url), 'utf8')
  for (const key of Object.values(HINTS).flat()) expect(dialog).toContain(`:hint="t('${key}')"`)
  for (const kind of ['engine', 'sequencer', 'selector'])
    expect(dialog).toContain(`:hint="t(\`${kind}Hint_\${${kind}}\`)"`)
})
