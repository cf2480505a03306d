import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { newsSince } from './news.ts'

const SINCE = Date.parse('2026-11-20T12:00:00Z')
const BEFORE = '2026-11-20T11:00:00.000Z'
const AFTER = '2026-11-20T13:00:00.000Z'
const LATER = '2026-11-20T14:00:00.000Z'
let index = 0
const session = (change: Partial<Session>) => aSession(++index, { startedAt: BEFORE, ...change })
const kinds = (...sessions: Session[]) => newsSince(sessions, SINCE).map(({ kind }) => kind)

test('sessions that ended or started since the last visit are news, failures first', () => {
  expect(
    kinds(
      session({ status: 'RUNNING', startedAt: AFTER }),
      session({ status: 'TERMINATED', endedAt: LATER }),
      session({ status: 'ERROR', endedAt: AFTER }),
      session({
        status: 'TERMINATED',
        endedAt: AFTER,
        kind: 'batch',
        result: 'failure',
        reason: { code: 'exited', message: 'exit 3' },
      }),
    ),
  ).toEqual(['failed', 'failed', 'ended', 'started'])
})

test('older changes, and sessions that the owner cancelled, are not news', () => {
  expect(
    kinds(
      session({ status: 'RUNNING' }),
      session({ status: 'TERMINATED', endedAt: BEFORE }),
      session({ status: 'CANCELLED', endedAt: AFTER, startedAt: null }),
      session({ status: 'PENDING', startedAt: null }),
    ),
  ).toEqual([])
})

test('a session that is about to end is news even if nothing else has changed', () => {
  expect(kinds(session({ status: 'RUNNING', ends: { at: LATER, why: 'idle_timeout', warnedAt: AFTER } }))).toEqual([
    'ending',
  ])
  expect(kinds(session({ status: 'RUNNING', ends: { at: LATER, why: 'idle_timeout', warnedAt: null } }))).toEqual([])
})
