import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { _electron, type ElectronApplication, type Page } from 'playwright-core'
import { testElectronFolder } from '../../build/bootstrap/test-electron.ts'
import { cleanEnvironment } from '../fixtures/environment.ts'
import { openScreen, type Screen } from '../fixtures/screen.ts'
import { bundleApp } from './bundle-app.ts'

const run = promisify(execFile)
export const ELECTRON = join(testElectronFolder(), 'electron')

/**
 * Delays the event `ready` until Playwright is attached; Playwright loads this only for an Electron from npm. Without it, one start in ten
 * on a busy machine never ends: Playwright attaches to a window that is about to load its page, and misses the load.
 */
const HOLD_READY = join(
  dirname(createRequire(import.meta.url).resolve('playwright-core/package.json')),
  'lib/server/electron/loader.js',
)

/** A screen of its own, and the app for it. */
export interface Desktop extends Screen {
  /** Folder of the app for `electron FOLDER`. */
  readonly app: string
}

/** @param services folder of D-Bus service files, for the programs that the bus starts on demand */
export async function openDesktop(services?: string): Promise<Desktop> {
  await using stack = new AsyncDisposableStack()
  const { env } = stack.use(await openScreen(services))
  const app = await bundleApp()
  const owned = stack.move()
  return { app, env, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

export interface RunningApp extends AsyncDisposable {
  readonly electron: ElectronApplication
  readonly configDir: string
  /** The first window. */
  readonly page: Page
  /** Output on standard error: the log. */
  readonly log: () => string
  /** From now on answers each question of the app with this button, and collects the questions. */
  answer(button: number): Promise<void>
  questions(): Promise<{ message: string; detail?: string; buttons?: string[] }[]>
  /**
   * The result of an expression in the first window. The main process evaluates it, because Playwright waits for navigations that the app
   * refuses.
   */
  inPage(code: string): Promise<unknown>
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

export interface AppOptions {
  readonly args?: readonly string[]
  /** Files that the main process loads before the app. */
  readonly modules?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly configDir?: string
  /** Settings that exist at the start. */
  readonly settings?: object
}

/** The real app in a real Electron, with windows on the desktop's screen. */
export async function openApp(
  desktop: Desktop,
  { args = [], modules = [], env = {}, configDir, settings }: AppOptions = {},
): Promise<RunningApp> {
  const config = configDir ?? (await mkdtemp(join(tmpdir(), 'berth-test-electron-')))
  if (settings) await writeFile(join(config, 'desktop.json'), JSON.stringify(settings))
  const electron = await _electron.launch({
    executablePath: ELECTRON,
    args: [
      ...[HOLD_READY, ...modules].flatMap(file => ['-r', file]),
      '--disable-gpu',
      `--user-data-dir=${join(config, 'chromium')}`,
      desktop.app,
      ...args,
    ],
    // As root, Chromium refuses to run with its sandbox; `starts.test.ts` shows it with one.
    chromiumSandbox: process.getuid?.() !== 0,
    env: { ...appEnvironment(desktop, config), ...env },
    timeout: 90_000,
  })
  let log = ''
  const child = electron.process()
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  const ended = new Promise<number | null>(done => child.once('exit', code => done(code)))
  const page = await firstWindow(electron)
  page.setDefaultTimeout(60_000)
  return {
    electron,
    configDir: config,
    page,
    ended,
    log: () => log,
    answer: button =>
      electron.evaluate(({ dialog }, response) => {
        const kept = globalThis as never as { questions?: unknown[] }
        const questions = (kept.questions ??= [])
        dialog.showMessageBox = (...given: unknown[]) => {
          questions.push(given.at(-1))
          return Promise.resolve({ response, checkboxChecked: false })
        }
      }, button),
    questions: () => electron.evaluate(() => (globalThis as never as { questions?: never[] }).questions ?? []),
    inPage: code =>
      electron.evaluate(
        ({ BrowserWindow }, text) =>
          BrowserWindow.getAllWindows()[0]?.webContents.executeJavaScript(text) as Promise<unknown>,
        code,
      ),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
      if (configDir === undefined) await rm(config, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * If Playwright attached to a window while it loaded its page (one in thirty on a busy machine), it sees the window only after a reload.
 */
async function firstWindow(electron: ElectronApplication): Promise<Page> {
  const page = electron.firstWindow({ timeout: 90_000 })
  const isSeen = page.then(() => true)
  while (!(await Promise.race([isSeen, delay(15_000, false, { ref: false })]))) {
    await electron.evaluate(({ BrowserWindow }) =>
      BrowserWindow.getAllWindows().forEach(one => one.webContents.reload()),
    )
  }
  return page
}

/**
 * Environment of an app that does not touch the files of the computer's user. The only shared directory is the one for compiled code, so
 * that the services of this computer are not compiled again at each start.
 */
export function appEnvironment(desktop: Desktop, configDir: string): Record<string, string> {
  return {
    ...cleanEnvironment(),
    HOME: configDir,
    LANG: 'en_US.UTF-8',
    ...desktop.env,
    BERTH_CONFIG_DIR: configDir,
    BERTH_NODE: process.execPath,
    BERTH_SSH_DIR: join(configDir, 'ssh'),
  }
}

/** Starts the app without a debugger, as a user does. */
export function startPlainApp(
  desktop: Desktop,
  configDir: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const root = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return spawn(
    ELECTRON,
    [...root, '--disable-gpu', `--user-data-dir=${join(configDir, 'chromium')}`, desktop.app, ...args],
    { env: { ...appEnvironment(desktop, configDir), ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
}

export async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** Titles of the windows that are on the screen. */
export async function windowsOn({ env }: Desktop): Promise<string[]> {
  const search = ['search', '--onlyvisible', '--name', '.', 'getwindowname', '%@']
  const { stdout } = await run('xdotool', search, { env: { ...process.env, ...env } }).catch(() => ({ stdout: '' }))
  return stdout.split('\n').filter(Boolean)
}

/** Windows of a process that stay in front of another window. */
export async function questionsOf({ env }: Desktop, pid: number): Promise<{ parent: string }[]> {
  const options = { env: { ...process.env, ...env } }
  const search = ['search', '--onlyvisible', '--pid', String(pid)]
  const { stdout } = await run('xdotool', search, options).catch(() => ({ stdout: '' }))
  const found = await Promise.all(
    stdout
      .split('\n')
      .filter(Boolean)
      .map(async id => (await run('xprop', ['-id', id, 'WM_TRANSIENT_FOR'], options)).stdout),
  )
  return found.flatMap(text => /window id # (0x\w+)/.exec(text)?.slice(1) ?? []).map(parent => ({ parent }))
}

/** Names of the crash reports of an app. */
export async function crashReportsOf({ configDir }: RunningApp): Promise<string[]> {
  const names = await readdir(join(configDir, 'crashes'), { recursive: true }).catch(() => [])
  return names.filter(name => name.endsWith('.dmp'))
}

export async function readSettings(configDir: string): Promise<unknown> {
  return JSON.parse(await readFile(join(configDir, 'desktop.json'), 'utf8'))
}
