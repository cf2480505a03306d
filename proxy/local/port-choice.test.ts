import { expect, test } from 'vitest'
import { choosePort, type PortWish } from './port-choice.ts'

const AGAIN: PortWish = {
  port: undefined,
  onPortTaken: 'fail',
  remembered: 40_000,
  used: new Set([40_000, 40_001]),
  isExposed: true,
}

test.each<[string, Partial<PortWish>, { wanted?: number; remembered?: number; isLasting: boolean }]>([
  [
    'an app on a computer of one person has its last port',
    { isExposed: false },
    { remembered: 40_000, isLasting: true },
  ],
  ['an app has no port of before', {}, { isLasting: false }],
  [
    'a port that the person insists on is theirs, at the lasting name',
    { port: 40_000 },
    { wanted: 40_000, isLasting: true },
  ],
  ['a port that a page suggests is not taken again', { port: 8080, onPortTaken: 'random' }, { isLasting: false }],
  [
    'a port that a page suggests is taken once',
    { port: 8080, onPortTaken: 'random', remembered: undefined },
    { wanted: 8080, isLasting: false },
  ],
  [
    'a port that another app had is not suggested',
    { port: 40_001, onPortTaken: 'random', remembered: undefined },
    { isLasting: false },
  ],
])('%s', (_, wish, { wanted, remembered, isLasting }) => {
  const choice = choosePort({ ...AGAIN, ...wish })
  expect([choice.wanted, choice.remembered, choice.isLasting(wanted ?? 50_000)]).toEqual([
    wanted,
    remembered,
    isLasting,
  ])
  expect(choice.avoided?.has(40_001)).toBe((wish.isExposed ?? true) || undefined)
})
