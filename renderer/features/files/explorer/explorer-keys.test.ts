import { describe, expect, test } from 'vitest'
import { commandOf } from './explorer-keys.ts'

const press = (key: string, held: Partial<Record<'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey', boolean>> = {}) =>
  commandOf({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...held }, 20)

describe('keys in the list of files', () => {
  test('arrow keys move the focus, with Shift the range', () => {
    expect(press('ArrowDown')).toEqual({ do: 'move', step: 1, extend: false })
    expect(press('End', { shiftKey: true })).toEqual({ do: 'move', step: Infinity, extend: true })
    expect(press('PageUp')).toEqual({ do: 'move', step: -20, extend: false })
  })

  test('keys for files start their actions', () => {
    expect([press('Enter'), press('F2'), press('Delete'), press(' '), press('Backspace')]).toEqual(
      ['open', 'rename', 'delete', 'preview', 'up'].map(action => ({ do: action })),
    )
    expect([press('A', { ctrlKey: true }), press('v', { metaKey: true })]).toEqual([{ do: 'all' }, { do: 'paste' }])
  })

  test('keys of the browser are left alone', () => {
    expect([press('r', { ctrlKey: true }), press('ArrowLeft', { altKey: true }), press('F5'), press('x')]).toEqual(
      Array.from({ length: 4 }, () => undefined),
    )
  })
})
