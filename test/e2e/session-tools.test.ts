import { mkdir } from 'node:fs/promises'
import { type Browser, type Page, type WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type SessionEvent } from '#manager/contract'
import { type SshKit, type Tunnel } from '#proxy/contract'
import { startConsoleDouble } from './console-double.ts'
import { showPorts } from './console-steps.ts'
import { aSession, aWorld, statsOf } from './console-world.ts'
import { audit, launchBrowser, loadPage, saveData } from '../fixtures/browser.ts'

/** Apps, SSH, terminal and detail of a session against doubles of the host and of a shell, with screenshots and axe. */
const OUTPUT = new URL('../output/', import.meta.url).pathname
const SESSION = aSession(900, {
  name: 'protein-folding',
  stats: statsOf(1400, 2.1 * 2 ** 30),
  environ: { WANDB_API_KEY: 'secret-of-mine', EPOCHS: '40' },
  kernels: [
    {
      id: '01990000-0000-7000-8000-0000000000c1' as never,
      role: 'main1',
      status: 'RUNNING',
      agentId: '01990000-0000-7000-8000-00000000000a' as never,
      agentName: 'gpu-box-1',
      containerId: '4f1c2d3e4a5b6c7d8e9f',
      exitCode: null,
      devices: [],
    },
  ],
})
const TUNNEL: Tunnel = {
  id: 't1' as Tunnel['id'],
  sessionId: SESSION.id,
  sessionName: SESSION.name,
  app: { name: 'sshd', title: 'SSH and SFTP', protocol: 'tcp', path: '/' },
  host: '127.0.0.1',
  port: 40_022,
  state: 'open',
  connections: 2,
  bytesUp: 1_830_000,
  bytesDown: 734_003_200,
  lastError: null,
  openedAt: '2026-11-20T10:00:00.000Z',
}
const KIT: SshKit = {
  tunnel: TUNNEL,
  user: 'work',
  hostAlias: 'berth-protein-folding',
  hostKeyFingerprint: 'SHA256:Zk1uJ5p8q2QmD0cT7VbXyR9eWfLh3sNaGo4iKtUvPwE',
  hostKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample',
  configInstalled: true,
  forwards: [],
  identityFile: '/home/mira/.ssh/berth/id_container',
  commands: {
    ssh: 'ssh berth-protein-folding',
    sftp: 'sftp berth-protein-folding',
    scp: 'scp results.csv berth-protein-folding:/home/work/',
    rsync: 'rsync -av --progress ./data/ berth-protein-folding:/home/work/data/',
    psftp:
      'psftp -P 40022 -i id_container.ppk -hostkey SHA256:Zk1uJ5p8q2QmD0cT7VbXyR9eWfLh3sNaGo4iKtUvPwE work@127.0.0.1',
  },
  vscodeUrl: 'vscode://vscode-remote/ssh-remote+berth-protein-folding/home/work',
  winscpUrl: 'sftp://work@127.0.0.1:40022/',
}
const START = Date.parse('2026-11-20T10:00:00.000Z')
const EVENTS: SessionEvent[] = (
  [
    [0, null, 'PENDING', 'requested', 'Asked for', 'mira@example.com'],
    [40, 'PENDING', 'SCHEDULED', 'placed', 'Placed on gpu-box-1', null],
    [90, 'SCHEDULED', 'PREPARING', 'create_sent', 'The agent prepares the container', null],
    [300, 'PREPARING', 'PULLING', 'image_missing', 'The image is not on gpu-box-1 yet', null],
    [41_300, 'PULLING', 'PREPARING', 'image_pulled', 'The image is there', null],
    [42_200, 'PREPARING', 'RUNNING', 'started', 'Started', null],
  ] as const
).map(([ms, from, to, code, message, actor], index) => ({
  id: index + 1,
  at: new Date(START + ms).toISOString(),
  kernelId: null,
  from,
  to,
  actor,
  reason: { code, message },
}))
const LOG =
  '\u001b[32m[I 10:00:43 ServerApp]\u001b[0m Jupyter Server 2.17 is running at http://0.0.0.0:8888/lab\n' +
  Array.from(
    { length: 60 },
    (_, i) => `epoch ${i + 1}/60  loss ${(2 / (i + 2)).toFixed(4)}  accuracy ${(1 - 1 / (i + 2)).toFixed(3)}\n`,
  ).join('') +
  'warning: checkpoint folder grows: 1.2 GiB\n'

