/**
 * Makes the pictures of the desktop app in the guide's pages.md: windows of a real Electron with their frames, with made-up data.
 * `npm run build`, then `node test/desktop/guide-windows.ts [--all]`, as test/e2e/guide-pages.ts. Korean needs a font with Hangul.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type ElectronApplication } from 'playwright-core'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { aWorld } from '../e2e/console-world.ts'
import { type Look, pictureFile, readOrder } from '../e2e/guide-pictures.ts'
import { launchBrowser, withoutGutter } from '../fixtures/browser.ts'
import { openApp, openDesktop, type RunningApp } from './open-app.ts'

const { looks, folder } = readOrder(process.argv.slice(2))
const QUALITY = 82
/** Position of the window with its frame on the screen. */
const FRAME = { x: 34, y: 54, width: 1294, height: 798 }
/** Text in the terminal. */
const SHELL = [
  '\x1b[1;32mwork@train-resnet-50\x1b[0m:\x1b[1;34m~\x1b[0m$ nvidia-smi --query-gpu=index,name,utilization.gpu,memory.used --format=csv',
  'index, name, utilization.gpu [%], memory.used [MiB]',
  '0, NVIDIA H100 80GB HBM3, 95 %, 41312 MiB',
  '1, NVIDIA H100 80GB HBM3, 93 %, 41280 MiB',
  '\x1b[1;32mwork@train-resnet-50\x1b[0m:\x1b[1;34m~\x1b[0m$ tail -n 3 train.log',
  'epoch 11  step 4800/5004  loss 1.4127  lr 0.0914  2841 images/s',
  'epoch 11  step 5000/5004  loss 1.4093  lr 0.0914  2838 images/s',
  'epoch 12  step  200/5004  loss 1.3986  lr 0.0902  2846 images/s',
  '\x1b[1;32mwork@train-resnet-50\x1b[0m:\x1b[1;34m~\x1b[0m$ ',
].join('\r\n')

await mkdir(join(folder, 'pages'), { recursive: true })

await using browser = await launchBrowser().then(it => Object.assign(it, { [Symbol.asyncDispose]: () => it.close() }))
await using desktop = await openDesktop()
for (const look of looks) {
  await takeAll(look)
  console.log(`${look.language}-${look.theme}`)
}

async function takeAll(look: Look): Promise<void> {
  const { language, theme } = look
  const configDir = await mkdtemp(join(tmpdir(), 'berth-guide-'))
  try {
    await using server = await startConsoleDouble(aWorld({ signedIn: false }))
    const window = { bounds: { x: 40, y: 60, width: 1280, height: 760 }, isMaximized: false, zoomLevel: 0 }
    const settings = { servers: ['https://berth.example.org'], language, window }
    await writeFile(join(configDir, 'desktop.json'), JSON.stringify(settings))
    const env = {
      LANG: language === 'ko' ? 'ko_KR.UTF-8' : 'en_US.UTF-8',
      LANGUAGE: language,
      GTK_THEME: theme === 'dark' ? 'Adwaita:dark' : 'Adwaita',
    }
    await using app = await openApp(desktop, { configDir, env, args: [`--lang=${language}`] })
    const { electron, page } = app
    const take = async (name: string) => {
      await withoutGutter(page)
      await picture(electron, pictureFile(`desktop-${name}`, look))
    }
    await electron.evaluate(({ nativeTheme }, source) => void (nativeTheme.themeSource = source), theme)
    await page.evaluate(next => localStorage.setItem('berth.language', next), language)
    // Playwright shows pages in light mode, whatever the system uses.
    await page.emulateMedia({ colorScheme: theme })
    await page.reload()
    await page.getByLabel(language === 'ko' ? '주소' : 'Address', { exact: true }).waitFor()
    await take('start')

    await page.evaluate(
      `host.host.setEndpoint({ kind: 'remote', url: '${server.url}' }).then(() => { location.hash = '#/sessions'; location.reload() })`,
    )
    await answerOnce(electron)
    await page.locator('input[type=email], input[autocomplete=username]').first().fill('mira@example.com')
    await page.locator('input[type=password]').fill('Correct-horse-1')
    await page.keyboard.press('Enter')
    await page.locator('tr.row').first().waitFor()
    await take('console')

    await takeTerminal(app, server, theme, take)
    await takeMenu(app, take)
    await takeQuestion(app, server, take)
  } finally {
    await rm(configDir, { recursive: true, force: true, maxRetries: 5 })
  }
}

