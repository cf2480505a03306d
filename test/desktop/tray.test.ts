import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { aWorld, OWNER } from '../e2e/console-world.ts'
import { exitOf, openApp, openDesktop, startPlainApp, type Desktop, type RunningApp } from './open-app.ts'
import { type TrayMenu, watchTray } from './tray-menu.ts'

/**
 * Tests of the app's functions outside its windows (tray, badge, notifications, start, spelling), in a real Electron that a link signs in.
 */
const stack = new AsyncDisposableStack()
let desktop: Desktop
let first: ConsoleDouble
let double: ConsoleDouble
let app: RunningApp
let tray: TrayMenu

interface Seen {
  readonly badges: number[]
  readonly progress: number[]
  readonly notices: string[]
}

beforeAll(async () => {
  desktop = stack.use(await openDesktop())
  first = stack.use(await startConsoleDouble(aWorld({ signedIn: false })))
  double = stack.use(await startConsoleDouble(aWorld({ signedIn: false })))
  app = stack.use(await openApp(desktop, { env: { BERTH_SIGN_IN_LINK: `${first.url}/#/sign-in?ticket=once` } }))
  tray = await watchTray(app.electron)
})
afterAll(() => stack.disposeAsync())

const inPage = (code: string) => app.inPage(code)

test('a sign-in link of a start from the command line is used, also by an app that runs, and another server can be chosen', async () => {
  await app.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  const places = () =>
    app.electron.evaluate(({ Menu }) => Menu.getApplicationMenu()?.items[0]?.submenu?.items.map(({ label }) => label))
  expect(await places()).toContain('Change Server…')
  const link = `${double.url}/#/sign-in?ticket=again`
  const second = startPlainApp(desktop, app.configDir, [], { BERTH_SIGN_IN_LINK: link })
  expect(await exitOf(second)).toBe(0)
  const endpoint = () => app.page.evaluate('host.host.endpoint()')
  await expect.poll(endpoint).toMatchObject({ value: { kind: 'remote', url: double.url } })
  await app.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  // A link is only for this run: no choice is stored for later starts.
  expect(await readFile(join(app.configDir, 'desktop.json'), 'utf8').catch(() => '')).not.toContain(first.url)
})

/** Calls that the app made to the operating system. */
const seen = () => app.electron.evaluate(() => (globalThis as never as { seen: Seen }).seen)

test('tray, badge and notifications follow the sessions, and a click on a notification leads to its session', async () => {
  await app.electron.evaluate(({ app: main, BrowserWindow, Notification }) => {
    const kept: Seen = { badges: [], progress: [], notices: [] }
    Object.assign(globalThis, { seen: kept })
    main.setBadgeCount = count => kept.badges.push(count ?? 0) > 0
    BrowserWindow.prototype.setProgressBar = fraction => void kept.progress.push(fraction)
    Notification.prototype.show = function show() {
      kept.notices.push(this.body)
      Object.assign(globalThis, { notice: this })
    }
    BrowserWindow.getAllWindows()[0]?.minimize()
  })
  // Playwright makes every page believe that it has the focus.
  await inPage(`void (document.hasFocus = () => false)`)
  const session = double.world.sessions.find(({ status, ownerId }) => status === 'RUNNING' && ownerId === OWNER)!
  Object.assign(session, {
    status: 'TERMINATED',
    reason: { code: 'exited', message: '' },
    endedAt: new Date().toISOString(),
    version: session.version + 1,
  })
  double.emit('hint', { topic: 'session', id: session.id, version: session.version })
  await expect.poll(async () => (await seen()).notices).toEqual([expect.stringContaining(session.name)])
  await expect.poll(async () => (await seen()).badges.length).toBe(1)
  const others = double.world.sessions.filter(({ status, ownerId }) => status === 'RUNNING' && ownerId === OWNER)
  const running = others.length === 0 ? [] : ['Running Sessions', ...others.map(({ name }) => name)]
  await expect.poll(() => tray.labels()).toEqual(['Open Berth', ...running, 'Stop and quit'])
  await app.electron.evaluate(() => (globalThis as never as { notice: NodeJS.EventEmitter }).notice.emit('click'))
  await expect.poll(() => inPage('location.hash')).toBe(`#/sessions/${session.id}`)
  await expect
    .poll(() => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isMinimized()))
    .toBe(false)
  await app.electron.evaluate(({ ipcMain }) => {
    ipcMain.removeHandler('host:tunnel.wake')
    ipcMain.handle('host:tunnel.wake', () => {
      Object.assign(globalThis, { isWoken: true })
      return { ok: true }
    })
  })
  await inPage(`void dispatchEvent(new Event('online'))`)
  await expect
    .poll(() => app.electron.evaluate(() => (globalThis as never as { isWoken?: boolean }).isWoken))
    .toBe(true)
  await inPage(
    `host.desktop.report({ unread: 0, sessions: [], uploads: { fraction: 0.5, isPaused: false }, hasEdits: false })`,
  )
  await inPage(`host.desktop.report({ unread: 0, sessions: [], uploads: null, hasEdits: false })`)
  expect((await seen()).progress.slice(-2)).toEqual([0.5, -1])
  expect(await tray.labels()).toEqual(['Open Berth', 'Stop and quit'])
})

test('the tray shows the window, opens a session and its terminal', async () => {
  const { id, name } = double.world.sessions.find(({ status }) => status === 'RUNNING')!
  await inPage(
    `host.desktop.report({ unread: 0, sessions: ${JSON.stringify([{ id, name }])}, uploads: null, hasEdits: false })`,
  )
  const isVisible = () =>
    app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().map(one => one.isVisible()))
  for (const labels of [[], ['Open Berth']]) {
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.hide())
    await expect.poll(isVisible).toEqual([false])
    await tray.click(...labels)
    await expect.poll(isVisible).toEqual([true])
  }
  await tray.click(name, 'Open')
  await expect.poll(() => inPage('location.hash')).toBe(`#/sessions/${id}`)
  const opened = app.electron.waitForEvent('window')
  await tray.click(name, 'Terminal')
  const terminal = await opened
  expect(terminal.url()).toContain(`#/terminal/${id}`)
  await terminal.close()
  await expect.poll(isVisible).toEqual([true])
})

test('preferences switch the start with the sign-in to this computer on and off', async () => {
  await inPage(`location.hash = '#/preferences'`)
  const file = join(app.configDir, '.config/autostart/berth.desktop')
  const choose = () =>
    inPage(`new Promise(done => {
      const look = () => [...document.querySelectorAll('label')].find(one => one.textContent.startsWith('Start Berth in the background'))
      const timer = setInterval(() => look() && (clearInterval(timer), look().click(), done(true)), 50)
    })`)
  await choose()
  await expect.poll(() => readFile(file, 'utf8').catch(() => '')).toContain('"--background"')
  await choose()
  await expect.poll(() => readFile(file, 'utf8').catch(() => 'gone')).toBe('gone')
})

test('the check of the spelling, which downloads a dictionary, is off until it is switched on', async () => {
  const isOn = () => app.electron.evaluate(({ session }) => session.defaultSession.isSpellCheckerEnabled())
  const choose = (checkSpelling: boolean) =>
    inPage(
      `host.desktop.saveOptions({ openAtLogin: false, keepInBackground: false, checkSpelling: ${checkSpelling}, graphicsAcceleration: true, crashReports: false, linkHosts: [], caFile: null })`,
    )
  expect(await isOn()).toBe(false)
  await choose(true)
  expect(await isOn()).toBe(true)
  await choose(false)
  expect(await isOn()).toBe(false)
})
