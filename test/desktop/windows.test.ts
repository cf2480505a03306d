import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WM_CLASS } from '../../build/packages/desktop/system-files.ts'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { screen, signIn } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import {
  crashReportsOf,
  exitOf,
  openApp,
  openDesktop,
  readSettings,
  startPlainApp,
  windowsOn,
  type Desktop,
  type RunningApp,
} from './open-app.ts'
import { keepOpenedLinks, type OpenedLinks } from './opened-links.ts'

/** The desktop app in a real Electron with a double of the manager: windows, the bridge, links, questions, crashes. */
const run = promisify(execFile)
let desktop: Desktop
let double: ConsoleDouble
let app: RunningApp
let page: Page
let links: OpenedLinks

beforeAll(async () => {
  desktop = await openDesktop()
  double = await startConsoleDouble(aWorld({ signedIn: false }))
  links = await keepOpenedLinks()
  const env = { BERTH_ENDPOINT: double.url, PATH: links.PATH }
  app = await openApp(desktop, { env, settings: { crashReports: true } })
  page = app.page
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await links[Symbol.asyncDispose]()
  await double[Symbol.asyncDispose]()
  await desktop[Symbol.asyncDispose]()
})

/** Width and height of the icon of a window, as seen by window managers. */
async function iconSize(title: string): Promise<string | undefined> {
  const env = { ...process.env, ...desktop.env }
  const { stdout: ids } = await run('xdotool', ['search', '--onlyvisible', '--name', title], { env })
  const icon = ['-id', ids.split('\n')[0]!, '-notype', '-len', '16', '32c', '_NET_WM_ICON']
  const { stdout } = await run('xprop', icon, { env })
  return /= (.+)$/m.exec(stdout)?.[1]
}

/** Names of a window with which docks find its menu entry. */
async function classesOf(title: string): Promise<string | undefined> {
  const env = { ...process.env, ...desktop.env }
  const { stdout: ids } = await run('xdotool', ['search', '--onlyvisible', '--name', title], { env })
  const { stdout } = await run('xprop', ['-id', ids.split('\n')[0]!, '-notype', 'WM_CLASS'], { env })
  return /= (.+)$/m.exec(stdout)?.[1]
}

const inPage = (code: string) => app.inPage(code)

