import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { DESKTOP_PRODUCT } from '../../build/packages/targets/desktop.ts'
import { type FreshRoot } from './fresh-root.ts'

/** Rights that Chromium needs in a container to create its sandbox; on a computer everybody has them. */
export const SANDBOX = ['--cap-add', 'SYS_ADMIN', '--security-opt', 'seccomp=unconfined', '--shm-size', '512m']

/** Ordinary user of the fresh root who may use the Docker Engine. */
export const USER = 'mira'

/** Debian packages that the app needs if its own package does not install them. */
export const LIBRARIES = DESKTOP_PRODUCT.deb.depends.map(one => one.split(/ [|(]/, 1)[0]).join(' ')

/** The installed app, with a window on a screen inside the fresh root. */
export interface InstalledApp extends AsyncDisposable {
  readonly page: Page
  /** Kills the app's process, because an ordinary end would ask its user. */
  kill(): Promise<void>
}

/** Makes the user, and a screen's program. */
export async function prepareDesktop({ shell, data }: FreshRoot): Promise<void> {
  await shell('apt-get install -y -q --no-install-recommends xvfb procps desktop-file-utils')
  const { gid } = await stat('/var/run/docker.sock')
  await shell(`getent group ${gid} >/dev/null || groupadd -g ${gid} engine`)
  await shell(`useradd -m -G "$(getent group ${gid} | cut -d: -f1)" ${USER} && chown ${USER} ${data}`)
}

/**
 * Starts the app like a menu, or the program of an unpacked app. The fuses keep debuggers out of its main process; its pages are reached by
 * Chromium's own port.
 */
export async function startInstalledApp({ name, data }: FreshRoot, command = 'berth-desktop'): Promise<InstalledApp> {
  await using stack = new AsyncDisposableStack()
  const xvfb = spawn(
    'docker',
    ['exec', name, 'Xvfb', '-displayfd', '1', '-screen', '0', '1400x900x24', '-nolisten', 'tcp'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  stack.defer(() => end(xvfb))
  const display = await lineOf(xvfb, /^(\d+)$/)
  const environment = {
    ...{ DISPLAY: `:${display}`, HOME: `/home/${USER}`, LANG: 'en_US.UTF-8' },
    ...{ BERTH_DATA: data, BERTH_AGENT_CLAIM: name, BERTH_PORT: '0', BERTH_CONFIG_DIR: '' },
  }
  const variables = Object.entries(environment).flatMap(([key, value]) => ['-e', `${key}=${value}`])
  const program = [
    'sh',
    '-c',
    `unset BERTH_CONFIG_DIR; echo "pid $$" >&2; exec ${command} --disable-gpu --remote-debugging-port=0`,
  ]
  const app = spawn('docker', ['exec', '-u', USER, ...variables, name, ...program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  stack.defer(() => end(app))
  const pid = await lineOf(app, /^pid (\d+)$/)
  const port = await lineOf(app, /^DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)\//)
  const inspector = `http://127.0.0.1:${port}`
  // If Playwright attaches while the page is loading, it may miss the load and wait for ever.
  await expect.poll(() => titlesAt(inspector), { timeout: 60_000 }).toContainEqual(expect.stringContaining('Berth'))
  const browser = await chromium.connectOverCDP(inspector, { noDefaults: true, timeout: 120_000 })
  stack.defer(() => browser.close())
  const context = browser.contexts()[0]!
  const page = context.pages()[0] ?? (await context.waitForEvent('page'))
  page.setDefaultTimeout(60_000)
  const owned = stack.move()
  return {
    page,
    async kill() {
      const ended = once(app, 'exit')
      const killed = spawn('docker', ['exec', name, 'kill', '-KILL', pid], { stdio: 'ignore' })
      await once(killed, 'exit')
      await ended
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Whether the app is on the screen, with its first page in the sandbox of Chromium. */
export async function expectFirstWindow({ page }: InstalledApp, { shell }: FreshRoot): Promise<void> {
  await page.getByRole('heading', { name: 'Welcome to Berth' }).waitFor()
  expect(page.url()).toMatch(/^berth:\/\/console\//)
  // 2: a filter of system calls is active.
  const modes = await shell('grep -h ^Seccomp: $(pgrep -f "[t]ype=renderer" | sed "s#.*#/proc/&/status#")')
  expect(modes).toBe('Seccomp:\t2\n')
}

/** Titles of the pages that a Chromium shows. */
async function titlesAt(inspector: string): Promise<string[]> {
  const pages = (await (await fetch(`${inspector}/json/list`)).json()) as { title: string }[]
  return pages.map(({ title }) => title)
}

/** The first group of the first line that matches. Earlier lines are shown if the program ends. */
async function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  const seen: string[] = []
  const input = child.stdout ?? child.stderr!
  const lines = createInterface({ input })
  for await (const line of lines) {
    const found = pattern.exec(line)?.[1]
    // Continue to read the pipe: a full pipe would block the program.
    if (found !== undefined) return found
    seen.push(line)
  }
  throw new Error(`${child.spawnargs.join(' ')} ended: ${seen.join('\n')}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}
