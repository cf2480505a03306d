import { expect, test } from 'vitest'
import { vagueComments } from './comment-rules.ts'

const linesOf = (...lines: string[]) => vagueComments(lines.join('\n')).map(({ line }) => line)

test('a comment that begins without a subject is found in every form of comment', () => {
  expect(vagueComments('/** What an agent reports. */\nexport interface Report {}')).toEqual([
    { line: 1, word: 'What' },
  ])
  expect(
    linesOf('const a = 1', '  // It waits.', '  /* Of all. */', '<!-- One of these. -->', '-- Whose it is.'),
  ).toEqual([2, 3, 4, 5])
  expect(linesOf('/**', ' * Those that wait.', ' */')).toEqual([2])
})

test('a sentence that a comment goes on with may begin in any way', () => {
  expect(
    linesOf('// The manager waits.', '// It gives up after a minute.', '/**', ' * Waits.', ' * It ends.', ' */'),
  ).toEqual([])
})

test('other words, a comment behind code and a word with a hyphen pass', () => {
  expect(linesOf('// Items that wait.', "'lost', // its agent is gone", '/** One-time ticket. */', '  --What')).toEqual(
    [],
  )
})
