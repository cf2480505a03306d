import { expect, test } from 'vitest'
import { SessionId } from '#manager/contract'
import { enqueuedAt, judgeStartTimes } from './start-times.ts'

const NOW = Date.parse('2026-05-04T10:00:00.000Z')
const [soon, due, free] = ['1', '2', '3'].map(n => SessionId.parse(`00000000-0000-7000-8000-00000000000${n}`))

test('a session waits until its start time, and the reason has that time', () => {
  const later = judgeStartTimes(
    [
      { id: soon!, starts_at: new Date(NOW + 1) },
      { id: due!, starts_at: new Date(NOW) },
      { id: free!, starts_at: null },
    ],
    NOW,
  )
  expect([...later]).toEqual([
    [
      soon,
      {
        code: 'starts_later',
        message: 'Scheduled: starts at 2026-05-04T10:00:00.001Z or later.',
        notBefore: '2026-05-04T10:00:00.001Z',
      },
    ],
  ])
})

test('a scheduled session joins the queue at its start time, behind those that already wait', () => {
  const created_at = new Date(NOW - 3_600_000)
  expect(enqueuedAt({ created_at, starts_at: new Date(NOW) })).toBe(NOW)
  expect(enqueuedAt({ created_at, starts_at: new Date(NOW - 7_200_000) })).toBe(NOW - 3_600_000)
  expect(enqueuedAt({ created_at, starts_at: null })).toBe(NOW - 3_600_000)
})
