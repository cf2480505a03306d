import { expect, test } from 'vitest'
import { CommandSpec, shownCommand } from './commands.ts'

test.each([
  ['no words', []],
  ['no program', ['', 'x']],
  ['an empty text', ''],
  ['NUL', ['a\0b']],
  ['too many bytes', ['x', '한'.repeat(22_000)]],
])('%s is no command', (_name, command) => {
  expect(CommandSpec.safeParse({ command }).success).toBe(false)
})

test('a command is shown in one short line without control characters', () => {
  expect(shownCommand(['sh', '-c', "echo 'a b'", 'x=1'])).toBe(`sh -c 'echo '\\''a b'\\''' x=1`)
  expect(shownCommand('a\n\u001b[2Jb')).toBe('a [2Jb')
  const long = shownCommand(`${'x'.repeat(198)}😀 more`)
  expect(long.length).toBeLessThanOrEqual(200)
  expect(long.isWellFormed()).toBe(true)
})
