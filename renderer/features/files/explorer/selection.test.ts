import { describe, expect, test } from 'vitest'
import {
  clear,
  moveFocus,
  NOTHING,
  selectAll,
  selectOnly,
  selectRange,
  subjectsOf,
  toggle,
  without,
  type Rows,
  type Selection,
} from './selection.ts'

const rowsOf = (...names: string[]): Rows => ({
  count: names.length,
  nameAt: index => names[index],
  indexOf: name => names.indexOf(name),
})
const rows = rowsOf('a', 'b', 'c', 'd', 'e')
const namesOf = (selection: Selection) => [...selection.names].toSorted().join('')

describe('selection', () => {
  test('Ctrl+click adds and removes', () => {
    const two = toggle(selectOnly('b'), 'd')
    expect(namesOf(two)).toBe('bd')
    expect(namesOf(toggle(two, 'b'))).toBe('d')
  })

  test('Shift+click selects from the anchor in both directions, and keeps the anchor', () => {
    const down = selectRange(selectOnly('b'), rows, 'd')
    expect(namesOf(down)).toBe('bcd')
    const up = selectRange(down, rows, 'a')
    expect(namesOf(up)).toBe('ab')
    expect(up.anchor).toBe('b')
  })

  test('Ctrl+Shift+click keeps the selection', () => {
    const first = toggle(selectOnly('a'), 'c')
    expect(namesOf(selectRange(first, rows, 'd', true))).toBe('acd')
  })

  test('Shift without an anchor in the list selects the file alone', () => {
    expect(namesOf(selectRange(selectOnly('gone'), rows, 'd'))).toBe('d')
  })

  test('arrow keys start at the ends and stop there', () => {
    expect(moveFocus(NOTHING, rows, 1, false).focus).toBe('a')
    expect(moveFocus(NOTHING, rows, -1, false).focus).toBe('e')
    expect(moveFocus(selectOnly('e'), rows, 1, false).focus).toBe('e')
    expect(moveFocus(selectOnly('c'), rows, -Infinity, false).focus).toBe('a')
    expect(moveFocus(selectOnly('c'), rows, Infinity, false).focus).toBe('e')
    expect(moveFocus(NOTHING, rowsOf(), 1, false)).toBe(NOTHING)
  })

  test('Shift+arrow grows and shrinks the range', () => {
    const grown = moveFocus(moveFocus(selectOnly('b'), rows, 1, true), rows, 1, true)
    expect(namesOf(grown)).toBe('bcd')
    expect(namesOf(moveFocus(grown, rows, -1, true))).toBe('bc')
  })

  test('Ctrl+A selects all loaded entries, and Escape keeps the focus', () => {
    const all = selectAll(selectOnly('c'), rows)
    expect(namesOf(all)).toBe('abcde')
    expect(clear(all)).toMatchObject({ focus: 'c' })
    expect(subjectsOf(clear(all))).toEqual(['c'])
    expect(subjectsOf(NOTHING)).toEqual([])
  })

  test('a refresh deselects deleted entries', () => {
    const kept = without(toggle(selectOnly('a'), 'b'), name => name === 'b')
    expect(namesOf(kept)).toBe('a')
    expect(kept.focus).toBeNull()
  })
})
