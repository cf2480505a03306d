import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { aSession } from '../../testing/a-session.ts'
import { noticeKind, readNotices, type Seen } from './notice.ts'

const seen = (status: Session['status'], warnedAt: string | null = null): Seen => ({ status, warnedAt })
const END = { at: '2026-11-20T13:00:00.000Z', why: 'idle_timeout' } as const

test.each([
  ['starts to run', seen('PREPARING'), aSession(1), 'running'],
  ['continues running', seen('RUNNING'), aSession(1), undefined],
  ['fails', seen('RUNNING'), aSession(1, { status: 'ERROR' }), 'failed'],
  [
    'ends by itself',
    seen('RUNNING'),
    aSession(1, { status: 'TERMINATED', reason: { code: 'exited', message: '' } }),
    'ended',
  ],
  [
    'is ended by its owner',
    seen('TERMINATING'),
    aSession(1, { status: 'TERMINATED', reason: { code: 'user_terminated', message: '' } }),
    undefined,
  ],
  ['is about to be ended', seen('RUNNING'), aSession(1, { ends: { ...END, warnedAt: END.at } }), 'ending'],
  ['is about to be interrupted', seen('RUNNING'), aSession(1, { interruptAt: END.at }), 'ending'],
  ['was warned of before', seen('RUNNING', END.at), aSession(1, { ends: { ...END, warnedAt: END.at } }), undefined],
])('a session that %s', (_what, before, session, kind) => {
  expect(noticeKind(before, session)).toBe(kind)
})

test('stored notices are read back, and invalid ones are dropped', () => {
  const good = { id: 'a', kind: 'ended', name: 'x', to: '/sessions/1', at: 1, read: false }
  const stored = [good, { ...good, kind: 'other' }, { ...good, to: 'https://evil.example' }, 5, null, { id: 'a' }]
  expect(readNotices(JSON.stringify(stored))).toEqual([good])
  expect(readNotices('{')).toEqual([])
  expect(readNotices(null)).toEqual([])
})
