import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { aSession, OWNER } from '../../testing/a-session.ts'
import { aboutText, canTerminate, entryHindrance, leftFiles, statusText } from './session-text.ts'

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

test('a running session has no remaining files to continue with', () => {
  expect(leftFiles({ ...ended, status: 'RUNNING', endedAt: null }, hoursLater(0))).toBe(false)
})

const main = { role: 'main1', exitCode: 3 } as Session['kernels'][number]
const exited = { code: 'exited', message: 'The main process ended with exit code 3.' } as const
const batch = (change: Partial<Session>) =>
  aSession(1, { kind: 'batch', status: 'TERMINATED', reason: exited, kernels: [main], ...change })

test('a failed batch job shows its exit code', () => {
  const failed = batch({ result: 'failure' })
  expect(statusText(failed)).toMatchObject({ label: 'Failed · exit 3', tone: 'bad' })
  expect(statusText(batch({ result: 'success' }))).toMatchObject({ label: 'Succeeded', tone: 'good' })
})

test('a batch job that its owner ended did not fail', () => {
  const reason = { code: 'user_terminated', message: 'Ended by its owner.' } as const
  expect(statusText(batch({ result: 'failure', reason })).label).toBe('Terminated')
})

test.each<[string, Partial<Session>, RegExp]>([
  ['of somebody else', { ownerId: 'other' as Session['ownerId'] }, /^Only the owner/],
  ['that may only be viewed', { ownerId: 'other' as Session['ownerId'], sharedAs: 'view' }, /lets you view/],
  ['that may be used', { ownerId: 'other' as Session['ownerId'], sharedAs: 'use' }, /^$/],
  ['that waits', { status: 'PENDING' }, /once the session runs/],
  ['that has ended', { status: 'TERMINATED' }, /has ended/],
  ['on a host that is away', { reachable: false }, /not connected/],
  ['that runs', {}, /^$/],
])('whether a session %s can be opened, and why not', (_which, change, expected) => {
  expect(entryHindrance(aSession(1, change), OWNER)).toMatch(expected)
})

test('members with whom a session is shared never end it', () => {
  expect(canTerminate(aSession(1))).toBe(true)
  expect(canTerminate(aSession(1, { sharedAs: 'use' }))).toBe(false)
})

test('the line below the name says with whom a session is shared, and its tags', () => {
  expect(aboutText(aSession(1))).toBe('berth/python:3.13')
  expect(aboutText(aSession(1, { sharedWith: 2, tags: ['a', 'b'] }))).toBe('Shared (2) · berth/python:3.13 · #a · #b')
  expect(aboutText(aSession(1, { sharedAs: 'view', sharedWith: null }))).toMatch(/^Shared: view/)
})
