import { expect, test } from 'vitest'
import { SLURM_OFFERED, SlurmSettings, slurmUserOf, wrongSlurmSettings } from './slurm.ts'

const NAMES = ['partition', 'account', 'qos', 'constraint', 'reservation'] as const
const TEXTS = ['gpu', '-p', 'a b', '', 'a100&nvlink', '[a|b]', 'x'.repeat(129), 'x'.repeat(257)]
const MINUTES = [0, 1, 1.5, Number.NaN, 366 * 1440, 366 * 1440 + 1]

test.each([
  {},
  ...NAMES.flatMap(name => TEXTS.map(text => ({ [name]: text }))),
  ...MINUTES.flatMap(minutes => [{ timeLimitMinutes: minutes }, { maxTimeLimitMinutes: minutes }]),
  ...TEXTS.flatMap(text => SLURM_OFFERED.map(name => ({ offers: { [name]: ['normal', text] } }))),
  ...TEXTS.map(account => ({ projects: { '0192f0c1-1111-7000-8000-000000000001': { account } } })),
  ...['ada', 'root', 'slurm', '-u', 'Ada', 'a b', '', 'a'.repeat(33)].map(user => ({ people: { users: { a: user } } })),
  ...['example.org', 'Example.org', '@example.org', ''].map(mailDomain => ({ people: { mailDomain } })),
  { offers: { qos: Array.from({ length: 21 }, (_, index) => `qos${index}`) } },
])('without a schema, %j has the faults that the schema names', settings => {
  const faults = SlurmSettings.safeParse(settings).error?.issues.map(({ path }) => path[0]) ?? []
  expect(wrongSlurmSettings(settings)).toEqual([...new Set(faults)])
})

test.each([
  ['ada@example.org', 'ada'],
  ['Ada@Example.org', 'ada'],
  ['bob@example.org', 'robert'],
  ['ada@elsewhere.org', undefined],
  ['ada@sub.example.org', undefined],
  ['root@example.org', undefined],
  ['slurm@example.org', undefined],
  ['-u@example.org', undefined],
  ['ada+x@example.org', undefined],
  ['ada@x@example.org', undefined],
  ['ada', undefined],
])('%s is the user %s in Slurm', (email, user) =>
  expect(slurmUserOf({ mailDomain: 'example.org', users: { 'Bob@example.org': 'robert' } }, email)).toBe(user),
)

test('the addresses of a map are kept in small letters, so that none is there twice', () => {
  const people = { users: { 'Ada@Example.org': 'ada', 'ada@example.org': 'ada2' } }
  expect(SlurmSettings.parse({ people })).toEqual({ people: { users: { 'ada@example.org': 'ada2' } } })
})

test('without a rule, only people of the table have a user in Slurm', () => {
  expect(slurmUserOf({ users: { 'ada@example.org': 'ada' } }, 'ada@example.org')).toBe('ada')
  expect(slurmUserOf({}, 'ada@example.org')).toBeUndefined()
})
