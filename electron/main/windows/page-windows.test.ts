import { expect, test } from 'vitest'
import { electron, StubContents, StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { guardContents } from '../security/guard-contents.ts'
import { type ConsoleWindows, createConsoleWindows } from './console-windows.ts'
import { createPageWindows } from './page-windows.ts'

test('a terminal opens in the size of the one that was closed last', () => {
  let kept: { width: number; height: number } | null = null
  const windows = createPageWindows({
    appearance: () => ({ title: 'Berth' }),
    remembered: () => kept,
    remember: size => void (kept = size),
    zoomLevel: () => 0,
  })
  expect(windows.options()).toEqual({ title: 'Berth', width: 960, height: 640 })
  const window = new StubWindow({ width: 1100, height: 700 })
  windows.opened(window)
  expect(kept).toBeNull()
  window.emit('close')
  const { width, height } = window.getNormalBounds()
  expect(windows.options()).toEqual({ title: 'Berth', width, height })
})

test('a terminal looks alike whoever opens it, and the menu zooms it alone', () => {
  const pageWindows = createPageWindows({
    appearance: () => ({ title: 'Berth' }),
    remembered: () => null,
    remember: () => undefined,
    zoomLevel: () => 0,
  })
  const preload = '/preload.cjs'
  const page = new StubContents()
  const links = { open: () => Promise.resolve() }
  guardContents(page, { links, preload, pageWindows, log: { warn: () => undefined } })
  const answer = page.openWindow('berth://console/#/terminal/1')
  const ofPage = answer?.action === 'allow' ? answer.overrideBrowserWindowOptions : undefined
  const windows = createConsoleWindows({
    electron,
    preload,
    pageWindows,
    appearance: () => ({ title: 'Berth' }),
    remembered: () => null,
    remember: () => undefined,
  })
  windows.open('/terminal/1')
  windows.show()
  const [ofTray, ofConsole] = StubWindow.all.slice(-2).map(({ options }) => options)
  expect(ofPage).toMatchObject({ title: 'Berth', width: 960, webPreferences: { zoomMode: 'isolated', sandbox: true } })
  expect(ofTray).toEqual(ofPage)
  expect(ofConsole?.webPreferences?.zoomMode).toBeUndefined()
})

test('a terminal begins with the zoom of the console, which may not be open', () => {
  const remembered = {
    current: { bounds: { x: 0, y: 0, width: 900, height: 640 }, isMaximized: false, zoomLevel: 0.5 },
  }
  const appearance = () => ({ title: 'Berth' })
  const windows: ConsoleWindows = createConsoleWindows({
    electron,
    preload: '/preload.cjs',
    pageWindows: createPageWindows({
      appearance,
      remembered: () => null,
      remember: () => undefined,
      zoomLevel: () => windows.zoomLevel(),
    }),
    appearance,
    remembered: () => remembered.current,
    remember: state => void (remembered.current = state),
  })
  const openTerminal = () => {
    windows.open('/terminal/1')
    const terminal = StubWindow.all.at(-1)!
    terminal.emit('ready-to-show')
    return terminal.webContents.getZoomLevel()
  }
  expect(openTerminal()).toBe(0.5)
  windows.show()
  const console_ = StubWindow.all.at(-1)!
  console_.emit('ready-to-show')
  console_.webContents.setZoomLevel(1.5)
  expect(openTerminal()).toBe(1.5)
})