interface Host {
  /** `group/method` → value, or an error in the form of the host. */
  readonly replies: Map<string, unknown>
  readonly calls: { method: string; args: unknown[] }[]
}

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
  await mkdir(OUTPUT, { recursive: true })
})
afterAll(() => browser.close())

const ok = (value: unknown) => ({ ok: true, value })
const failed = (code: string, detail: object) => ({ ok: false, error: { code, message: code, detail } })

async function open(path: string, replies: [string, unknown][] = []) {
  const world = aWorld({ sessions: [SESSION, ...aWorld().sessions] })
  const double = await startConsoleDouble(world)
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
  })
  await saveData(context)
  const host: Host = {
    calls: [],
    replies: new Map<string, unknown>([
      ['host/info', ok({ kind: 'local', version: '0.1.0', platform: 'linux' })],
      ['host/settings', ok({ preferredSshPort: null, manageSshConfig: true })],
      ['tunnel/list', ok([TUNNEL])],
      ['sftp/state', ok(null)],
      ['ssh/connect', ok(KIT)],
      ...replies,
    ]),
  }
  const problems: string[] = []
  await context.route('**/host/**', async route => {
    const method = new URL(route.request().url()).pathname.slice('/host/'.length)
    if (method === 'events') return route.fulfill({ status: 503 })
    host.calls.push({ method, args: route.request().postDataJSON() as unknown[] })
    const reply = host.replies.get(method)
    if (typeof reply === 'function') return (reply as () => Promise<void>)()
    return route.fulfill({ json: reply ?? failed('not_found', {}) })
  })
  await context.route('**/api/v1/sessions/*/events*', route =>
    route.fulfill({ json: { items: EVENTS.toReversed(), nextCursor: null } }),
  )
  await context.route('**/api/v1/sessions/*/logs*', route => route.fulfill({ json: { text: LOG, truncated: false } }))
  const page = await context.newPage()
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) problems.push(message.text())
    if (message.text().includes('[Vue')) problems.push(message.text())
  })
  await loadPage(page, `${double.url}/#${path}`)
  return {
    page,
    context,
    host,
    double,
    world,
    problems,
    async [Symbol.asyncDispose]() {
      await context.close()
      await double[Symbol.asyncDispose]()
    },
  }
}

