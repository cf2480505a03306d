import { expect, test } from 'vitest'
import { choiceOf, dayOf, dayText, periodOf } from './period.ts'

const NOW = new Date('2026-05-04T12:00:00Z')

test('a period is a number of days until now, 30 unless the address says otherwise', () => {
  expect(periodOf({ days: '7' }, NOW)).toEqual({ from: '2026-04-27T12:00:00.000Z' })
  expect(periodOf({ days: '8' }, NOW)).toEqual({ from: '2026-04-04T12:00:00.000Z' })
  expect(choiceOf({ from: '2026-01-01' })).toBe('30')
})

test('two dates are whole days of this time zone, the last one included; what is no period is asked for nothing', () => {
  const dates = { days: 'dates', from: '2026-03-01', to: '2026-03-31' }
  expect(periodOf(dates, NOW)).toEqual({
    from: new Date(2026, 2, 1).toISOString(),
    to: new Date(2026, 3, 1).toISOString(),
  })
  expect(periodOf({ ...dates, to: '2026-02-28' }, NOW)).toBeUndefined()
  expect(periodOf({ ...dates, to: '2026-02-31' }, NOW)).toBeUndefined()
  expect(periodOf({ ...dates, to: undefined }, NOW)).toBeUndefined()
  const day = dayOf('2026-03-09')
  expect(day && dayText(day)).toBe('2026-03-09')
})