type Take = (name: string) => Promise<void>

/** A terminal window. The double of the manager has no shell, so the app answers in its place. */
async function takeTerminal(
  { electron }: RunningApp,
  server: ConsoleDouble,
  colorScheme: 'light' | 'dark',
  take: Take,
): Promise<void> {
  await electron.evaluate(({ ipcMain }, text) => {
    ipcMain.removeHandler('host:terminal.open')
    ipcMain.handle('host:terminal.open', ({ sender }) => {
      const data = new Uint8Array(Buffer.from(text))
      setTimeout(() => sender.send('host:event', 'terminal:data', { id: 'shell', data }), 500)
      return { ok: true, value: 'shell' }
    })
  }, SHELL)
  const session = server.world.sessions.find(({ name }) => name === 'train-resnet-50')!
  const opened = electron.waitForEvent('window')
  await electron.evaluate(
    ({ BrowserWindow }, route) =>
      BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(
        `void window.open(${JSON.stringify(route)}, '', 'width=960,height=560')`,
      ),
    `berth://console/#/terminal/${session.id}`,
  )
  const terminal = await opened
  await terminal.emulateMedia({ colorScheme })
  await terminal.locator('.xterm').waitFor()
  await take('terminal')
  await terminal.close()
}

/** The menu of the tray, opened in the window, because the screen of this script has no tray. */
async function takeMenu({ electron, page }: RunningApp, take: Take): Promise<void> {
  await electron.evaluate(({ Menu }) => {
    const build = Menu.buildFromTemplate
    Menu.buildFromTemplate = template => {
      const menu = build(template)
      // Submenus are built by the same function, before their menu.
      Object.assign(globalThis, { lastMenu: menu })
      return menu
    }
  })
  // Any change of what the tray shows builds its menu again.
  await page.evaluate(`host.desktop.report({ unread: 1, sessions: [], uploads: null, hasEdits: false })`)
  await page.reload()
  await page.locator('tr.row').first().waitFor()
  await delay(1_000)
  await electron.evaluate(({ BrowserWindow }) => {
    const { lastMenu } = globalThis as never as { lastMenu: Electron.Menu }
    lastMenu.popup({ window: BrowserWindow.getAllWindows()[0]!, x: 860, y: 40 })
  })
  await take('tray')
  await electron.evaluate(() => (globalThis as never as { lastMenu: Electron.Menu }).lastMenu.closePopup())
}

/** The question before quitting. */
async function takeQuestion({ electron, page }: RunningApp, server: ConsoleDouble, take: Take): Promise<void> {
  const session = server.world.sessions.find(({ status }) => status === 'RUNNING')!
  // A tunnel that is open makes the app ask.
  await page.evaluate(`host.tunnel.open({ sessionId: '${session.id}', app: 'sshd', onPortTaken: 'random' })`)
  await electron.evaluate(({ app }) => app.quit())
  await delay(1_500)
  await take('quit')
}

/** Answers the question about a missing credential store, which should not be in the pictures. */
async function answerOnce(electron: ElectronApplication): Promise<void> {
  await electron.evaluate(({ dialog }) => {
    const show = dialog.showMessageBox.bind(dialog)
    dialog.showMessageBox = () => {
      dialog.showMessageBox = show
      return Promise.resolve({ response: 0, checkboxChecked: false })
    }
  })
}

/** The screen as its user sees it, including frames, menus and dialogs of the system. */
async function picture(electron: ElectronApplication, file: string): Promise<void> {
  await delay(1_500)
  const png = await electron.evaluate(async ({ desktopCapturer, screen }) => {
    const size = screen.getPrimaryDisplay().size
    const [source] = await desktopCapturer.getSources({ types: ['screen'], thumbnailSize: size })
    return source?.thumbnail.toDataURL() ?? ''
  })
  await using page = await browser
    .newPage({ viewport: FRAME })
    .then(it => Object.assign(it, { [Symbol.asyncDispose]: () => it.close() }))
  await page.setContent(`<style>body { margin: -${FRAME.y}px -${FRAME.x}px }</style><img src="${png}">`)
  const client = await page.context().newCDPSession(page)
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await writeFile(join(folder, 'pages', file), Buffer.from(data, 'base64'))
}
