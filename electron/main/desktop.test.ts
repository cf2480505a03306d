import { EventEmitter } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type HostEvents } from '#proxy/contract'
import { because, SessionId } from '#manager/contract'
import { TunnelId, type Tunnel } from '#proxy/contract'
import { electron, questions, stub } from '../../test/fixtures/electron-stub.ts'
import { type UserProxy } from './server/connection.ts'
import { createMemoryCredentials } from './credentials/credential-store.ts'
import { startDesktop } from './desktop.ts'
import { openSettingsFile, type SettingsFile } from './settings/settings-file.ts'
import { type EmbeddedStack, type StackReport } from './stack/embedded-stack.ts'
import { createWarnings } from './faults/warnings.ts'
import { type DeepLinks, listenForDeepLinks } from './windows/deep-links.ts'

const TUNNEL: Tunnel = {
  id: TunnelId.parse('t1'),
  sessionId: SessionId.parse('01900000-0000-7000-8000-0000000000aa'),
  sessionName: 'train',
  app: { name: 'sshd', title: 'SSH', protocol: 'tcp', path: '/' },
  host: '127.0.0.1',
  port: 30_001,
  state: 'open',
  connections: 3,
  bytesUp: 0,
  bytesDown: 0,
  lastError: null,
  openedAt: '2026-11-20T12:00:00.000Z',
}
const ENDPOINT = 'http://127.0.0.1:9'
let dir: string
let settings: SettingsFile

const signals = new EventEmitter()
const log = { warn: () => undefined, error: () => undefined }
const someLinks = (...argv: string[]) => listenForDeepLinks({ app: electron.app, argv, log })

/** Generous, because the machine may be busy with databases and containers. */
const eventually = (check: () => void) => vi.waitFor(check, 30_000)

interface Fake {
  stopped: string[]
  tunnels: Tunnel[]
  wakes: number
  listeners: ((payload: HostEvents['tunnel:changed']) => void)[]
}

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-desktop-'))
  stub.windows.length = 0
  stub.questions.length = 0
  stub.trays.length = 0
  stub.app.removeAllListeners()
  signals.removeAllListeners()
  stub.app.exitCode = undefined
})
afterEach(async () => {
  await settings.saved()
  await rm(dir, { recursive: true })
})

/** Settings of somebody who has chosen Berth on this computer. */
async function chosenSettings() {
  const settings = await openSettingsFile(path.join(dir, 'desktop.json'))
  await settings.update({ endpoint: { kind: 'embedded' } })
  return settings
}

interface Options {
  owned?: boolean
  startStack?: (report: StackReport) => Promise<EmbeddedStack>
  fixedEndpoint?: string
  links?: DeepLinks
  startsInBackground?: boolean
}

