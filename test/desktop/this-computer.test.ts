import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { access, constants, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startConsoleDouble, type ConsoleDouble } from '../e2e/console-double.ts'
import { openApps, openLaunchDialog, rowOf, screen } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import { managerIdOf } from '../fixtures/berth.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'
import { removeData } from '../fixtures/unmount-below.ts'
import { keepOpenedLinks } from './opened-links.ts'
import { openApp, openDesktop, readSettings, type Desktop } from './open-app.ts'
import { watchTray } from './tray-menu.ts'

/** The first start of the desktop app: the start screen, and Berth on this computer from nothing to a terminal, with a real engine. */
const run = promisify(execFile)
/**
 * Stand-ins for programs with windows on the PATH of the app; each writes `NAME.out`. That of PuTTY logs in with PuTTY's command line tool.
 */
const STAND_INS = {
  putty: 'plink -batch "$@" id -un',
  code: 'echo "$@"',
  // The arguments come last: who reads them has the sites as well.
  filezilla: 'cat "$XDG_CONFIG_HOME/filezilla/sitemanager.xml"; echo "$@"',
}

async function standInPrograms() {
  const folder = await temporaryDirectory()
  for (const [name, line] of Object.entries(STAND_INS)) {
    const file = join(folder.path, name)
    await writeFile(file, `#!/bin/sh\n{ ${line}; } > '${file}.out' 2>&1\n`, { mode: 0o755 })
  }
  return folder
}

/** Exit code of curl: nothing listens. */
const CURL_REFUSED = 7
let desktop: Desktop
let server: ConsoleDouble

beforeAll(async () => {
  desktop = await openDesktop()
  server = await startConsoleDouble(aWorld({ signedIn: false }))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await desktop[Symbol.asyncDispose]()
})

/** Data directory in which Berth on this computer starts from nothing, also when a test is retried. */
async function aStack() {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-desktop-data-'))
  const claim = `berth-test-${basename(data)}`
  return {
    env: {
      BERTH_DATA: data,
      BERTH_PORT: '0',
      BERTH_AGENT_CLAIM: claim,
      BERTH_ADMIN_PASSWORD: `Adm1n!${randomBytes(6).toString('hex')}`,
      BERTH_TOOLBOX_IMAGE: process.env['BERTH_TOOLBOX_IMAGE'] ?? '',
    },
    async [Symbol.asyncDispose]() {
      await removeEverythingOf(await managerIdOf(data))
      await run('docker', ['volume', 'rm', '-f', claim]).catch(() => undefined)
      await removeData(data)
    },
  }
}

test('the first start asks where Berth is, in the language of the system; a server is remembered and used by the next start', async () => {
  await using config = await temporaryDirectory()
  {
    const env = { DOCKER_HOST: 'unix:///nowhere/docker.sock', LANGUAGE: 'ko' }
    await using app = await openApp(desktop, { configDir: config.path, env })
    await app.page.getByRole('heading', { name: 'Berth에 오신 것을 환영합니다' }).waitFor()
    // Without Docker Engine, the start screen says so, with instructions.
    await app.page.getByRole('button', { name: '여기서 Berth 시작' }).click()
    await app.page.getByText(/Docker Engine이 설치되어 있/).waitFor()
    await app.page.getByRole('button', { name: '다시 시도' }).waitFor()
    await app.page.getByLabel('주소', { exact: true }).fill('http://127.0.0.1:1')
    await app.page.getByRole('button', { name: '연결' }).click()
    await app.page.getByText('http://127.0.0.1:1 서버가 응답하지 않습니다').waitFor()
    await app.page.getByLabel('주소', { exact: true }).fill(server.url)
    await app.page.getByRole('button', { name: '연결' }).click()
    await app.page.getByRole('heading', { name: 'Berth에 로그인' }).waitFor()
    expect(await readSettings(config.path)).toMatchObject({
      endpoint: { kind: 'remote', url: server.url },
      servers: [server.url],
    })
  }
  await using again = await openApp(desktop, { configDir: config.path })
  await again.page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
  await again.page.getByRole('link', { name: 'Change…' }).click()
  await again.page.getByRole('button', { name: new URL(server.url).host, exact: true }).waitFor()
})

