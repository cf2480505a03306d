import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { leftFiles } from './session-text.ts'

type Left = Parameters<typeof leftFiles>[0]

const ENDED = '2026-11-20T10:00:00.000Z'
const hoursLater = (hours: number) => new Date(Date.parse(ENDED) + hours * 3_600_000)
const kernel = {} as Session['kernels'][number]
const ended: Left = { status: 'TERMINATED', startedAt: ENDED, endedAt: ENDED, kernels: [kernel] }

test.each<[string, Partial<Left>, number, boolean]>([
  ['just now', {}, 0, true],
  ['almost a day ago', {}, 23.9, true],
  ['more than a day ago', {}, 24.1, false],
  ['without having run', { startedAt: null }, 0, false],
  ['with several containers', { kernels: [kernel, kernel] }, 0, false],
])('a session that ended %s', (_when, change, hours, expected) => {
  expect(leftFiles({ ...ended, ...change }, hoursLater(hours))).toBe(expected)
})

test('a session that runs has left nothing', () => {
  expect(leftFiles({ ...ended, status: 'RUNNING', endedAt: null }, hoursLater(0))).toBe(false)
})
