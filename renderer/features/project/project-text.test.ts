import { expect, test } from 'vitest'
import { type ScopeUsage } from '#manager/contract'
import { leftText } from './project-text.ts'

const scope = (change: Partial<ScopeUsage>): ScopeUsage => ({
  kind: 'group',
  id: 'g1',
  name: 'vision',
  policy: null,
  limits: {},
  held: {},
  left: {},
  maxSessions: null,
  sessions: 0,
  ...change,
})

test('the text says what is left of each limit of the project', () => {
  expect(leftText(scope({ left: { cpu: '1.5', mem: '2g', 'cuda.device': '0' } }))).toBe(
    'Left: 1.5 CPU, 2 GiB RAM, 0 GPU',
  )
  expect(leftText(scope({ maxSessions: 4, sessions: 3 }))).toBe('Left: 1 session')
  expect(leftText(scope({ maxSessions: 2, sessions: 5 }))).toBe('Left: 0 sessions')
  expect(leftText(scope({}))).toBe('No limits')
  expect(leftText(undefined)).toBe('')
})
