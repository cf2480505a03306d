import { expect, test } from 'vitest'
import {
  formatAmount,
  formatBytes,
  formatCores,
  formatDuration,
  formatPercent,
  formatStart,
  formatStartBriefly,
  localTimes,
} from './format.ts'

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '0.98 KiB'],
  [1536, '1.5 KiB'],
  [12.34 * 2 ** 30, '12.3 GiB'],
  [512 * 2 ** 30, '512 GiB'],
  [-5, '0 B'],
])('%i bytes are %s', (bytes, text) => expect(formatBytes(bytes, 'en')).toBe(text))

test.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [185_000, '3 min 5 s'],
  [7_200_000, '2 h'],
  [86_400_000 * 3 + 3_600_000 * 4 + 60_000, '3 d 4 h'],
])('%i milliseconds are %s', (milliseconds, text) => expect(formatDuration(milliseconds)).toBe(text))

test.each([
  [0, '0'],
  [0.0004, '< 0.01'],
  [0.04, '0.04'],
  [0.966, '0.97'],
  [12.34, '12.3'],
])('%s hours are shown as %s', (value, text) => {
  expect(formatAmount(value, 'en')).toBe(text)
})

test('amounts follow the language, and other days than today show the date', () => {
  expect(formatCores(1500, 'de')).toBe('1,5')
  expect(formatPercent(0.994)).toBe('99 %')
  const now = new Date(2026, 10, 20, 15, 0)
  expect(formatStart(new Date(2026, 10, 20, 9, 5), now, 'en-GB')).toBe('09:05')
  expect(formatStart(new Date(2026, 10, 19, 9, 5), now, 'en-GB')).toBe('19 Nov, 09:05')
  expect(formatStart(new Date(2026, 10, 20, 9, 5), now, 'en-US')).toMatch(/^9:05\sAM$/)
  expect(formatStart(new Date(2025, 10, 19, 9, 5), now, 'en-GB')).toMatch(/2025/)
  expect(formatStartBriefly(new Date(2026, 10, 19, 9, 5), now, 'en-GB')).toBe('19 Nov, 09:05')
  expect(formatStartBriefly(new Date(2025, 10, 19, 9, 5), now, 'en-GB')).toBe('19 Nov 2025')
})

test('times of the manager are shown in the time zone of the reader', () => {
  const now = new Date('2026-11-22T10:00:00Z')
  const iso = '2026-11-22T12:30:00.000Z'
  const local = formatStart(new Date(iso), now, 'en-GB')
  expect(localTimes(`Starts at ${iso} at the latest.`, now, 'en-GB')).toBe(`Starts at ${local} at the latest.`)
  expect(localTimes('Needs 2 CPU (none free).', now)).toBe('Needs 2 CPU (none free).')
})