describe('the console window', () => {
  test('is on the screen with the sign-in page, which has neither Node nor Electron', async () => {
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
    await expect.poll(() => windowsOn(desktop)).toContainEqual(expect.stringContaining('Berth'))
    expect(await iconSize('Berth')).toBe('128, 128')
    expect(await classesOf('Berth')).toContain(`"${WM_CLASS}"`)
    expect(page.url()).toMatch(/^berth:\/\/console\//)
    expect(await page.evaluate(() => [typeof globalThis.process, typeof globalThis.require])).toEqual([
      'undefined',
      'undefined',
    ])
  })

  test('signs in without ever having the token, and shows the sessions with live events', async () => {
    const errors: string[] = []
    page.on('pageerror', error => errors.push(error.message))
    // A link that is followed before the sign-in leads to its session after the sign-in.
    const linked = double.world.sessions[0]!
    expect(await exitOf(startPlainApp(desktop, app.configDir, [`berth://open/sessions/${linked.id}`]))).toBe(0)
    await expect.poll(() => page.url()).toContain(linked.id)
    await page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
    await signIn(page, 'mira@example.com', 'Correct-horse-1')
    await expect.poll(() => page.url()).toMatch(new RegExp(`#/sessions/${linked.id}$`))
    await page.getByRole('heading', { name: linked.name }).waitFor()
    await page.locator('a[href="#/sessions"]').first().click()
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    await expect.poll(() => double.streams()).toBeGreaterThan(0)
    const stored = await page.evaluate(() => JSON.stringify([Object.entries(localStorage), document.cookie]))
    expect(stored).not.toContain('a-token')
    const first = double.world.sessions[0]!
    await page.getByText(first.name).first().waitFor()
    first.name = 'renamed-elsewhere'
    first.version += 1
    double.emit('hint', { topic: 'session', id: first.id, version: first.version })
    await page.getByText('renamed-elsewhere').first().waitFor()
    expect(errors).toEqual([])
  })

  test('has menus in the language of the page, and the context menu of text fields', async () => {
    const titles = () => app.electron.evaluate(({ Menu }) => Menu.getApplicationMenu()?.items.map(({ label }) => label))
    expect(await titles()).toEqual(['Berth', 'Edit', 'View', 'Window', 'Help'])
    await inPage(`host.desktop.language('ko')`)
    await expect.poll(titles).toEqual(['Berth', '편집', '보기', '창', '도움말'])
    await inPage(`host.desktop.language('en')`)
    await expect.poll(titles).toContain('Help')
    await app.electron.evaluate(({ Menu, shell }) => {
      const popups: string[][] = []
      Object.assign(globalThis, { popups })
      Menu.prototype.popup = function popup() {
        popups.push(this.items.map(({ label }) => label))
      }
      shell.openPath = path => {
        popups.push([path])
        return Promise.resolve('')
      }
    })
    const popups = () => app.electron.evaluate(() => (globalThis as never as { popups: string[][] }).popups)
    await page.getByRole('heading', { name: 'Sessions', level: 1 }).click({ button: 'right' })
    await page.evaluate(() => {
      const field = document.createElement('input')
      field.id = 'field'
      field.style.cssText = 'position: fixed; top: 0; left: 50%; z-index: 9999'
      document.body.append(field)
    })
    await page.locator('#field').click({ button: 'right' })
    await page.evaluate(() => document.querySelector('#field')?.remove())
    await expect.poll(popups).toEqual([['Cut', 'Copy', 'Paste', '', 'Select All']])
    await app.electron.evaluate(({ Menu }) => {
      const help = Menu.getApplicationMenu()?.items.find(({ role }) => role === 'help')
      help?.submenu?.items.find(({ label }) => label === 'Show Logs')?.click()
    })
    await expect.poll(async () => (await popups()).at(-1)).toEqual([join(app.configDir, 'logs')])
    expect(await readFile(join(app.configDir, 'logs/desktop.log'), 'utf8')).not.toBe('')
  })

  test('refuses every other page, and offers no permission but writing the clipboard', async () => {
    await inPage(`location.href = 'https://evil.example/'`)
    expect(await inPage(`document.querySelector('h1').textContent`)).toBe('Sessions')
    expect(await inPage('location.href')).toMatch(/^berth:\/\/console\//)
    // Answers of the server are of the page's origin. A hostile server would answer with a page of its own, which had the bridge.
    const windows = () => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)
    await inPage(`void window.open('/api/v1/auth/options')`)
    await inPage(`location.href = '/api/v1/auth/options'`)
    expect(await inPage('location.href')).not.toContain('/api/')
    expect(await windows()).toBe(1)
    const states = await inPage(`Promise.all(
      ['camera', 'microphone', 'geolocation', 'notifications', 'clipboard-read', 'clipboard-write']
        .map(name => navigator.permissions.query({ name }).then(({ state }) => state)))`)
    expect(states).toEqual(['denied', 'denied', 'denied', 'denied', 'denied', 'granted'])
  })

  test('has the preferences of security in every window, and neither frames nor webviews get anywhere', async () => {
    const opened = app.electron.waitForEvent('window')
    await inPage(`void window.open('berth://console/#/terminal/${double.world.sessions[0]!.id}')`)
    const terminal = await opened
    const preferences = await app.electron.evaluate(({ webContents }) =>
      webContents.getAllWebContents().map(contents => {
        const { sandbox, contextIsolation, nodeIntegration, webviewTag, webSecurity, ...others } = (
          contents as never as { getLastWebPreferences(): Electron.WebPreferences }
        ).getLastWebPreferences()
        const { allowRunningInsecureContent, experimentalFeatures = false, enableBlinkFeatures = '' } = others
        return {
          sandbox,
          contextIsolation,
          nodeIntegration,
          webviewTag,
          webSecurity,
          allowRunningInsecureContent,
          experimentalFeatures,
          enableBlinkFeatures,
        }
      }),
    )
    const secure = {
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webviewTag: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      enableBlinkFeatures: '',
    }
    expect(preferences).toEqual([secure, secure])
    await terminal.close()
    const contents = () => app.electron.evaluate(({ webContents }) => webContents.getAllWebContents().length)
    await expect.poll(contents).toBe(1)
    await inPage(`for (const [tag, src] of [['webview', 'https://evil.example/'], ['iframe', '${double.url}']])
      document.body.append(Object.assign(document.createElement(tag), { src, id: 'strange' }))`)
    const frames = await app.electron.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().flatMap(one => {
        try {
          return one.webContents.mainFrame.framesInSubtree.map(({ url }) => url)
        } catch {
          // A frame whose page was refused is gone.
          return []
        }
      }),
    )
    expect(frames.filter(url => /evil|127\.0\.0\.1/.test(url))).toEqual([])
    expect(await contents()).toBe(1)
    await inPage(`document.querySelectorAll('#strange').forEach(one => one.remove())`)
  })

  test('a page that crashes is loaded again', async () => {
    const state = () =>
      app.electron.evaluate(({ BrowserWindow }) => {
        const contents = BrowserWindow.getAllWindows()[0]!.webContents
        return { pid: contents.getOSProcessId(), isCrashed: contents.isCrashed(), isLoading: contents.isLoading() }
      })
    const before = await state()
    await app.electron.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows()[0]?.webContents.forcefullyCrashRenderer(),
    )
    await expect.poll(async () => (await state()).pid).not.toBe(before.pid)
    await expect.poll(state).toMatchObject({ isCrashed: false, isLoading: false })
    const heading = `document.querySelector('h1')?.textContent`
    await expect.poll(() => inPage(heading)).toBe('Sessions')
    await expect.poll(() => crashReportsOf(app)).not.toEqual([])
    // Nobody has clicked in the new page yet, so a script in it cannot reach other programs of this computer.
    const click = { code: 'forbidden', message: expect.stringContaining('click') as string }
    const elsewhere = 'https://elsewhere.example'
    for (const act of [
      `ssh.openIn('terminal', '${double.world.sessions[0]!.id}')`,
      `drag.start('any')`,
      `host.setEndpoint({ kind: 'remote', url: '${elsewhere}' })`,
      `desktop.openServer('${elsewhere}')`,
      `desktop.forgetServer('${elsewhere}')`,
    ])
      expect(await inPage(`host.${act}`)).toMatchObject({ ok: false, error: click })
  })
})

