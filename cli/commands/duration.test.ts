import { describe, expect, test } from 'vitest'
import { durationText, parseDuration } from './duration.ts'

describe('a duration', () => {
  test.each([
    ['90m', 5400],
    ['8h', 28_800],
    ['1h30m', 5400],
    ['2d', 172_800],
    ['45s', 45],
    ['600', 600],
    [' 1H ', 3600],
  ])('%s is read', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })

  test.each(['', '0', '0m', '5x', 'soon', '1h 30m', '-5m', '1.5h', 'h'])('%j is refused', text => {
    expect(() => parseDuration(text)).toThrow('such as 90m')
  })

  test.each([
    [5400, '1 h 30 min'],
    [45, '45 s'],
    [0, '0 s'],
    [172_805, '2 d 5 s'],
  ])('of %d seconds is said with two units', (seconds, text) => {
    expect(durationText(seconds)).toBe(text)
  })
})
