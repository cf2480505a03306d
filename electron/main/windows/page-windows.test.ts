import { expect, test } from 'vitest'
import { StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { createPageWindows } from './page-windows.ts'

test('a terminal opens in the size of the one that was closed last', () => {
  let kept: { width: number; height: number } | null = null
  const windows = createPageWindows({ remembered: () => kept, remember: size => void (kept = size) })
  expect(windows.size()).toEqual({ width: 960, height: 640 })
  const window = new StubWindow({ width: 1100, height: 700 })
  windows.follow(window)
  expect(kept).toBeNull()
  window.emit('close')
  expect(windows.size()).toEqual({ width: window.getNormalBounds().width, height: window.getNormalBounds().height })
  expect(Object.keys(windows.size())).toEqual(['width', 'height'])
})
