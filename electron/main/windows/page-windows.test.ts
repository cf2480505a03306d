import { expect, test } from 'vitest'
import { electron, StubContents, StubWindow } from '../../../test/fixtures/electron-stub.ts'
import { guardContents } from '../security/guard-contents.ts'
import { createConsoleWindows } from './console-windows.ts'
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

test('a terminal looks alike whoever opens it, and the menu zooms it alone', () => {
  const pageWindows = createPageWindows({
    appearance: () => ({ title: 'Berth' }),
    remembered: () => null,
    remember: () => undefined,
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
