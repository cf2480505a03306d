import { expect, test } from 'vitest'
import { durationText, parseDuration } from './duration.ts'

test.each([
  ['90m', 5400],
  ['8h', 28_800],
  ['1h30m', 5400],
  ['2d', 172_800],
  ['45s', 45],
  ['600', 600],
  [' 1H ', 3600],
])('%s is a duration', (text, seconds) => expect(parseDuration(text)).toBe(seconds))

test.each(['', '0', '0m', '5x', 'soon', '-5m', '1.5h', 'h', 'm1', '1h30'])('%j is not a duration', text =>
  expect(parseDuration(text)).toBeUndefined(),
)

test.each([
  [5400, '1 h 30 min'],
  [45, '45 s'],
  [0, '0 s'],
  [172_805, '2 d'],
])('%d seconds are formatted with at most two units', (seconds, text) => expect(durationText(seconds)).toBe(text))

test('a formatted duration parses to the same value', () => {
  for (const seconds of [1, 90, 5400, 7200, 90_000]) expect(parseDuration(durationText(seconds))).toBe(seconds)
})
