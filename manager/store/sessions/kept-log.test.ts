import { expect, test } from 'vitest'
import { LOG_CUT } from '#agent/contract'
import { isCut, keptLog } from './kept-log.ts'

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}\n`).join('')

test('a log that fits is kept as it is, without what the database refuses', () => {
  expect(keptLog({ text: 'a\0b\n', truncated: false })).toBe('ab\n')
  expect(isCut('ab\n')).toBe(false)
})

test('a log is cut at a line, and its first line says so', () => {
  const text = lines(20_000)
  const kept = keptLog({ text, truncated: false })
  expect(kept.length).toBeLessThanOrEqual(64 * 1024)
  const [note, first] = kept.split('\n')
  expect([note, first]).toEqual([LOG_CUT, expect.stringMatching(/^line \d+$/)])
  expect(text.endsWith(kept.slice(LOG_CUT.length + 1))).toBe(true)
  expect(isCut(kept)).toBe(true)
})

test('what the agent has cut is cut, and said once', () => {
  const kept = keptLog({ text: 'end\n', truncated: true })
  expect(kept).toBe(`${LOG_CUT}\nend\n`)
  expect(keptLog({ text: kept, truncated: true })).toBe(kept)
  const again = keptLog({ text: `${LOG_CUT}\n${lines(20_000)}`, truncated: false })
  expect(again.split(LOG_CUT)).toHaveLength(2)
})

test('one line that is too long keeps its end', () => {
  expect(keptLog({ text: 'x'.repeat(100_000), truncated: false })).toMatch(/\nx{60000,}$/)
})
