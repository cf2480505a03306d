import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dueTimes } from './due.ts'

const at = (now: string, time: string, timeZone: string) => {
  const { last, next } = dueTimes(Date.parse(now), { at: time, timeZone })
  return [new Date(last).toISOString(), new Date(next).toISOString()]
}

test.each([
  ['2026-05-04T02:59:59Z', '03:00', 'UTC', '2026-05-03T03:00:00.000Z', '2026-05-04T03:00:00.000Z'],
  ['2026-05-04T03:00:00Z', '03:00', 'UTC', '2026-05-04T03:00:00.000Z', '2026-05-05T03:00:00.000Z'],
  ['2026-05-04T12:00:00Z', '03:00', 'Asia/Seoul', '2026-05-03T18:00:00.000Z', '2026-05-04T18:00:00.000Z'],
  ['2026-05-04T11:00:00Z', '00:00', 'Pacific/Kiritimati', '2026-05-04T10:00:00.000Z', '2026-05-05T10:00:00.000Z'],
  // New York sets its clocks from 02:00 to 03:00 on 8 March, and from 02:00 back to 01:00 on 1 November.
  ['2026-03-08T06:59:00Z', '02:30', 'America/New_York', '2026-03-07T07:30:00.000Z', '2026-03-08T07:30:00.000Z'],
  ['2026-11-01T06:00:00Z', '01:30', 'America/New_York', '2026-11-01T05:30:00.000Z', '2026-11-02T06:30:00.000Z'],
  // Clocks are changed at midnight here.
  ['2026-03-22T12:00:00Z', '00:30', 'Asia/Beirut', '2026-03-21T22:30:00.000Z', '2026-03-22T22:30:00.000Z'],
])('at %s, %s in %s is due at %s and %s', (now, time, zone, last, next) => {
  expect(at(now, time, zone)).toEqual([last, next])
})

test('it is due once between any two due times, about a day apart, in every time zone', () => {
  const zones = fc.constantFrom('UTC', 'Asia/Seoul', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'America/New_York')
  const times = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  const instants = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) })
  fc.assert(
    fc.property(zones, times, instants, (timeZone, [hours, minutes], now) => {
      const daily = { at: `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`, timeZone }
      const { last, next } = dueTimes(now, daily)
      expect(last).toBeLessThanOrEqual(now)
      expect(next).toBeGreaterThan(now)
      expect(Math.abs(next - last - 86_400_000)).toBeLessThanOrEqual(3_600_000)
      expect(dueTimes(next, daily).last).toBe(next)
      expect(dueTimes(next - 1, daily).last).toBe(last)
    }),
  )
})
