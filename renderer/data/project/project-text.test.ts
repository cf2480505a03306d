import { expect, test } from 'vitest'
import { type Resources, type ScopeUsage } from '#manager/contract'
import { freeText, leftText } from './project-text.ts'

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

test('the text of a resource group says what its agents have free', () => {
  const figures = (change: Partial<Resources>): Resources => ({
    agents: { connected: 2, lost: 0 },
    capacity: { cpu: '8', mem: '16g', 'cuda.device': '2' },
    occupied: { cpu: '1.5', 'cuda.device': '2' },
    largest: {},
    free: {},
    left: {},
    sessionsLeft: null,
    partsHold: null,
    sharedGpus: [],
    gpus: [],
    sessions: { running: 1, pending: 0 },
    ...change,
  })
  expect(freeText(figures({}))).toBe('Free now: 6.5 CPU, 16 GiB RAM, 0 GPU')
  expect(freeText(figures({ agents: { connected: 0, lost: 1 } }))).toBe('No host is connected')
  expect(freeText(undefined)).toBe('')
})
