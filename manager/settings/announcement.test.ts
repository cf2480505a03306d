import { expect, test } from 'vitest'
import { NO_ANNOUNCEMENT } from '#manager/contract'
import { announcementAt } from './announcement.ts'

const FROM = '2026-05-04T08:00:00.000Z'
const UNTIL = '2026-05-04T12:00:00.000Z'
const SETTINGS = {
  announcement: 'Down for *maintenance*',
  announcementLevel: 'warning',
  announcementFrom: FROM,
  announcementUntil: UNTIL,
} as const
const at = (time: string, dismissed: string | null = null, change: object = {}) =>
  announcementAt({ ...SETTINGS, ...change }, Date.parse(time), dismissed)

test('an announcement is shown within its period, and says when that begins and ends', () => {
  expect(at('2026-05-04T07:59:59.999Z')).toEqual({ ...NO_ANNOUNCEMENT, changesAt: FROM })
  expect(at(FROM)).toMatchObject({ text: 'Down for *maintenance*', level: 'warning', until: UNTIL, changesAt: UNTIL })
  expect(at(UNTIL)).toEqual(NO_ANNOUNCEMENT)
  expect(at('2030-01-01T00:00:00Z', null, { announcementUntil: null })).toMatchObject({ until: null, changesAt: null })
  expect(at('2020-01-01T00:00:00Z', null, { announcementFrom: null }).text).toBe('Down for *maintenance*')
  expect(at(FROM, null, { announcement: null })).toEqual(NO_ANNOUNCEMENT)
})

test('a dismissed announcement stays dismissed until its text or its level changes', () => {
  const { id } = at(FROM)
  expect(at(FROM, id).dismissed).toBe(true)
  expect(at(FROM, id, { announcementUntil: '2026-05-05T12:00:00.000Z' }).dismissed).toBe(true)
  expect(at(FROM, id, { announcement: 'Down until noon' }).dismissed).toBe(false)
  expect(at(FROM, id, { announcementLevel: 'critical' }).dismissed).toBe(false)
  expect(at(FROM, 'another').dismissed).toBe(false)
})
