import { expect, test } from 'vitest'
import { scheduleText } from './server-backups.ts'

const daily = { backupAt: '03:00', backupTimeZone: 'Asia/Seoul', backupKeep: 7 }
const now = new Date('2026-11-28T00:36:25Z')

test.each([
  ['2026-11-28T18:00:00.000Z', 'next: 2026-11-29 03:00.'],
  // No date, although it is made next: nobody chose this time.
  ['2026-11-27T18:00:00.000Z', 'overdue since 2026-11-28 03:00, begins within a minute.'],
  [null, 'next: -.'],
])('the next backup at %s is told in the time zone of its schedule', (nextAt, said) => {
  expect(scheduleText(daily, nextAt, now)).toBe(`Every day at 03:00 (Asia/Seoul); the newest 7 are kept; ${said}`)
})

test('without a time of day no backup is made', () => {
  expect(scheduleText({ ...daily, backupAt: null }, null, now)).toBe('No backup is made by itself.')
})
