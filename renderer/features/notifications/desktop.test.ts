// @vitest-environment happy-dom
import { beforeEach, expect, test, vi } from 'vitest'
import { desktopNotices } from './desktop.ts'
import { watchFront, type FrontWatch } from './in-front.ts'

/** The notifications of a browser whose user answers the question for the permission in this way. */
function aBrowser(permission: NotificationPermission, answer: NotificationPermission = 'granted') {
  const shown: { title: string; body: string; tag: string; onclick?: () => void; isClosed?: boolean }[] = []
  class Shown {
    static permission = permission
    static requestPermission = vi.fn(() => Promise.resolve((Shown.permission = answer)))
    readonly entry
    constructor(title: string, { body, tag }: { body: string; tag: string }) {
      this.entry = { title, body, tag } as (typeof shown)[number]
      shown.push(this.entry)
    }
    set onclick(run: () => void) {
      this.entry.onclick = run
    }
    close() {
      this.entry.isClosed = true
    }
  }
  vi.stubGlobal('Notification', Shown)
  return { shown, asked: Shown.requestPermission }
}
const behind = () => Promise.resolve(false)

beforeEach(() => {
  localStorage.clear()
  location.hash = ''
  return () => vi.unstubAllGlobals()
})

test('a browser notifies only once it is switched on, which asks for the permission', async () => {
  const { shown, asked } = aBrowser('default')
  const desktop = desktopNotices(undefined, behind)
  expect(desktop.state()).toBe('off')
  await desktop.show('a', 'Running', '/sessions/a')
  expect(shown).toEqual([])
  expect(await desktop.set(true)).toBe('on')
  expect(asked).toHaveBeenCalledOnce()
  await desktop.show('a', 'Running', '/sessions/a')
  expect(shown).toMatchObject([{ title: 'Berth', body: 'Running', tag: 'a' }])
  expect(await desktop.set(false)).toBe('off')
  await desktop.show('b', 'Ended', '/sessions/b')
  expect(shown).toHaveLength(1)
})

test('a click on a notification leads to its page and closes it', async () => {
  const { shown } = aBrowser('granted')
  const focus = vi.spyOn(window, 'focus').mockImplementation(() => undefined)
  const desktop = desktopNotices(undefined, behind)
  await desktop.set(true)
  await desktop.show('a', 'Running', '/sessions/a')
  shown[0]?.onclick?.()
  expect(location.hash).toBe('#/sessions/a')
  expect(focus).toHaveBeenCalledOnce()
  expect(shown[0]?.isClosed).toBe(true)
})

test('a browser that was told never to ask says so, and one without notifications too', async () => {
  const { shown, asked } = aBrowser('default', 'denied')
  const desktop = desktopNotices(undefined, behind)
  expect(await desktop.set(true)).toBe('denied')
  await desktop.show('a', 'Running', '/sessions/a')
  expect(await desktop.set(true)).toBe('denied')
  expect(asked).toHaveBeenCalledOnce()
  expect(shown).toEqual([])
  vi.unstubAllGlobals()
  vi.stubGlobal('Notification', undefined)
  Reflect.deleteProperty(globalThis, 'Notification')
  expect(desktop.state()).toBe('missing')
})

test('the desktop app shows a few lines, until it is switched off', async () => {
  const notify = vi.fn(() => Promise.resolve())
  const desktop = desktopNotices(notify, behind)
  expect(desktop.state()).toBe('on')
  await desktop.show('a', 'x'.repeat(2_000), '/summary')
  expect(notify).toHaveBeenCalledExactlyOnceWith({ text: 'x'.repeat(500), to: '/summary' })
  await desktop.set(false)
  await desktop.show('b', 'y', '/summary')
  expect(notify).toHaveBeenCalledOnce()
})

test('a tab in the background notifies only while the person looks at no tab of the console', async () => {
  const { shown } = aBrowser('granted')
  let looksAtOther = true
  const name = `front-${crypto.randomUUID()}`
  const tabs: FrontWatch[] = [watchFront(() => false, name), watchFront(() => looksAtOther, name)]
  const desktop = desktopNotices(undefined, () => tabs[0]!.isInFront())
  await desktop.set(true)
  await desktop.show('a', 'Running', '/sessions/a')
  expect(shown).toEqual([])
  looksAtOther = false
  await desktop.show('b', 'Ended', '/sessions/b')
  expect(shown).toMatchObject([{ body: 'Ended' }])
  for (const tab of tabs) tab.close()
})
