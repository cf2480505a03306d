import { expect, test } from 'vitest'
import { cutSlowLines, cutSlowText } from './slow-lines.ts'

const LENGTH = 300_000
const SLOW = {
  'marks on one letter': '\u0301',
  'two directions': 'a\u05d0',
  'two directions, of a script that few know': 'a\u{1e900}',
  'signs that keep letters apart': 'a\u200c',
  'invisible tags': '\u{e0061}',
  'marks of directions': '\u2067a',
  'joined emoji': '👨\u200d',
}

test.each(Object.entries(SLOW))('a long line of %s is cut, and the lines around it stay', (_, part) => {
  const { text, isCut } = cutSlowLines(`first\n${part.repeat(LENGTH)}\nlast`)
  const [first, cut = '', last] = text.split('\n')
  expect([first, last, isCut]).toEqual(['first', 'last', true])
  expect(cut.length).toBeLessThan(40_000)
  expect(cut).toMatch(/ … \[cut here: the rest is in the download\]$/)
  expect(cut.isWellFormed()).toBe(true)
})

test('other long lines, and many lines of these characters, stay as they are', () => {
  const text = [
    'x'.repeat(LENGTH),
    '안녕'.repeat(LENGTH),
    ...Array.from({ length: 1_000 }, () => 'سلام '.repeat(100)),
  ].join('\n')
  expect(cutSlowLines(text)).toEqual({ text, isCut: false })
})

test('a text that is shown in one line is cut as one, whatever line breaks it has', () => {
  const lines = 'سلام\n'.repeat(10_000)
  expect(cutSlowLines(lines).isCut).toBe(false)
  expect(cutSlowText(lines).length).toBeLessThan(20_000)
  expect(cutSlowText('a\nb'.repeat(10_000))).toHaveLength(30_000)
})
