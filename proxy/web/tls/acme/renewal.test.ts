import { expect, test } from 'vitest'
import { renewAt, retryAt } from './renewal.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const facts = (fingerprint: string) => ({
  names: [],
  issuer: '',
  fingerprint,
  keyFingerprint: '',
  notBefore: '2026-01-01T00:00:00Z',
  notAfter: '2026-04-01T00:00:00Z',
  isPublic: true,
})

test('a certificate of 90 days is renewed from the 60th day on, within a week, at a moment that each keeps', () => {
  const start = Date.parse('2026-01-01T00:00:00Z')
  const days = Array.from({ length: 50 }, (_, index) => (renewAt(facts(String(index))) - start) / DAY_MS)
  expect(Math.min(...days)).toBeGreaterThanOrEqual(60)
  expect(Math.max(...days)).toBeLessThanOrEqual(67.5)
  expect(new Set(days).size).toBe(50)
  expect(renewAt(facts('7'))).toBe(renewAt(facts('7')))
})

test('failures are retried ever more seldom: four times in the first hour at most, every half day in the end', () => {
  const pause = (count: number) => (retryAt({ count, lastAt: 1_000, why: 'x' }) - 1_000) / HOUR_MS
  expect(pause(1)).toBeGreaterThanOrEqual(0.25)
  expect(pause(2) / pause(1)).toBeCloseTo(2)
  for (const count of [8, 20, 1_000]) {
    expect(pause(count)).toBeGreaterThanOrEqual(12)
    expect(pause(count)).toBeLessThanOrEqual(15)
  }
})
