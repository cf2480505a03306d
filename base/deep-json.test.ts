import { expect, test } from 'vitest'
import { isTooDeep } from './deep-json.ts'

const long = 'x'.repeat(2 * 1024 * 1024)
const nested = (levels: number) => `${'{"a":['.repeat(levels)}"${long}"${']}'.repeat(levels)}`

test.each([
  ['levels of an answer', nested(20), false],
  ['many levels', nested(200), true],
  ['levels that never end', '['.repeat(2 * 1024 * 1024), true],
  ['brackets in text, behind quotes in it', JSON.stringify({ a: `"\\${'['.repeat(300)}${long}` }), false],
  ['a long list', `[${'[],'.repeat(1024 * 1024)}[]]`, false],
  ['what is short', '['.repeat(1_000), false],
])('%s', (_, text, expected) => expect(isTooDeep(text)).toBe(expected))
