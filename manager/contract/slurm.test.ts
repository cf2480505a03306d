import { expect, test } from 'vitest'
import { SLURM_OFFERED, SlurmSettings, wrongSlurmSettings } from './slurm.ts'

const NAMES = ['partition', 'account', 'qos', 'constraint', 'reservation'] as const
const TEXTS = ['gpu', '-p', 'a b', '', 'a100&nvlink', '[a|b]', 'x'.repeat(129), 'x'.repeat(257)]
const MINUTES = [0, 1, 1.5, Number.NaN, 366 * 1440, 366 * 1440 + 1]

test.each([
  {},
  ...NAMES.flatMap(name => TEXTS.map(text => ({ [name]: text }))),
  ...MINUTES.flatMap(minutes => [{ timeLimitMinutes: minutes }, { maxTimeLimitMinutes: minutes }]),
  ...TEXTS.flatMap(text => SLURM_OFFERED.map(name => ({ offers: { [name]: ['normal', text] } }))),
  { offers: { qos: Array.from({ length: 21 }, (_, index) => `qos${index}`) } },
])('without a schema, %j has the faults that the schema names', settings => {
  const faults = SlurmSettings.safeParse(settings).error?.issues.map(({ path }) => path[0]) ?? []
  expect(wrongSlurmSettings(settings)).toEqual([...new Set(faults)])
})