/** A screenshot and axe, in light and in dark. */
async function look(page: Page, name: string, problems: string[]): Promise<void> {
  const violations = await audit(page, { look: scheme => page.screenshot({ path: `${OUTPUT}${name}-${scheme}.png` }) })
  expect.soft(violations).toEqual([])
  expect.soft(problems).toEqual([])
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const openApps = (page: Page) => button(page, `Apps of ${SESSION.name}`).click()

test('the apps of a session and open tunnels are shown', async () => {
  await using console = await open('/sessions')
  await openApps(console.page)
  await button(console.page, /^JupyterLab/)
    .first()
    .waitFor()
  await look(console.page, 'apps', console.problems)
  await showPorts(console.page)
  await console.page.getByText('127.0.0.1:40022').waitFor()
  await look(console.page, 'apps-ports', console.problems)
})

test('the SSH dialog shows address, key and commands', async () => {
  await using console = await open('/sessions')
  await openApps(console.page)
  await button(console.page, /SSH/).first().click()
  await console.page.getByText(KIT.hostKeyFingerprint).first().waitFor()
  await look(console.page, 'ssh', console.problems)
})

test('the timeline, the log and the details of a session are shown', async () => {
  await using console = await open(`/sessions/${SESSION.id}`)
  const { page } = console
  await page.getByText('The image is there').waitFor()
  await page.getByText('Disk: 85.8 MiB read, 3.81 MiB written').waitFor()
  await page.getByText('Network: 1.14 MiB received, 293 KiB sent').waitFor()
  await look(page, 'detail-timeline', console.problems)
  await page.getByRole('tab', { name: 'Logs' }).click()
  await page.getByText('warning: checkpoint').waitFor()
  await page.getByLabel('Search the log').fill('epoch 12')
  await page.getByText('1 of 1').waitFor()
  await look(page, 'detail-logs', console.problems)
  await page.getByRole('tab', { name: 'Details' }).click()
  await page.getByText('WANDB_API_KEY').waitFor()
  expect(await page.getByText('secret-of-mine').count()).toBe(0)
  await page.getByText('runs only if that is chosen at the launch').waitFor()
  await look(page, 'detail-details', console.problems)
})

/** The router listens for a changed address only once it has shown the first one. */
async function goToTerminal(page: Page, id: string): Promise<void> {
  await page.getByText(SESSION.name).waitFor()
  await page.goto(`${page.url().split('#')[0] ?? ''}#/terminal/${id}`)
}

test('another container in the address of an open terminal is connected instead of the first', async () => {
  await using console = await open('/sessions')
  const { page, context } = console
  const connected = new Map<string, boolean>()
  await context.routeWebSocket(/\/terminal\?/, ws => {
    const kernel = new URL(ws.url()).searchParams.get('kernel') ?? 'main'
    connected.set(kernel, true)
    ws.onClose(() => void connected.set(kernel, false))
    ws.onMessage(message => typeof message !== 'string' && ws.send(message))
    ws.send(Buffer.from(`this is ${kernel}\r\n`))
  })
  await goToTerminal(page, SESSION.id)
  await page.locator('.xterm-rows', { hasText: 'this is main' }).waitFor()
  await page.goto(`${page.url()}?kernel=sub1`)
  await page.locator('.xterm-rows', { hasText: 'this is sub1' }).waitFor()
  await page.getByRole('heading', { name: `${SESSION.name} · sub1` }).waitFor()
  expect(Object.fromEntries(connected)).toEqual({ main: false, sub1: true })
})

test('a terminal shows the output of its shell', async () => {
  await using console = await open('/sessions')
  const { page, context } = console
  await context.routeWebSocket(/\/terminal\?/, ws => {
    ws.onMessage(message => typeof message !== 'string' && ws.send(message))
    ws.send(
      Buffer.from(
        '\u001b]0;training\u0007\u001b[1;32mwork@protein-folding\u001b[0m:\u001b[1;34m~\u001b[0m$ ls --color\r\n' +
          '\u001b[1;34mdata\u001b[0m  \u001b[32mrun.sh\u001b[0m  notes.md  \u001b[31mbroken.tar.gz\u001b[0m\r\n' +
          '\u001b[33mwarning:\u001b[0m 2 checkpoints left, see https://example.com/docs\r\n' +
          '\u001b[1;32mwork@protein-folding\u001b[0m:\u001b[1;34m~\u001b[0m$ ',
      ),
    )
  })
  await goToTerminal(page, SESSION.id)
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.locator('.xterm-rows', { hasText: 'broken.tar.gz' }).waitFor()
  await button(page, 'New shell').click()
  await page.getByRole('tab', { name: 'shell-2' }).waitFor()
  await page.getByRole('tab', { name: 'main' }).click()
  await look(page, 'terminal', console.problems)
})

/** A terminal of a session that sends these bytes; `typed` is what goes back to it. */
async function hostileTerminal(page: Page, output: string) {
  const typed: string[] = []
  await page.context().routeWebSocket(/\/terminal\?/, ws => {
    ws.onMessage(message => typeof message !== 'string' && typed.push(message.toString()))
    ws.send(Buffer.from(output))
  })
  await goToTerminal(page, SESSION.id)
  await page.getByText('Connected', { exact: true }).waitFor()
  return { typed }
}

test('a session cannot end the terminal of its reader, or freeze it, by sequences that say how often', async () => {
  await using console = await open('/sessions')
  const often = (times: number) => ['b', 'I', 'L', 'M', 'S', 'T', 'Z'].map(final => `x\u001b[${times}${final}`).join('')
  // The largest number, and some that need thousands of sequences.
  const endless = [often(2 ** 31 - 1), often(1_000).repeat(5_000)]
  await hostileTerminal(console.page, `${endless.join('')}\u001b[2J\u001b[Hhonest x\u001b[3bend\r\n`)
  await console.page.locator('.xterm-rows', { hasText: 'honest xxxx' }).waitFor()
  expect(console.problems).toEqual([])
})

test('a session cannot freeze the terminal of its reader by marks that all belong to one letter', async () => {
  await using console = await open('/sessions')
  await hostileTerminal(console.page, `a${'\u0301'.repeat(300_000)}\r\nhonest a\u0301e\u0323\u0302 end\r\n`)
  await console.page.locator('.xterm-rows', { hasText: 'honest a\u0301e\u0323\u0302 end' }).waitFor()
})

test('a paste that ends its own marks, and other controls of it, reach no shell', async () => {
  await using console = await open('/sessions')
  const { page, context } = console
  const { typed } = await hostileTerminal(page, '\u001b[?2004hready')
  await page.locator('.xterm-rows', { hasText: 'ready' }).waitFor()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate(() => navigator.clipboard.writeText('echo 안녕\u001b[201~\nrm -r data\n\u0003\u009b201~\tend'))
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.press('ControlOrMeta+Shift+V')
  const text = 'echo 안녕[201~\rrm -r data\r201~\tend'
  await expect.poll(() => typed.join('')).toBe(`\u001b[200~${text}\u001b[201~`)
})

test('a link with a text of its own opens after a question with its address', async () => {
  await using console = await open('/sessions')
  const { page } = console
  const link = (url: string, text: string) => `\u001b]8;;${url}\u0007${text}\u001b]8;;\u0007\r\n`
  const opened: string[] = []
  await page.exposeFunction('opened', (url: string) => void opened.push(url))
  await page.evaluate(() => {
    window.open = url => {
      ;(window as never as { opened(url: string): void }).opened(String(url))
      return null
    }
  })
  await hostileTerminal(
    page,
    link('https://раураl.example/', 'https://berth.example.org/') + link('javascript:alert(1)', 'script link'),
  )
  const rows = page.locator('.xterm-rows')
  const clickOn = async (text: string) => {
    // xterm.js makes the elements of a row anew when it draws the row.
    const { x, y } = await vi.waitFor(
      async () => (await rows.getByText(text).boundingBox()) ?? expect.unreachable(text),
    )
    await page.mouse.move(x + 20, y + 6)
    await page.mouse.click(x + 24, y + 6)
  }
  await clickOn('https://berth.example.org/')
  const question = page.getByRole('alertdialog', { name: 'Open xn--l-7sba6dbr.example?' })
  await question.getByText('https://раураl.example/').waitFor()
  await look(page, 'terminal-link', console.problems)
  await button(page, 'Cancel').click()
  await question.waitFor({ state: 'hidden' })
  await clickOn('script link')
  expect(opened).toEqual([])
  await clickOn('https://berth.example.org/')
  await question.getByRole('button', { name: 'Open' }).click()
  await expect.poll(() => opened).toEqual(['https://раураl.example/'])
})

test('Option on the keyboard of a Mac types characters, moves by words with arrows, and is Meta where one wants it', async () => {
  await using console = await open('/sessions')
  const { page, context } = console
  const typed: string[] = []
  await context.addInitScript(() => Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' }))
  await context.routeWebSocket(/\/terminal\?/, ws => {
    ws.onMessage(message => typeof message !== 'string' && typed.push(message.toString()))
    ws.send(Buffer.from('$ '))
  })
  await page.reload()
  await goToTerminal(page, SESSION.id)
  await page.getByText('Connected', { exact: true }).waitFor()
  const field = page.locator('.xterm-helper-textarea')
  // A German keyboard: the browser's events for Option+L, which is @ there, and for Option+7, which is |.
  const press = (key: string, code: string, keyCode: number) =>
    field.evaluate(
      (element, it) => {
        const init = { key: it.key, code: it.code, keyCode: it.keyCode, altKey: true, bubbles: true, cancelable: true }
        if (!element.dispatchEvent(new KeyboardEvent('keydown', init))) return
        if (it.key.length > 1) return
        // Fields that browsers still send and xterm.js reads.
        const legacy: Record<string, number> = { charCode: it.key.charCodeAt(0), keyCode: it.key.charCodeAt(0) }
        element.dispatchEvent(new KeyboardEvent('keypress', { ...init, ...legacy }))
      },
      { key, code, keyCode },
    )
  const sends = async (key: string, code: string, keyCode: number) => {
    typed.length = 0
    await press(key, code, keyCode)
    await expect.poll(() => typed.join('')).not.toBe('')
    return typed.join('')
  }
  expect(await sends('@', 'KeyL', 76)).toBe('@')
  expect(await sends('|', 'Digit7', 55)).toBe('|')
  expect(await sends('ArrowLeft', 'ArrowLeft', 37)).toBe('\u001bb')
  expect(await sends('ArrowRight', 'ArrowRight', 39)).toBe('\u001bf')
  await button(page, /^Option is the Meta key/).click()
  expect(await sends('@', 'KeyL', 76)).toBe('\u001bl')
  expect(await sends('ArrowLeft', 'ArrowLeft', 37)).toBe('\u001bb')
  await page.reload()
  await expect.poll(() => button(page, /^Option is the Meta key/).getAttribute('aria-pressed')).toBe('true')
})

test('a taken port names its holder, and a random port is used only by choice', async () => {
  await using console = await open('/sessions', [
    [
      'tunnel/openApp',
      failed('port_in_use', { port: 10_800, holder: { kind: 'process', name: 'nginx', pid: 812 }, offered: 10_847 }),
    ],
  ])
  const { page, host } = console
  await openApps(page)
  await page.getByLabel('Try preferred port').check()
  await button(page, /^JupyterLab/)
    .first()
    .click()
  await page.getByText('nginx (process 812)').waitFor()
  await look(page, 'apps-port-taken', console.problems)
  host.replies.set('tunnel/openApp', failed('app_failed', { why: 'jupyter-lab: command not found' }))
  await button(page, 'Use a random free port').click()
  await page.getByText('jupyter-lab: command not found').waitFor()
  const specs = host.calls.filter(({ method }) => method === 'tunnel/openApp').map(({ args }) => args[0])
  expect(specs).toMatchObject([
    { port: 10_800, onPortTaken: 'fail' },
    { port: 10_800, onPortTaken: 'random' },
  ])
  await look(page, 'apps-failed', console.problems)
})

test('the preferred port counts for SSH and SFTP too', async () => {
  await using console = await open('/sessions')
  const { page, host } = console
  await openApps(page)
  await page.getByLabel('Try preferred port').check()
  await button(page, /^SSH and SFTP/).click()
  const calls = () => host.calls.filter(({ method }) => method === 'ssh/connect').map(({ args }) => args[0])
  await expect.poll(calls).toMatchObject([{ port: 10_800, onPortTaken: 'fail' }])
})

test('a port that no app declares opens for a program, or in a tab', async () => {
  await using console = await open('/sessions')
  const { page, host, double, context } = console
  const portApp = (name: string, protocol: 'http' | 'tcp') => ({ name, title: 'Port', protocol, path: '/' })
  host.replies.set('tunnel/open', ok({ ...TUNNEL, id: 't5', port: 5432, app: portApp('tcp-5432', 'tcp') }))
  const url = `${double.url.replace('127.0.0.1', 'localhost')}/icon.svg`
  const web = { ...TUNNEL, id: 't6', port: 7860, app: portApp('http-7860', 'http') }
  host.replies.set('tunnel/openApp', ok({ url, tunnel: web }))
  await openApps(page)
  await showPorts(page)
  const port = page.getByRole('textbox', { name: 'Port in the session' })
  await port.fill('70000')
  expect(await button(page, 'Open port').isDisabled()).toBe(true)
  await port.fill('5432')
  await button(page, 'For a program').click()
  await button(page, 'Open port').click()
  await page.getByRole('dialog').getByText('127.0.0.1:5432').first().waitFor()
  await button(page, 'In the browser').click()
  await port.fill('7860')
  const [tab] = await Promise.all([context.waitForEvent('page'), button(page, 'Open port').click()])
  await tab.waitForURL(url)
  const specs = host.calls.filter(({ method }) => method.startsWith('tunnel/open')).map(({ args }) => args[0])
  expect(specs).toMatchObject([
    { sessionId: SESSION.id, app: 'tcp-5432', port: 5432, onPortTaken: 'random' },
    { sessionId: SESSION.id, app: 'http-7860', port: 7860, onPortTaken: 'random' },
  ])
})

test('a link for people without an account is made and ended; a refusal says why, and keeps what was typed', async () => {
  await using console = await open('/sessions')
  const { page, world } = console
  world.published = { items: [], publishing: { on: true, maxHours: 168, ports: null } }
  const route = `POST /api/v1/sessions/${SESSION.id}/apps/jupyterlab/published`
  world.failures.set(route, { code: 'publishing_off' })
  await openApps(page)
  await showPorts(page)
  await button(page, 'New link').click()
  await page.getByLabel('Password').first().fill('For-my-group-1')
  await button(page, 'Make link').click()
  await page.getByRole('alert').filter({ hasText: 'Apps cannot be published here' }).waitFor()
  world.failures.delete(route)
  await button(page, 'Make link').click()
  await page.getByText('https://made.apps.example.org/').waitFor()
  await page.getByText('asks for a password').waitFor()
  expect(world.changes.at(-1)).toMatchObject({ request: route, body: { password: 'For-my-group-1' } })

  // A link that could not be ended stays in the list.
  const end = `DELETE /api/v1/published-apps/${world.published.items[0]?.id ?? ''}`
  world.failures.set(end, { code: 'unavailable' })
  await button(page, 'End the link to JupyterLab').click()
  await page.locator('.notification.error').waitFor()
  await page.getByText('https://made.apps.example.org/').waitFor()
  world.failures.delete(end)
  await button(page, 'End the link to JupyterLab').click()
  await expect.poll(() => page.getByText('https://made.apps.example.org/').count()).toBe(0)
  expect(world.published.items).toEqual([])
})

test('an app opens in a tab of its own that cannot reach back to the console', async () => {
  await using console = await open('/sessions')
  const { page, host, double, context } = console
  // The same double represents the app: only the tab that goes there matters.
  const url = `${double.url.replace('127.0.0.1', 'localhost')}/icon.svg`
  const app = { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' }
  host.replies.set('tunnel/openApp', ok({ url, tunnel: { ...TUNNEL, id: 't2', app } }))
  await openApps(page)
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    button(page, /^JupyterLab/)
      .first()
      .click(),
  ])
  await tab.waitForURL(url)
  expect(await tab.evaluate(() => window.opener as unknown)).toBeNull()
  await page.getByText('Opened in a new tab.').waitFor()
  // Also from the list of tunnels: without its ticket, the address of a tunnel would open nothing.
  await page.bringToFront()
  await showPorts(page)
  const list = page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'JupyterLab' })
  const [again] = await Promise.all([
    context.waitForEvent('page'),
    list.getByRole('button', { name: 'Open JupyterLab', exact: true }).click(),
  ])
  await again.waitForURL(url)
})

test('a lost terminal returns to its shell by itself, and says so when the session has ended', async () => {
  await using console = await open('/sessions')
  const { page, context } = console
  const sockets: WebSocketRoute[] = []
  const sizes: string[] = []
  await context.routeWebSocket(/\/terminal\?/, ws => {
    sockets.push(ws)
    ws.onMessage(message => {
      if (typeof message === 'string') sizes.push(message)
      else ws.send(message)
    })
    ws.send(Buffer.from(`shell-no-${sockets.length}\r\n`))
  })
  await goToTerminal(page, SESSION.id)
  await page.locator('.xterm-rows', { hasText: 'shell-no-1' }).waitFor()
  await page.locator('.xterm-helper-textarea').pressSequentially('echo-äöü')
  await page.locator('.xterm-rows', { hasText: 'echo-äöü' }).waitFor()
  await sockets[0]!.close({ code: 4006 })
  await page.locator('.xterm-rows', { hasText: 'shell-no-2' }).waitFor()
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.setViewportSize({ width: 900, height: 600 })
  await expect.poll(() => sizes.at(-1)).toContain('"resize"')
  await sockets[1]!.close({ code: 4001 })
  await page.getByText('The session has ended').waitFor()
  await look(page, 'terminal-ended', console.problems)
})
