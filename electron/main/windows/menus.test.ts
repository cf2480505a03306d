import { expect, test } from 'vitest'
import { electron } from '../../../test/fixtures/electron-stub.ts'
import { menuTemplate } from './menus.ts'

/** Roles and labels of the first menu. */
function firstMenu(platform: NodeJS.Platform) {
  const nothing = () => undefined
  const [menu] = menuTemplate({
    electron,
    platform,
    language: 'en',
    showConsole: nothing,
    showLogs: nothing,
    canChangeServer: true,
    checkUpdates: undefined,
  })
  const items = menu?.submenu as { readonly type?: string; readonly role?: string; readonly label?: string }[]
  return items.filter(({ type }) => type !== 'separator').map(({ role, label }) => role ?? label)
}

test('the menu of the app has on macOS what every app there has', () => {
  expect(firstMenu('darwin')).toEqual([
    'about',
    'Sessions',
    'Data & Storage',
    'Tunnels',
    'Preferences…',
    'Change Server…',
    'services',
    'hide',
    'hideOthers',
    'unhide',
    'Quit Berth',
  ])
})

test('elsewhere the menu has none of it', () => {
  expect(firstMenu('linux')).toEqual([
    'Sessions',
    'Data & Storage',
    'Tunnels',
    'Preferences…',
    'Change Server…',
    'Quit Berth',
  ])
})
