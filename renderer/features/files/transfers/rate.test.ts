import { describe, expect, test } from 'vitest'
import { addSample, rateOf, timeLeftMs, type RateSample } from './rate.ts'

describe('the rate of transfers', () => {
  test('the rate covers the last ten seconds', () => {
    let samples: RateSample[] = []
    for (let second = 0; second <= 20; second++)
      samples = addSample(samples, {
        atMs: second * 1000,
        bytes: second <= 10 ? second * 100 : 1000 + (second - 10) * 10,
      })
    expect(rateOf(samples)).toBe(10)
    expect(samples).toHaveLength(11)
  })

  test('rate and remaining time are unknown before the second sample', () => {
    expect(rateOf([])).toBe(0)
    expect(rateOf([{ atMs: 1, bytes: 5 }])).toBe(0)
    expect(timeLeftMs(100, 0)).toBeNull()
    expect([timeLeftMs(100, 50), timeLeftMs(0, 0)]).toEqual([2000, 0])
  })

  test('the rate survives a retry that starts at fewer bytes', () => {
    const samples = addSample([{ atMs: 0, bytes: 500 }], { atMs: 1000, bytes: 100 })
    expect(rateOf(addSample(samples, { atMs: 2000, bytes: 300 }))).toBe(200)
  })
})