test('this computer: from nothing to a terminal that is typed in, Jupyter, SSH, and the question before the end', async () => {
  await using links = await keepOpenedLinks()
  await using programs = await standInPrograms()
  const PATH = `${programs.path}:${links.PATH}`
  await using stack = await aStack()
  await using app = await openApp(desktop, { env: { ...stack.env, PATH } })
  const { page } = app
  const tray = await watchTray(app.electron)
  await page.getByRole('button', { name: 'Start Berth here' }).click()
  await page.getByRole('list', { name: 'Steps of the start' }).waitFor()
  await page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor({ timeout: 60_000 })
  await page.locator('a[href="#/sessions"]').first().click()
  await openLaunchDialog(page)
  await page.getByText('Python 3.13 with JupyterLab').first().click()
  await page.getByLabel('Name optional').fill('first-window')
  await page.getByRole('button', { name: /^Launch$/ }).click()
  await rowOf(page, 'first-window').getByText('Running').waitFor({ timeout: 60_000 })

  const opened = app.electron.waitForEvent('window')
  await page.getByRole('button', { name: 'Terminal of first-window' }).click()
  const terminal = await opened
  await terminal.bringToFront()
  await screen(terminal).filter({ hasText: '$' }).waitFor({ timeout: 30_000 })
  await terminal.keyboard.type('echo "from a window $((40+2))"\n')
  await screen(terminal).filter({ hasText: 'from a window 42' }).waitFor({ timeout: 60_000 })

  await terminal.close()

  // Jupyter opens in the browser of the system, with a single-use ticket.
  await openApps(page, 'first-window')
  await page.locator('.tile-button', { hasText: 'JupyterLab' }).click()
  await expect.poll(() => links.all(), { timeout: 30_000 }).toHaveLength(1)
  const [lab = ''] = await links.all()
  const status = async () => (await run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', lab])).stdout
  expect([await status(), await status()]).toEqual(['303', '403'])

  await page.locator('.tile-button', { hasText: 'SSH' }).click()
  await page.getByText('Private key of this session').waitFor()
  const ssh = ['-F', join(app.configDir, 'ssh/config'), '-o', 'BatchMode=yes', 'berth-first-window', 'id', '-un']
  expect((await run('ssh', ssh)).stdout.trim()).toBe('work')
  const inSession = async (line: string) => (await run('ssh', [...ssh.slice(0, -2), line])).stdout

  // The tray copies the address of a tunnel, and closes it.
  const address = `127.0.0.1:${new URL(lab).port}`
  const tunnel = `JupyterLab of first-window: ${address}`
  await tray.click(tunnel, 'Copy Address')
  expect(await app.electron.evaluate(({ clipboard }) => clipboard.readText())).toBe(address)
  await tray.click(tunnel, 'Close')
  await expect.poll(() => status().catch((error: unknown) => (error as { code: number }).code)).toBe(CURL_REFUSED)

  // A terminal of this computer logs in automatically.
  const onScreen = { env: { ...process.env, ...desktop.env } }
  const terminals = async () => (await run('xdotool', ['search', '--onlyvisible', '--class', 'xterm'], onScreen)).stdout
  await page.getByRole('button', { name: 'Terminal', exact: true }).click()
  await expect.poll(() => terminals().catch(() => '')).toMatch(/^\d+$/m)
  const [window = ''] = (await terminals()).split('\n')
  await run('xdotool', ['windowactivate', '--sync', window], onScreen)
  await run('xdotool', ['type', 'id -un > typed; exit\n'], onScreen)
  await expect.poll(() => terminals().catch(() => 'closed')).toBe('closed')
  expect(await inSession('cat typed')).toBe('work\n')

  // Other programs are started with the data for logging in.
  const heard = (name: string) => readFile(join(programs.path, `${name}.out`), 'utf8').catch(() => '')
  for (const name of ['PuTTY', 'VS Code', 'FileZilla']) await page.getByRole('button', { name, exact: true }).click()
  await expect.poll(() => heard('putty'), { timeout: 60_000 }).toBe('work\n')
  await expect.poll(() => heard('code')).toBe('--folder-uri vscode-remote://ssh-remote+berth-first-window/home/work\n')
  await expect.poll(() => heard('filezilla')).toContain('--site 0/berth-first-window\n')
  const [, port = ''] = /<Port>(\d+)<\/Port>/.exec(await heard('filezilla')) ?? []
  expect((await run('ssh', [...ssh.slice(0, 2), '-p', port, ...ssh.slice(2)])).stdout).toBe('work\n')

  // The files of the session are a drive of this computer.
  const drive = join(app.configDir, 'Berth/berth-first-window')
  const hasDrive = await access('/dev/fuse', constants.W_OK).then(
    () => true,
    () => false,
  )
  if (hasDrive) {
    await page.getByRole('button', { name: 'Mount as a drive' }).click()
    await expect.poll(() => links.all(), { timeout: 30_000 }).toContain(drive)
    await writeFile(join(drive, 'from here.txt'), 'by the drive')
    const change = 'cat "from here.txt"; echo inside > /tmp/inside; ln -s /tmp/inside link'
    expect(await inSession(change)).toBe('by the drive')
    expect(await readFile(join(drive, 'link'), 'utf8')).toBe('inside\n')
  } else console.warn('SKIPPED: drives. This machine has no /dev/fuse.')

  const quit = () => app.electron.evaluate(({ app: main }) => main.quit())
  const isVisible = () =>
    app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().some(one => one.isVisible()))
  await app.answer(0)
  await quit()
  await expect.poll(isVisible).toBe(false)
  const [{ detail, buttons } = {}] = await app.questions()
  expect(buttons).toEqual(['Keep running in the background', 'Stop and quit', 'Cancel'])
  expect(detail).toContain(
    `1 open tunnel with ${hasDrive ? '1 connection' : '0 connections'} (SSH, SFTP, Jupyter) will be cut.`,
  )
  expect(detail).toContain('services on this computer will stop')
  expect((await run('ssh', ssh)).stdout.trim()).toBe('work')
  await app.answer(2)
  await quit()
  await expect.poll(isVisible).toBe(true)
  await app.answer(1)
  await quit()
  expect(await app.ended).toBe(0)
  await expect(run('ssh', ssh)).rejects.toThrow()
  if (hasDrive) expect(await readdir(dirname(drive))).toEqual([])
  expect(app.log()).not.toContain('unexpected failure')
})

test('an app that is killed takes Berth on this computer along', async () => {
  await using stack = await aStack()
  const app = await openApp(desktop, { env: stack.env })
  await app.page.getByRole('button', { name: 'Start Berth here' }).click()
  const services = async () => {
    const { stdout } = await run('pgrep', ['-f', 'desktop-test/bin/berth up']).catch(() => ({ stdout: '' }))
    return stdout.trim().split('\n').filter(Boolean)
  }
  await expect.poll(services).toHaveLength(1)
  await app[Symbol.asyncDispose]()
  await expect.poll(services, { timeout: 30_000 }).toEqual([])
})
