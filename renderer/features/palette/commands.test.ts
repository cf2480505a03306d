import { expect, test } from 'vitest'
import { defined } from '#base/defined'
import { matchCommands, type Command } from './commands.ts'

const command = (title: string, hint?: string): Command => ({
  id: title,
  group: 'pages',
  title,
  ...defined({ hint }),
  run: () => undefined,
})
const commands = [
  command('Summary'),
  command('train-resnet', 'PyTorch'),
  command('retrain', 'Python'),
  command('Account'),
]
const titles = (text: string) => matchCommands(commands, text).map(({ title }) => title)

test('every word counts, in any letter case, and titles that begin with the text come first', () => {
  expect(titles('')).toHaveLength(4)
  expect(titles('TRAIN')).toEqual(['train-resnet', 'retrain'])
  expect(titles('pyth train')).toEqual(['retrain'])
  expect(titles('nothing')).toEqual([])
})

test('a thousand sessions do not become a thousand rows', () => {
  expect(
    matchCommands(
      Array.from({ length: 1000 }, (_, index) => command(`s-${index}`)),
      's',
    ),
  ).toHaveLength(30)
})