describe('beside the window', () => {
  test('when the graphics process has crashed three times, the app offers to do without the graphics processor', async () => {
    const graphicsProcess = () =>
      app.electron.evaluate(({ app: main }) => main.getAppMetrics().find(({ type }) => type === 'GPU')?.pid ?? 0)
    const before = (await app.questions()).length
    await app.answer(0)
    for (let crash = 1; crash <= 3; crash++) {
      await expect.poll(graphicsProcess).toBeGreaterThan(0)
      const pid = await graphicsProcess()
      process.kill(pid, 'SIGSEGV')
      await expect.poll(graphicsProcess).not.toBe(pid)
    }
    await expect.poll(async () => (await app.questions()).length).toBe(before + 1)
    expect((await app.questions()).at(-1)).toMatchObject({
      message: 'The graphics process of Berth has crashed several times.',
      buttons: ['Start without acceleration', 'Cancel'],
    })
    await expect.poll(() => readSettings(app.configDir)).toMatchObject({ graphicsAcceleration: false })
    // The window continues, drawn by the processor.
    expect(await inPage(`document.querySelector('h1')?.textContent`)).toBe('Sessions')
  })
})

describe('links and second starts', () => {
  test('a deep link given to a second start moves the first window, and the second start ends', async () => {
    const { id } = double.world.sessions[0]!
    const second = startPlainApp(desktop, app.configDir, [`berth://open/sessions/${id}`])
    expect(await exitOf(second)).toBe(0)
    await expect
      .poll(() =>
        app.electron.evaluate(({ BrowserWindow }) =>
          BrowserWindow.getAllWindows().map(one => one.webContents.getURL()),
        ),
      )
      .toEqual([expect.stringContaining(`/sessions/${id}`)])
  })

  test('a second start without a link shows a window that was minimized', async () => {
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.minimize())
    await expect
      .poll(() => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isMinimized()))
      .toBe(true)
    expect(await exitOf(startPlainApp(desktop, app.configDir))).toBe(0)
    await expect
      .poll(() => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isMinimized()))
      .toBe(false)
  })
})

