import { expect, test } from 'vitest'
import { table } from '../output.ts'
import { age, amounts, bytes } from './text.ts'

test('amounts have the units of users', () => {
  expect(amounts({ cpu: '1.5', mem: '4294967296', 'cuda.device': '1' })).toBe('1.5 CPU, 4 GiB RAM, 1 GPU')
  expect(amounts({})).toBe('–')
})

test('bytes and ages are short', () => {
  expect([0, 1023, 1536, 5 * 2 ** 30].map(bytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '5 GiB'])
  const now = Date.parse('2026-01-02T00:00:00Z')
  expect(['2026-01-01T23:59:30Z', '2026-01-01T20:59:00Z', '2025-12-30T00:00:00Z'].map(t => age(t, now))).toEqual([
    '30s',
    '3h',
    '3d',
  ])
})

test('a table aligns its columns', () => {
  expect(
    table(
      ['A', 'B'],
      [
        ['long', 'x'],
        ['s', 'y'],
      ],
    ),
  ).toBe('A     B\nlong  x\ns     y')
})
