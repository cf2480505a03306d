import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { createLoginItem, desktopEntry } from './login-item.ts'

const app = { getLoginItemSettings: vi.fn(() => ({ openAtLogin: true })), setLoginItemSettings: vi.fn() }
type App = Parameters<typeof createLoginItem>[0]['app']

test('on Linux an autostart file starts the app in the background, until it is switched off', async () => {
  const configHome = await mkdtemp(path.join(tmpdir(), 'berth-test-autostart-'))
  const command = ['/opt/Berth app/berth']
  const item = createLoginItem({ app: app as unknown as App, platform: 'linux', command, configHome, name: 'berth' })
  expect(await item.isOn()).toBe(false)
  await item.set(true)
  expect(await item.isOn()).toBe(true)
  const file = path.join(configHome, 'autostart/berth.desktop')
  expect(await readFile(file, 'utf8')).toContain('\nExec="/opt/Berth app/berth" "--background"\n')
  await item.set(false)
  expect(await item.isOn()).toBe(false)
  await rm(configHome, { recursive: true })
  expect(app.setLoginItemSettings).not.toHaveBeenCalled()
})

test('on Windows and macOS the operating system keeps it', async () => {
  const command = ['C:\\Berth\\Berth.exe']
  const item = createLoginItem({
    app: app as unknown as App,
    platform: 'win32',
    command,
    configHome: '',
    name: 'berth',
  })
  expect(await item.isOn()).toBe(true)
  await item.set(true)
  expect(app.setLoginItemSettings).toHaveBeenCalledWith({
    openAtLogin: true,
    path: 'C:\\Berth\\Berth.exe',
    args: ['--background'],
  })
})

test.each([
  ['a path with spaces', '"/a b"'],
  ['$HOME `id`', '"\\\\$HOME \\\\`id\\\\`"'],
  ['100%', '"100%%"'],
])('the autostart file quotes %s', (text, quoted) => {
  const command = text === 'a path with spaces' ? '/a b' : text
  expect(desktopEntry([command])).toContain(`\nExec=${quoted}\n`)
})
