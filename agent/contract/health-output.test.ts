import { expect, test } from 'vitest'
import { lastLines } from './health-output.ts'

test('the shown output is a few lines of plain text, whatever a command prints', () => {
  expect(lastLines(' \n\r\n')).toBeUndefined()
  expect(lastLines('a\u0000b\u202Ec\nd\te\r\nf\ng')).toBe('d e / f / g')
  expect(lastLines('\u001b[31mred\u001b[0m\u001b[2K')).toBe('red')
  expect(lastLines('x'.repeat(5_000))).toHaveLength(301)
})