async function aDesktop({
  owned = true,
  startStack,
  fixedEndpoint,
  links = someLinks(),
  startsInBackground = false,
}: Options = {}): Promise<Fake> {
  const fake: Fake = { stopped: [], tunnels: [], wakes: 0, listeners: [] }
  const proxy: UserProxy = {
    tunnel: {
      open: () => Promise.resolve(TUNNEL),
      openApp: () => Promise.reject(new Error('not asked')),
      list: () => Promise.resolve(fake.tunnels),
      close: () => Promise.resolve(),
      wake: () => Promise.resolve(),
    },
    ssh: {
      connect: () => Promise.reject(new Error('not asked')),
      keyFile: () => Promise.reject(new Error('not asked')),
    },
    sftp: {
      open: () => Promise.reject(new Error('not asked')),
      state: () => Promise.resolve(null),
      close: () => Promise.resolve(),
      keyFile: () => Promise.reject(new Error('not asked')),
    },
    settings: () => Promise.resolve({ preferredSshPort: null, manageSshConfig: true }),
    saveSettings: settings => Promise.resolve(settings),
    on: (event, listener) => {
      if (event === 'tunnel:changed') fake.listeners.push(listener as Fake['listeners'][number])
    },
    wake: () => void fake.wakes++,
    [Symbol.asyncDispose]: () => Promise.resolve(void fake.stopped.push('proxy')),
  }
  const stack: EmbeddedStack = {
    endpoint: ENDPOINT,
    ticket: null,
    owned,
    [Symbol.asyncDispose]: () => Promise.resolve(void fake.stopped.push('stack')),
  }
  settings = await chosenSettings()
  const credentials = createMemoryCredentials()
  await credentials.set(ENDPOINT, 'token')
  startDesktop({
    electron,
    questions,
    process: signals,
    consoleDir: dir,
    preload: '/preload.cjs',
    links,
    fixedEndpoint,
    settings,
    warnings: createWarnings({ settings, log }),
    credentials,
    checkDocker: () => Promise.resolve({ state: 'ready', command: null }),
    openServer: () => Promise.resolve(),
    signInBegun: () => Promise.resolve(),
    logs: { folder: dir },
    draggedFolder: path.join(dir, 'dragged'),
    loginItem: { isOn: () => Promise.resolve(false), set: () => Promise.resolve() },
    authorities: { apply: () => Promise.resolve(), choose: () => Promise.resolve() },
    crashReports: { start: () => undefined, show: () => Promise.resolve(), tidy: () => Promise.resolve() },
    startsInBackground,
    updates: {
      isOn: false,
      check: () => Promise.resolve(),
      begin: () => undefined,
      [Symbol.dispose]: () => undefined,
    },
    language: () => 'en',
    proxySignIns: { answered: () => Promise.resolve(false), forgetCancelled: () => undefined },
    answerQuestion: () => Promise.resolve(new Response(null, { status: 404 })),
    hasBrowser: () => Promise.resolve(true),
    programs: {
      list: () => Promise.resolve([]),
      open: () => Promise.resolve(),
      tunnelClosed: () => Promise.resolve(),
      close: () => Promise.resolve(void fake.stopped.push('drives')),
    },
    startStack: startStack ?? (() => Promise.resolve(stack)),
    startProxy: () => Promise.resolve(proxy),
    network: {
      shownBy: () => Promise.reject(new Error('not asked')),
      agentFor: () => Promise.resolve(undefined),
      fetch: () =>
        Promise.resolve(
          Response.json({ user: { id: '01900000-0000-7000-8000-000000000001' }, originSecret: null, token: null }),
        ),
    },
    log,
  })
  return fake
}

const fromThePage = () => ({
  sender: stub.windows[0]!.webContents,
  senderFrame: { url: 'berth://console/', parent: null },
})

/** Resolves when the page has requested and received the endpoint. */
const connected = () => stub.handlers.get('host:host.endpoint')!(fromThePage(), [])

/** Opens a tunnel in the way that a page does. */
async function openTunnel(fake: Fake): Promise<void> {
  fake.tunnels = [TUNNEL]
  const event = fromThePage()
  const spec = { sessionId: '01900000-0000-7000-8000-0000000000aa', app: 'sshd' }
  expect(await stub.handlers.get('host:tunnel.open')!(event, [spec])).toEqual({ ok: true, value: TUNNEL })
}

