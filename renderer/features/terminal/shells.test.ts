import { expect, test } from 'vitest'
import { nextShell, parseShells } from './shells.ts'

test('a new shell gets the smallest free number', () => {
  expect(nextShell(['main'])).toBe('shell-2')
  expect(nextShell(['main', 'shell-2', 'shell-4'])).toBe('shell-3')
})

test('remembered shells are read back, and nonsense becomes the first shell', () => {
  expect(parseShells('main,shell-2')).toEqual(['main', 'shell-2'])
  expect(parseShells('main,main,../../x,A')).toEqual(['main'])
  expect(parseShells('')).toEqual(['main'])
  expect(parseShells(null)).toEqual(['main'])
})
