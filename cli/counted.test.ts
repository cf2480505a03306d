import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { counted } from './counted.ts'

test('one is told in the singular', () => {
  expect([counted(0, 'file'), counted(1, 'file'), counted(2, 'file')]).toEqual(['0 files', '1 file', '2 files'])
  expect([counted(1, 'directory', 'directories'), counted(3, 'directory', 'directories')]).toEqual([
    '1 directory',
    '3 directories',
  ])
})

test('no command counts things in the plural alone', () => {
  const sources = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(file => !file.endsWith('.test.ts'))
  // Numbers that are constants, or always more than one, have names in capitals or a sum.
  const alone =
    /(?<![/])\$\{(?![A-Z_ /0-9]+\})[\w.]+\} (?:files|rows|sessions|images|tags|layers|directories|members|links|hosts|agents|folders)\b/
  const found = sources.flatMap(file =>
    readFileSync(`${import.meta.dirname}/${file}`, 'utf8')
      .split('\n')
      .filter(line => alone.test(line))
      .map(line => `${file}: ${line.trim()}`),
  )
  expect(found).toEqual([])
})
