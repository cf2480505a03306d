import { execFile, spawn } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { createKitFiles, thisProcess } from '../../proxy/ssh/kit-files.ts'
import { startConsoleDouble } from '../e2e/console-double.ts'
import { signIn } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import { openCompositor } from '../fixtures/compositor.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'
import {
  appEnvironment,
  crashReportsOf,
  ELECTRON,
  exitOf,
  openApp,
  openDesktop,
  questionsOf,
  startPlainApp,
  windowsOn,
  type Desktop,
} from './open-app.ts'

/** Unusual starts of the desktop app, in real Electrons at the same time. */
const run = promisify(execFile)
let desktop: Desktop

beforeAll(async () => {
  desktop = await openDesktop()
})
afterAll(() => desktop[Symbol.asyncDispose]())

describe.concurrent('a start that is not the usual one', () => {
  test('settings that cannot be read: a window says so, and the app starts without them', async ({ expect }) => {
    await using temporary = await temporaryDirectory()
    await writeFile(
      join(temporary.path, 'desktop.json'),
      '{ "endpoint": { "kind": "remote", "url": "http://far.example" } }',
    )
    const child = startPlainApp(desktop, temporary.path)
    await expect.poll(() => windowsOn(desktop)).toContainEqual('Berth: settings')
    const kept = join(temporary.path, 'desktop.json.unreadable')
    const choose = ['search', '--onlyvisible', '--name', '^Berth: settings$', 'windowfocus', '--sync', 'key', 'Return']
    // Windows of other tests come to the front meanwhile.
    const afterChoice = async () => {
      await run('xdotool', choose, { env: { ...process.env, ...desktop.env } }).catch(() => undefined)
      return readFile(kept, 'utf8').catch(() => '')
    }
    await expect.poll(afterChoice, { interval: 500, timeout: 60_000 }).toContain('far.example')
    await expect.poll(() => windowsOn(desktop)).not.toContainEqual('Berth: settings')
    child.kill('SIGKILL')
    await exitOf(child)
  })

  test('a credential store that never answers: the window opens, and says that the sign-in is kept until the app quits', async ({
    expect,
  }) => {
    await using services = await temporaryDirectory()
    const hangs = `[D-BUS Service]\nName=org.freedesktop.secrets\nExec=/bin/sleep 60\n`
    await writeFile(join(services.path, 'org.freedesktop.secrets.service'), hangs)
    await using locked = await openDesktop(services.path)
    await using manager = await startConsoleDouble(aWorld({ signedIn: false }))
    // Position of the window when it was closed.
    const window = { bounds: { x: 60, y: 70, width: 900, height: 640 }, isMaximized: false, zoomLevel: 0.5 }
    await using late = await openApp(locked, { env: { BERTH_ENDPOINT: manager.url }, settings: { window } })
    const state = () =>
      late.electron.evaluate(({ BrowserWindow }) => {
        const [one] = BrowserWindow.getAllWindows()
        const { width, height } = one!.getNormalBounds()
        return { width, height, zoomLevel: one!.webContents.getZoomLevel() }
      })
    await expect.poll(state).toEqual({ width: 900, height: 640, zoomLevel: 0.5 })
    await late.answer(0)
    await late.page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
    await signIn(late.page, 'mira@example.com', 'Correct-horse-1')
    await expect
      .poll(async () => (await late.questions()).map(({ message }) => message), { timeout: 30_000 })
      .toContain('You are signed in until Berth quits.')
    await late.electron.evaluate(({ BrowserWindow }) => {
      const { webContents } = BrowserWindow.getAllWindows()[0]!
      webContents.once('render-process-gone', () => Object.assign(globalThis, { isGone: true }))
      webContents.forcefullyCrashRenderer()
    })
    await expect
      .poll(() => late.electron.evaluate(() => (globalThis as never as { isGone?: boolean }).isGone))
      .toBe(true)
    // Without the user's consent there are no reports.
    expect(await crashReportsOf(late)).toEqual([])
  })

  test('keys that a killed app has left are removed by the next start, and the end of the session asks nothing', async ({
    expect,
  }) => {
    await using temporary = await temporaryDirectory()
    const ssh = join(temporary.path, 'ssh')
    const { pid: dead } = spawn('true')
    const files = createKitFiles(ssh, { ...(await thisProcess()), pid: dead! })
    const sessionId = '01900000-0000-7000-8000-0000000000aa'
    const entry = { sessionId, port: 30_001, user: 'work', hostKey: 'ssh-ed25519 AAAA' }
    await files.install(entry, {
      wantedAlias: 'berth-left',
      server: 'localhost.8400',
      privateKey: 'KEY',
      ppk: 'KEY',
      include: false,
    })
    const keys = async () => (await readdir(join(ssh, 'berth'))).filter(name => name.startsWith('id_'))
    expect(await keys()).toHaveLength(2)
    await using manager = await startConsoleDouble(aWorld({ signedIn: false }))
    await using app = await openApp(desktop, { configDir: temporary.path, env: { BERTH_ENDPOINT: manager.url } })
    await expect.poll(keys).toEqual([])
    await app.page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
    // An unsaved edit: quitting asks the user.
    await app.inPage(`host.desktop.report({ unread: 0, sessions: [], uploads: null, hasEdits: true })`)
    const { pid } = app.electron.process()
    const questions = () => questionsOf(desktop, pid!)
    const quit = () => app.electron.evaluate(({ app: main }) => main.quit())
    await quit()
    // The question belongs to the window. A search returns nothing if a window of any app disappears meanwhile.
    const one = [{ parent: expect.stringMatching(/^0x/) as string }]
    await expect.poll(questions).toEqual(one)
    // A second attempt to quit asks no second question.
    await quit()
    await expect.poll(questions).toEqual(one)
    process.kill(pid!, 'SIGTERM')
    expect(await app.ended).toBe(0)
  })

  test('a compositor of Wayland, which paints no window that is hidden: the window is on the screen', async ({
    expect,
  }) => {
    await using temporary = await temporaryDirectory()
    // Newer Chromiums leave out the first frame of a hidden window there; this one needs help to do so.
    const noFrame = join(temporary.path, 'no-first-frame.cjs')
    await writeFile(
      noFrame,
      `require('electron').app.on('browser-window-created', (_event, window) => {
        const { emit } = window
        window.emit = (name, ...given) => name !== 'ready-to-show' && emit.call(window, name, ...given)
      })`,
    )
    await using compositor = await openCompositor(desktop)
    await using manager = await startConsoleDouble(aWorld({ signedIn: false }))
    await using app = await openApp(
      { ...desktop, env: compositor.env },
      {
        modules: [noFrame],
        args: ['--ozone-platform=wayland'],
        env: { BERTH_ENDPOINT: manager.url, WAYLAND_DEBUG: '1' },
      },
    )
    // The log has the requests to the compositor.
    const isOnScreen = () => /xdg_surface@\d+\.get_toplevel[\s\S]+wl_surface@\d+\.attach\(wl_buffer/.test(app.log())
    await expect.poll(isOnScreen, { timeout: 60_000 }).toBe(true)
    const isVisible = () => app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible())
    await expect.poll(isVisible).toBe(true)
  })

  test('the processes of pages run in the sandbox of Chromium', async ({ expect }) => {
    await using temporary = await temporaryDirectory()
    // As root there is no sandbox, so the app gets a copy that an ordinary user can read.
    const folder = join(temporary.path, 'app')
    await cp(desktop.app, folder, { recursive: true })
    for (const name of ['bufferutil', 'node-gyp-build'])
      await cp(join(desktop.app, '../../node_modules', name), join(folder, 'node_modules', name), { recursive: true })
    const isRoot = process.getuid?.() === 0
    const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {}
    if (isRoot) await run('chown', ['-R', '65534:65534', temporary.path])
    await using manager = await startConsoleDouble(aWorld({ signedIn: false }))
    const env = { ...appEnvironment(desktop, temporary.path), BERTH_ENDPOINT: manager.url }
    const child = spawn(ELECTRON, ['--disable-gpu', folder], { ...nobody, env, stdio: 'ignore', cwd: temporary.path })
    try {
      const modes = async () => {
        const { stdout } = await run('pgrep', ['-f', `type=renderer.*${temporary.path}`])
        const status = await Promise.all(
          stdout
            .trim()
            .split('\n')
            .map(pid => readFile(`/proc/${pid}/status`, 'utf8')),
        )
        return status.map(text => /^Seccomp:\t(\d)$/m.exec(text)?.[1])
      }
      // 2: a filter of system calls is active.
      await expect.poll(() => modes().catch(() => [])).toEqual(['2'])
    } finally {
      child.kill('SIGKILL')
      await exitOf(child)
    }
  })
})
