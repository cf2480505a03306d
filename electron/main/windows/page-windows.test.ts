import { expect, test } from 'vitest'
import { StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { createPageWindows } from './page-windows.ts'

test('a terminal opens in the size of the one that was closed last', () => {
  let kept: { width: number; height: number } | null = null
  const windows = createPageWindows({
    appearance: () => ({ title: 'Berth' }),
    remembered: () => kept,
    remember: size => void (kept = size),
  })
  expect(windows.options()).toEqual({ title: 'Berth', width: 960, height: 640 })
  const window = new StubWindow({ width: 1100, height: 700 })
  windows.opened(window)
  expect(kept).toBeNull()
  window.emit('close')
  const { width, height } = window.getNormalBounds()
  expect(windows.options()).toEqual({ title: 'Berth', width, height })
})