describe('quitting', () => {
  test('quitting asks while tunnels are open; "keep running" leaves them, and hides the window', async () => {
    const fake = await aDesktop()
    await openTunnel(fake)
    stub.answer = 0
    stub.app.quit()
    await eventually(() => expect(stub.windows[0]!.visible).toBe(false))
    expect(stub.questions[0]!.detail).toContain('1 open tunnel with 3 connections')
    expect(fake.stopped).toEqual([])
    expect(stub.app.exitCode).toBeUndefined()
    stub.app.emit('second-instance', {}, [])
    expect(stub.windows).toHaveLength(1)
    expect(stub.windows[0]!.visible).toBe(true)
  })

  test('"stop" takes drives away, ends the tunnels, then the stack that they run through, then the app', async () => {
    const fake = await aDesktop()
    await openTunnel(fake)
    stub.answer = 1
    stub.app.quit()
    await eventually(() => expect(stub.app.exitCode).toBe(0))
    expect(fake.stopped).toEqual(['drives', 'proxy', 'stack'])
  })

  test('"cancel" changes nothing', async () => {
    const fake = await aDesktop()
    await openTunnel(fake)
    stub.answer = 2
    stub.app.quit()
    await eventually(() => expect(stub.questions).toHaveLength(1))
    await eventually(() => expect(stub.windows[0]!.visible).toBe(true))
    expect(fake.stopped).toEqual([])
    expect(stub.app.exitCode).toBeUndefined()
  })

  test('quitting asks about an own stack, not about one that another process runs', async () => {
    await aDesktop({ owned: true })
    await connected()
    stub.answer = 1
    stub.app.quit()
    await eventually(() => expect(stub.app.exitCode).toBe(0))
    expect(stub.questions).toHaveLength(1)

    stub.app.removeAllListeners()
    stub.app.exitCode = undefined
    await aDesktop({ owned: false })
    await connected()
    stub.app.quit()
    await eventually(() => expect(stub.app.exitCode).toBe(0))
    expect(stub.questions).toHaveLength(1)
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'])('%s ends everything in order, and asks nothing', async signal => {
    const fake = await aDesktop()
    await openTunnel(fake)
    signals.emit(signal, signal)
    await eventually(() => expect(stub.app.exitCode).toBe(0))
    expect(fake.stopped).toEqual(['drives', 'proxy', 'stack'])
    expect(stub.questions).toEqual([])
  })

  test('two clicks ask once', async () => {
    await aDesktop()
    await connected()
    stub.answer = 2
    stub.app.quit()
    stub.app.quit()
    await eventually(() => expect(stub.questions).toHaveLength(1))
  })
})

test('started by the sign-in to the computer, the app has no window on the screen until somebody asks for one', async () => {
  await aDesktop({ startsInBackground: true })
  expect(stub.windows.map(({ visible }) => visible)).toEqual([false])
  stub.app.emit('second-instance', {}, [])
  expect(stub.windows.map(({ visible }) => visible)).toEqual([true])
})

test('a notification leads to its place, and an address of elsewhere is refused', async () => {
  await aDesktop()
  const notify = (notice: object) => stub.handlers.get('host:desktop.notify')!(fromThePage(), [notice])
  stub.notifications.length = 0
  expect(await notify({ text: 'train runs', to: '/sessions' })).toEqual({ ok: true, value: undefined })
  stub.notifications[0]!.emit('click')
  expect(stub.windows[0]!.webContents.url).toBe('berth://console/#/sessions')
  for (const to of ['https://evil.example', '//evil.example', 'javascript:alert(1)', ''])
    expect(await notify({ text: 'x', to })).toMatchObject({ ok: false, error: { code: 'bad_request' } })
  expect(stub.notifications).toHaveLength(1)
})

test('menus and title bars have the theme of the page, also at the next start', async () => {
  await aDesktop()
  expect(electron.nativeTheme.themeSource).toBe('system')
  const theme = (choice: string) => stub.handlers.get('host:desktop.theme')!(fromThePage(), [choice])
  expect(await theme('dark')).toEqual({ ok: true, value: undefined })
  expect(electron.nativeTheme.themeSource).toBe('dark')
  expect(await theme('pink')).toMatchObject({ ok: false, error: { code: 'bad_request' } })
  electron.nativeTheme.themeSource = 'system'
  await aDesktop()
  expect(electron.nativeTheme.themeSource).toBe('dark')
  electron.nativeTheme.themeSource = 'system'
})

