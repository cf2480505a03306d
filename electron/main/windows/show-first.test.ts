import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { showFirst } from './show-first.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Events of a new, hidden window as they were recorded, with the milliseconds between them. */
const RECORDED = {
  X11: ['dom-ready', 40, 'ready-to-show', 25, 'did-finish-load'],
  'X11, a slow page': ['ready-to-show', 900, 'dom-ready', 30, 'did-finish-load'],
  'Wayland, where nothing is painted while the window is hidden': ['dom-ready', 30, 'did-finish-load'],
  'Wayland, with a late frame': ['dom-ready', 30, 'did-finish-load', 500, 'ready-to-show'],
  'a page that cannot be loaded': ['did-fail-load'],
} as const

function play(events: readonly (string | number)[], window: StubWindow): void {
  for (const event of events) {
    if (typeof event === 'number') vi.advanceTimersByTime(event)
    else if (event === 'ready-to-show') window.emit(event)
    else window.webContents.emit(event)
  }
}

test.each(Object.entries(RECORDED))('a window is shown once, and soon: %s', (_name, events) => {
  const window = new StubWindow({})
  const show = vi.spyOn(window, 'show')
  showFirst(window)
  expect(show).not.toHaveBeenCalled()
  play(events, window)
  vi.advanceTimersByTime(1_000)
  expect(show).toHaveBeenCalledOnce()
})

test('the first frame is waited for where it comes, and not long where it does not', () => {
  const painted = new StubWindow({})
  showFirst(painted)
  painted.webContents.emit('did-finish-load')
  expect(painted.visible).toBe(false)
  painted.emit('ready-to-show')
  expect(painted.visible).toBe(true)
  const hidden = new StubWindow({})
  showFirst(hidden)
  hidden.webContents.emit('did-finish-load')
  vi.advanceTimersByTime(500)
  expect(hidden.visible).toBe(true)
})

test('a window that was closed or hidden in the meantime does not come back', () => {
  const closed = new StubWindow({})
  showFirst(closed)
  closed.webContents.emit('did-finish-load')
  closed.destroy()
  vi.advanceTimersByTime(1_000)
  expect(closed.visible).toBe(false)
  const background = new StubWindow({})
  showFirst(background)
  background.emit('ready-to-show')
  background.hide()
  background.webContents.emit('did-finish-load')
  vi.advanceTimersByTime(1_000)
  expect(background.visible).toBe(false)
})