test('a second server has an app of its own beside the first one, with its own sign-in', async () => {
  const token = 'token-of-the-other'
  await using other = await startConsoleDouble(aWorld({ signedIn: false, token }))
  const profile = join(app.configDir, 'profiles/other')
  await mkdir(profile, { recursive: true })
  await writeFile(join(profile, 'desktop.json'), JSON.stringify({ endpoint: { kind: 'remote', url: other.url } }))
  await using second = await openApp(desktop, { configDir: app.configDir, args: ['--profile=other'] })
  await second.page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
  await signIn(second.page, 'mira@example.com', 'Correct-horse-1')
  await second.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  expect(other.tokens()).toEqual([token])
  expect(double.tokens()).toEqual(['a-token'])
  expect(await inPage(`fetch('/api/v1/me').then(({ status }) => status)`)).toBe(200)
})

describe('a link in a terminal', () => {
  test('opens in the browser of the system only after a question with its host', async () => {
    const { id } = double.world.sessions.find(({ status }) => status === 'RUNNING')!
    // The double has no terminals: the main process answers instead, with a line of some program.
    await app.electron.evaluate(({ ipcMain }) => {
      ipcMain.removeHandler('host:terminal.open')
      ipcMain.handle('host:terminal.open', event => {
        const data = new TextEncoder().encode('https://docs.example.com/read\r\n')
        setTimeout(() => event.sender.send('host:event', 'terminal:data', { id: 'one', data }), 100)
        return { ok: true, value: 'one' }
      })
    })
    const opened = app.electron.waitForEvent('window')
    await inPage(`void window.open('berth://console/#/terminal/${id}')`)
    const terminal = await opened
    await screen(terminal).filter({ hasText: 'docs.example.com' }).waitFor()
    const click = async () => {
      const box = (await terminal.locator('.xterm-screen').boundingBox())!
      await terminal.mouse.move(box.x + 60, box.y + 30)
      await terminal.mouse.move(box.x + 40, box.y + 8)
      await terminal.locator('.xterm-cursor-pointer').waitFor()
      await terminal.mouse.down()
      await terminal.mouse.up()
    }
    const before = (await app.questions()).length
    const asked = async () => (await app.questions()).slice(before)
    await app.answer(2)
    await click()
    await expect.poll(asked).toHaveLength(1)
    expect(await asked()).toEqual([
      expect.objectContaining({
        message: 'Open docs.example.com in the browser?',
        detail: expect.stringContaining('https://docs.example.com/read') as string,
        checkboxLabel: 'Do not ask again for docs.example.com',
      }),
    ])
    expect(await links.all()).toEqual([])
    await app.answer(0)
    await click()
    await expect.poll(() => links.all()).toEqual(['https://docs.example.com/read'])
    expect(await asked()).toHaveLength(2)
    // The two other ways out of the page: a new window asks the same, a link of Berth itself needs no question.
    await inPage(`void window.open('https://files.example.com/')`)
    await expect.poll(() => links.all()).toContain('https://files.example.com/')
    expect((await app.questions()).at(-1)?.message).toBe('Open files.example.com in the browser?')
    await inPage(`host.host.openExternal('http://127.0.0.1:43001/lab', 'berth')`)
    await expect.poll(() => links.all()).toContain('http://127.0.0.1:43001/lab')
    expect(await asked()).toHaveLength(3)
    await terminal.close()
    await expect.poll(() => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
  })
})

describe('the end', () => {
  test('a terminal window outlives the console, and the app ends with its last window', async () => {
    const session = double.world.sessions.find(({ status }) => status === 'RUNNING')!
    const opened = app.electron.waitForEvent('window')
    await app.electron.evaluate(
      ({ BrowserWindow }, route) =>
        BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(`void window.open(${JSON.stringify(route)})`),
      `berth://console/#/terminal/${session.id}`,
    )
    const terminal = await opened
    await terminal.waitForLoadState()
    const windows = () =>
      app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().map(({ id }) => id))
    expect(await windows()).toHaveLength(2)
    await app.electron.evaluate(({ BrowserWindow }) => {
      const console_ = BrowserWindow.getAllWindows().find(one => !one.webContents.getURL().includes('/terminal/'))
      console_?.setBounds({ x: 60, y: 70, width: 900, height: 640 })
      console_?.webContents.setZoomLevel(0.5)
      console_?.close()
    })
    await expect.poll(windows).toHaveLength(1)
    expect(terminal.isClosed()).toBe(false)
    await terminal.close()
    expect(await app.ended).toBe(0)
    expect(await readSettings(app.configDir)).toMatchObject({
      window: { bounds: { width: 900, height: 640 }, zoomLevel: 0.5, isMaximized: false },
    })
  })
})