test('reloading the page keeps tunnels, and the page still gets their events', async () => {
  const fake = await aDesktop()
  await openTunnel(fake)
  const page = stub.windows[0]!.webContents
  page.navigate('berth://console/')
  fake.listeners[0]!(TUNNEL)
  expect(page.sent.at(-1)).toEqual({ channel: 'host:event', args: ['tunnel:changed', TUNNEL] })
  expect(fake.stopped).toEqual([])
})

test('partial isolation on this computer is a warning on the page until the user closes it', async () => {
  const reason = because('iptables_not_installed')
  let report: StackReport | undefined
  await aDesktop({
    startStack(given) {
      report = given
      return Promise.reject(new Error('not asked'))
    },
  })
  await eventually(() => expect(report).toBeDefined())
  report?.onIsolation(reason)
  const warning = { kind: 'partly_isolated', reason }
  const page = stub.windows[0]!.webContents
  expect(page.sent).toContainEqual({ channel: 'host:event', args: ['desktop:warned', [warning]] })
  const call = (method: string, ...args: unknown[]) => stub.handlers.get(`host:desktop.${method}`)!(fromThePage(), args)
  expect(await call('stack')).toMatchObject({ ok: true, value: { partlyIsolated: reason } })
  expect(await call('warnings')).toEqual({ ok: true, value: [warning] })
  await call('closeWarning', 'partly_isolated')
  expect(await call('warnings')).toEqual({ ok: true, value: [] })
  report?.onIsolation(null)
  report?.onIsolation(reason)
  expect(await call('warnings')).toEqual({ ok: true, value: [warning] })
})

test('quitting does not wait for a hanging connection', async () => {
  await aDesktop({ startStack: () => new Promise(() => undefined) })
  stub.app.quit()
  await eventually(() => expect(stub.app.exitCode).toBe(0))
})

describe('a deep link', () => {
  const link = (n: number) => `berth://open/sessions/01900000-0000-7000-8000-00000000000${n}`
  const openUrl = (url: string) => stub.app.emit('open-url', { preventDefault: () => undefined }, url)

  test('the link that starts the app is shown, however early it arrives', async () => {
    const links = someLinks()
    openUrl(link(1))
    openUrl('berth://nowhere')
    await aDesktop({ links })
    expect(stub.windows).toHaveLength(1)
    expect(stub.windows[0]!.webContents.url).toContain('000000000001')
  })

  test('the link of a second start replaces that of the first start', async () => {
    const links = someLinks('berth', link(1))
    stub.app.emit('second-instance', {}, ['berth', link(2)])
    await aDesktop({ links })
    expect(stub.windows[0]!.webContents.url).toContain('000000000002')
  })
})

test.each(['http://berth.example', 'ftp://127.0.0.1', 'nonsense', 'http://user@localhost:8400'])(
  'BERTH_ENDPOINT=%s is refused: a bearer token would be sent there',
  async fixedEndpoint => {
    await expect(aDesktop({ fixedEndpoint })).rejects.toMatchObject({ code: 'config_invalid' })
    expect(stub.windows).toEqual([])
  },
)

test('the menu offers another server only where the environment does not decide', async () => {
  const labels = () => JSON.stringify(stub.trays)
  await aDesktop({ fixedEndpoint: ENDPOINT })
  expect(labels()).not.toContain('Change Server…')
  await aDesktop()
  expect(labels()).toContain('Change Server…')
})

test('tunnels are woken when the computer is, and when its page says that the network is back', async () => {
  const fake = await aDesktop()
  await openTunnel(fake)
  const { powerMonitor } = electron as unknown as { powerMonitor: NodeJS.EventEmitter }
  powerMonitor.emit('resume')
  await eventually(() => expect(fake.wakes).toBe(1))
  powerMonitor.emit('unlock-screen')
  await eventually(() => expect(fake.wakes).toBe(2))
  expect(await stub.handlers.get('host:tunnel.wake')!(fromThePage(), [])).toEqual({ ok: true, value: undefined })
  expect(fake.wakes).toBe(3)
})
