import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openAppWindow } from '../../cli/up/app-window.ts'
import { openDesktop as openDesktopApp } from '../../cli/up/desktop.ts'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { aWorld } from '../e2e/console-world.ts'
import { BROWSER } from '../fixtures/browser.ts'
import { appEnvironment, ELECTRON, openDesktop, type Desktop } from './open-app.ts'

/** The window that `npm start` opens, on a real screen: that of the desktop app, else that of a browser. */
const run = promisify(execFile)
/** The user of the browser: `nobody` on Debian. As root, it refuses to run with its sandbox. */
const USER = 65_534
let desktop: Desktop
let double: ConsoleDouble
let folder: string

beforeAll(async () => {
  desktop = await openDesktop()
  double = await startConsoleDouble(aWorld({ signedIn: false }))
})
afterAll(async () => {
  await double[Symbol.asyncDispose]()
  await desktop[Symbol.asyncDispose]()
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-start-'))
  await chmod(folder, 0o755)
  // For root, no window would be opened: so code that checks the user sees another one.
  if (process.getuid) vi.spyOn(process, 'getuid').mockReturnValue(1000)
  for (const [name, value] of Object.entries(desktop.env)) vi.stubEnv(name, value)
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  await run('pkill', ['-KILL', '-f', folder]).catch(() => undefined)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function program(path: string, ...lines: string[]): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${lines.join('\n')}\n`)
  await chmod(path, 0o755)
}

/** Titles of the windows of a class that are on the screen. */
async function titlesOf(windowClass: string): Promise<string> {
  const search = ['search', '--onlyvisible', '--class', windowClass, 'getwindowname', '%@']
  return (await run('xdotool', search).catch(() => ({ stdout: '' }))).stdout
}

test('a browser shows the console in a window of its own, with a profile of its own and in its sandbox', async () => {
  const profile = join(folder, 'profile')
  const asUser = `setpriv --reuid=${USER} --regid=${USER} --clear-groups env HOME='${profile}'`
  await program(join(folder, 'google-chrome-stable'), `chown ${USER} '${profile}'`, `exec ${asUser} ${BROWSER} "$@"`)
  vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`)
  expect(await openAppWindow(`${double.url}/#/sign-in`, profile)).toBeDefined()
  await expect.poll(() => titlesOf('Berth'), { timeout: 30_000 }).toContain('Sign in')
})

test('where no browser is installed there is no window, and the caller hears so', async () => {
  vi.stubEnv('PATH', folder)
  expect(await openAppWindow(double.url, join(folder, 'profile'))).toBeUndefined()
})

test('the desktop app opens where its Electron is, and is signed in by the link', async () => {
  const root = join(folder, 'clone')
  await mkdir(join(root, 'dist/electron/main'), { recursive: true })
  await writeFile(join(root, 'dist/electron/main/main.js'), '')
  // The Electron of the tests, with its own bundle, as root without its sandbox.
  const flags = `--no-sandbox --disable-gpu --user-data-dir='${folder}/chromium'`
  await program(join(folder, 'electron'), `exec '${ELECTRON}' ${flags} '${desktop.app}'`)
  vi.stubEnv('ELECTRON_OVERRIDE_DIST_PATH', folder)
  for (const [name, value] of Object.entries(appEnvironment(desktop, folder))) vi.stubEnv(name, value)
  expect(await openDesktopApp(root, `${double.url}/#/sign-in?ticket=once`)).toBe(true)
  await expect.poll(() => titlesOf('Berth'), { timeout: 30_000 }).toContain('Summary')
})

test('without a bundle of the app, the caller hears that there is none', async () => {
  vi.stubEnv('ELECTRON_OVERRIDE_DIST_PATH', folder)
  await program(join(folder, 'electron'), 'exit 0')
  expect(await openDesktopApp(folder, double.url)).toBe(false)
})
