import { expect, test } from 'vitest'
import { ariaSort, readSort, textOf, writeSort } from './list-sort.ts'

const KEYS = ['name', 'size'] as const

test('an order is read as it was written, and what is none of the columns is no order', () => {
  for (const key of KEYS)
    for (const descending of [false, true])
      expect(readSort(writeSort({ key, descending }), KEYS)).toEqual({ key, descending })
  for (const text of ['', '-', '--name', 'Name', 'owner']) expect(readSort(text, KEYS)).toBeUndefined()
})

test('the head of the column that a list is ordered by says so', () => {
  expect(ariaSort({ key: 'size', descending: true }, 'size')).toBe('descending')
  expect(ariaSort({ key: 'size', descending: false }, 'size')).toBe('ascending')
  expect(ariaSort({ key: 'size', descending: false }, 'name')).toBeUndefined()
  expect(ariaSort({ key: 'size', descending: false }, undefined)).toBeUndefined()
})

test('a key that is missing, or comes twice, has no text', () => {
  expect([textOf('a'), textOf(undefined), textOf(null), textOf(['a', 'b'])]).toEqual(['a', '', '', ''])
})
