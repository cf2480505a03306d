import { expect, test } from 'vitest'
import { cleanLine, cleanLines } from './clean-text.ts'

test.each([
  ['plain ünïcödé 비밀 🔑', 'plain ünïcödé 비밀 🔑'],
  ['\u001b[31mred\u009b0m', '[31mred0m'],
  ['a\0b', 'ab'],
  ['user\u202egnp.exe', 'usergnp.exe'],
  ['two\r\n  lines', 'two lines'],
  ['half \ud800 of a pair', 'half \ufffd of a pair'],
])('%j is cleaned to %j', (text, shown) => expect(cleanLine(text)).toBe(shown))

test('a text is cut to its limit, and may keep its lines', () => {
  expect(cleanLine('x'.repeat(1000))).toHaveLength(500)
  expect(cleanLines('one\n\ttwo\u001b')).toBe('one\n  two')
})
