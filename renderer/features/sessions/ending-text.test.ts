import { expect, test } from 'vitest'
import { endingText } from './ending-text.ts'

const NOW = new Date('2026-11-20T10:00:00.000Z')
const inSeconds = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString()
const ends = (seconds: number, why: 'idle_timeout' | 'max_lifetime' = 'idle_timeout') => ({
  clusterSize: 1,
  ends: { at: inSeconds(seconds), why, warnedAt: inSeconds(seconds - 900) },
})

test('nothing is shown before the first warning', () => {
  expect(endingText({ ends: null, clusterSize: 1 }, NOW)).toBeUndefined()
  expect(endingText({ ...ends(3000), ends: { ...ends(3000).ends, warnedAt: null } }, NOW)).toBeUndefined()
})

test.each([
  [900, 'Ends in 15 min', false],
  [299, 'Ends in 5 min', true],
  [61, 'Ends in 2 min', true],
  [60, 'Ends in 60 s', true],
  [0.4, 'Ends in 1 s', true],
  [-3, 'Ends now', true],
])('the text %d seconds before the end', (seconds, label, urgent) => {
  expect(endingText(ends(seconds), NOW)).toMatchObject({ label, urgent })
})

test('the text names the reason', () => {
  expect(endingText(ends(60), NOW)?.why).toContain('has been idle')
  expect(endingText(ends(60, 'max_lifetime'), NOW)?.why).toContain('maximum lifetime')
})

test('the text says what happens to the files: homes of several containers are not kept', () => {
  expect(endingText(ends(60), NOW)?.why).toContain('Files in mounted folders stay, and the rest of the home')
  expect(endingText({ ...ends(60), clusterSize: 2 }, NOW)?.why).toContain('Only files in mounted folders stay')
})
