import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { compileFunction } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import { channelOf, HOST_METHODS, type HostBridge, type HostEventsBridge, type Reply } from '#proxy/contract'
import { contextBridge, ipcRenderer, stub, type StubContents } from '../fixtures/electron-stub.ts'

/**
 * The shipped bundles, main process and preload, against the stub of Electron (which describes its limits) and a double of the manager.
 * Tests with a real Electron are in `test/desktop/`.
 */
const ROOT = path.resolve(import.meta.dirname, '../..')
const SESSION = '01900000-0000-7000-8000-0000000000aa'
const FOLDER = '01900000-0000-7000-8000-0000000000f1'
const ME = {
  user: { id: '01900000-0000-7000-8000-000000000001', email: 'a@b.c' },
  expiresAt: '2030-01-01T00:00:00Z',
}

let dir: string
let manager: Server
const seen: { url: string; authorization: string | undefined }[] = []
let host: HostBridge
let hostEvents: HostEventsBridge
let page: StubContents

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-desktop-'))
  await mkdir(path.join(dir, 'page/assets'), { recursive: true })
  await writeFile(path.join(dir, 'page/index.html'), '<title>Berth</title>')
  await writeFile(path.join(dir, 'secret'), 'top secret')
  await symlink(path.join(dir, 'secret'), path.join(dir, 'page/assets/link'))
  manager = createServer((req, res) => {
    seen.push({ url: req.url ?? '', authorization: req.headers.authorization })
    const isSignIn = req.url === '/api/v1/auth/login'
    const known = isSignIn || req.url === '/healthz' || req.headers.authorization === 'Bearer desktop-token'
    const problem = { type: 'x', title: 'x', status: 401, code: 'not_signed_in', retry: false }
    req.resume().on('end', () => {
      res.writeHead(known ? 200 : 401, { 'content-type': known ? 'application/json' : 'application/problem+json' })
      res.end(JSON.stringify(known ? { ...ME, token: isSignIn ? 'desktop-token' : undefined } : problem))
    })
  })
  const terminals = new WebSocketServer({ noServer: true })
  manager.on('upgrade', (req, socket, head) => {
    seen.push({ url: req.url ?? '', authorization: req.headers.authorization })
    terminals.handleUpgrade(req, socket, head, ws => {
      ws.on('message', (data: Buffer, isBinary) => isBinary && ws.send(data))
    })
  })
  await new Promise<void>(resolve => manager.listen(0, '127.0.0.1', resolve))
  Object.assign(process.env, {
    BERTH_ENDPOINT: `http://127.0.0.1:${(manager.address() as AddressInfo).port}`,
    BERTH_CONFIG_DIR: path.join(dir, 'config'),
    BERTH_CONSOLE_DIR: path.join(dir, 'page'),
    BERTH_LOG: 'fatal',
  })
  const built = await promisify(execFile)(process.execPath, [path.join(ROOT, 'build/build.ts'), 'electron'])
  expect(built.stderr).toBe('')
  expect(built.stdout).toMatch(/^electron: dist\/electron \(.* s\)\n$/)
  await import(/* @vite-ignore */ path.join(ROOT, 'dist/electron/main/main.js'))
  await vi.waitFor(() => expect(stub.windows).toHaveLength(1), 120_000)
  page = stub.windows[0]!.webContents
  stub.page = page
  // A sandboxed preload gets `require` only for Electron's own modules; so does this one.
  const source = await readFile(path.join(ROOT, 'dist/electron/preload/index.cjs'), 'utf8')
  const load = compileFunction(source, ['require']) as (require: (name: string) => unknown) => void
  load(name => {
    if (name !== 'electron') throw new Error(`a sandboxed preload cannot load ${name}`)
    return { contextBridge, ipcRenderer }
  })
  host = stub.exposed.get('host') as HostBridge
  hostEvents = stub.exposed.get('hostEvents') as HostEventsBridge
})
afterAll(async () => {
  for (const name of ['BERTH_ENDPOINT', 'BERTH_CONFIG_DIR', 'BERTH_CONSOLE_DIR', 'BERTH_LOG'])
    Reflect.deleteProperty(process.env, name)
  manager.closeAllConnections()
  await new Promise(resolve => manager.close(resolve))
  await rm(dir, { recursive: true })
})

const ask = (url: string, init?: RequestInit) =>
  Promise.resolve(stub.schemes.get('berth')!(new Request(url, init) as never))
const codeOf = (reply: Reply<unknown>) => (reply.ok ? 'ok' : reply.error.code)

const ARGUMENTS: { [G in keyof typeof HOST_METHODS]: Record<string, unknown[]> } = {
  host: {
    info: [],
    settings: [],
    saveSettings: [{ preferredSshPort: 40_022, manageSshConfig: false }],
    openExternal: ['https://example.com/docs', 'berth'],
    endpoint: [],
    setEndpoint: [{ kind: 'embedded' }],
  },
  tunnel: {
    open: [{ sessionId: SESSION, app: 'sshd' }],
    openApp: [{ sessionId: SESSION, app: 'jupyterlab' }],
    list: [],
    close: ['no-such-tunnel'],
    wake: [],
  },
  sftp: { open: [{}], state: [], close: [], keyFile: ['ppk'] },
  ssh: {
    connect: [{ sessionId: SESSION, app: 'sshd' }],
    keyFile: [SESSION, 'ppk'],
    programs: [],
    openIn: ['terminal', SESSION],
  },
  drag: { fetch: [{ folderId: FOLDER, paths: ['report.csv'] }], start: ['no-such-id'] },
  desktop: {
    servers: [],
    forgetServer: ['https://berth.example'],
    openServer: ['https://berth.example'],
    stack: [],
    showLogs: [],
    language: ['en'],
    theme: ['dark'],
    options: [],
    saveOptions: [
      {
        openAtLogin: false,
        keepInBackground: false,
        checkSpelling: false,
        graphicsAcceleration: true,
        crashReports: false,
        linkHosts: [],
        caFile: null,
      },
    ],
    showCrashReports: [],
    chooseCaFile: [],
    tryAgain: [],
    newCertificate: [],
    report: [
      {
        unread: 1,
        sessions: [{ id: SESSION, name: 'train' }],
        uploads: { fraction: 0.5, isPaused: false },
        hasEdits: false,
      },
    ],
    warnings: [],
    closeWarning: ['sign_in_not_kept'],
    notify: [{ text: 'train runs', to: `/sessions/${SESSION}` }],
  },
  terminal: {
    open: [{ sessionId: SESSION, name: 'main', cols: 80, rows: 24 }],
    write: ['no-such-terminal', new Uint8Array([65])],
    resize: ['no-such-terminal', { cols: 100, rows: 30 }],
    close: ['no-such-terminal'],
  },
}
const methods = Object.entries(HOST_METHODS).flatMap(([group, names]) =>
  Object.keys(names).map(name => [group, name] as const),
)
const call = (group: string, name: string, args: unknown[]) =>
  (host as unknown as Record<string, Record<string, (...a: unknown[]) => Promise<Reply<unknown>>>>)[group]![name]!(
    ...args,
  )

test('the window is sandboxed and isolated, and shows only our own page', () => {
  expect(stub.isSandboxed).toBe(true)
  expect(stub.privileged).toEqual(['berth'])
  expect(stub.windows[0]!.options.webPreferences).toMatchObject({
    contextIsolation: true,
    sandbox: true,
    nodeIntegration: false,
    webviewTag: false,
    preload: path.join(ROOT, 'dist/electron/preload/index.cjs'),
  })
  expect(page.url).toBe('berth://console/#/')
})

describe('the bridge', () => {
  test.each(methods)('%s.%s travels from the page to its handler and back', async (group, name) => {
    const reply = await call(group, name, ARGUMENTS[group as keyof typeof ARGUMENTS][name]!)
    // Without a sign-in, methods that need a user fail with that code, and no failure is unexpected. Nothing was fetched for a drag.
    const expected =
      group === 'drag' && name === 'start' ? ['not_found'] : ['ok', 'not_signed_in', 'forbidden', 'unavailable']
    expect(expected).toContain(codeOf(reply))
  })

  test.each(methods)('%s.%s refuses a frame that is not the top frame of our page', async (group, name) => {
    const args = ARGUMENTS[group as keyof typeof ARGUMENTS][name]!
    const answer = { url: 'berth://console/api/v1/me', parent: null }
    for (const frame of [{ url: 'https://evil.example/', parent: null }, answer, { url: page.url, parent: {} }, null]) {
      stub.frame = frame
      expect(codeOf(await call(group, name, args))).toBe('forbidden')
    }
    stub.frame = undefined
  })

  test.each(methods)('%s.%s refuses arguments that are not in its schema', async (group, name) => {
    expect(codeOf(await call(group, name, [{ surprise: true }, 1, 2, 3]))).toBe('bad_request')
  })

  test('a channel that the contract does not name does not exist', async () => {
    await expect(ipcRenderer.invoke('host:shell.exec', ['id'])).rejects.toThrow('No handler')
    expect([...stub.handlers.keys()].toSorted()).toEqual(methods.map(([g, n]) => channelOf(g, n)).toSorted())
  })

  test('events reach their listeners until these unsubscribe', () => {
    const heard: unknown[] = []
    const stop = hostEvents.on('tunnel:closed', payload => heard.push(payload))
    page.send('host:event', 'tunnel:closed', { id: 't1', reason: 'user' })
    page.send('host:event', 'tunnel:changed', { id: 't1' })
    stop()
    page.send('host:event', 'tunnel:closed', { id: 't2', reason: 'user' })
    expect(heard).toEqual([{ id: 't1', reason: 'user' }])
  })
})

describe('the scheme', () => {
  test('the scheme serves the page with a policy, and nothing outside its folder', async () => {
    const reply = await ask('berth://console/')
    expect(await reply.text()).toContain('Berth')
    expect(reply.headers.get('content-security-policy')).toContain("script-src 'self'")
    for (const place of ['/../secret', '/%2e%2e/secret', '/assets/..%2f..%2fsecret', '/assets/link', '/..%5csecret']) {
      const refused = await ask(`berth://console${place}`)
      expect([place, refused.status]).toEqual([place, 404])
      expect(await refused.text()).not.toContain('top secret')
    }
  })

  test('the sign-in keeps its token in the main process, which uses it for the API and for terminals', async () => {
    const body = JSON.stringify({ email: 'a@b.c', password: 'p' })
    const reply = await ask('berth://console/api/v1/auth/login', { method: 'POST', body })
    expect(reply.status).toBe(200)
    expect(await reply.text()).not.toContain('desktop-token')
    expect((await ask('berth://console/api/v1/me')).status).toBe(200)
    expect(seen.at(-1)).toEqual({ url: '/api/v1/me', authorization: 'Bearer desktop-token' })

    const opened = await host.terminal.open({ sessionId: SESSION as never, name: 'main', cols: 80, rows: 24 })
    expect(opened.ok).toBe(true)
    const id = opened.ok ? opened.value : ''
    expect(seen.at(-1)).toEqual({
      url: `/api/v1/sessions/${SESSION}/terminal?name=main&cols=80&rows=24`,
      authorization: 'Bearer desktop-token',
    })
    const heard: string[] = []
    hostEvents.on('terminal:data', ({ id: from, data }) => from === id && heard.push(new TextDecoder().decode(data)))
    await host.terminal.write(id, new TextEncoder().encode('echo'))
    await expect.poll(() => heard.join('')).toBe('echo')
    await host.terminal.close(id)
  })
})

describe('leaving the page', () => {
  test('the window stays on our page', () => {
    expect(page.navigate('https://evil.example/')).toBe(false)
    expect(page.navigate('file:///etc/passwd')).toBe(false)
    expect(page.navigate('berth://console/api/v1/me')).toBe(false)
    expect(page.navigate('berth://console/#/sessions')).toBe(true)
  })

  test('allowed links open in the browser after a question, others nowhere; the app opens no foreign page', async () => {
    stub.opened.length = 0
    stub.questions.length = 0
    stub.answer = 0
    expect(page.openWindow('https://example.com/')).toEqual({ action: 'deny' })
    expect(page.openWindow('file:///etc/passwd')).toEqual({ action: 'deny' })
    expect(page.openWindow('berth://console/api/v1/me')).toEqual({ action: 'deny' })
    await expect.poll(() => stub.opened).toEqual(['https://example.com/'])
    expect(stub.questions.map(({ message }) => message)).toEqual(['Open example.com in the browser?'])
    expect(page.openWindow('berth://console/#/terminal/x')).toMatchObject({
      action: 'allow',
      outlivesOpener: true,
      overrideBrowserWindowOptions: { webPreferences: { sandbox: true, contextIsolation: true } },
    })
  })

  test('permissions are denied, except writing the clipboard from our page', () => {
    const may = (permission: string, url: string) => {
      let answer: boolean | undefined
      const details = { requestingUrl: url } as never
      stub.permissionRequest!(null as never, permission as never, granted => (answer = granted), details)
      return answer
    }
    expect(may('media', 'berth://console/')).toBe(false)
    expect(may('clipboard-read', 'berth://console/')).toBe(false)
    expect(may('clipboard-sanitized-write', 'berth://console/')).toBe(true)
    expect(may('clipboard-sanitized-write', 'https://evil.example/')).toBe(false)
  })

  test('a second start and a deep link only move the window', () => {
    stub.app.emit('second-instance', {}, ['berth', `berth://open/sessions/${SESSION}`])
    expect(page.url).toBe(`berth://console/#/sessions/${SESSION}`)
    stub.app.emit('open-url', { preventDefault: () => undefined }, 'berth://console/#/sign-in?ticket=stolen')
    expect(page.url).toBe(`berth://console/#/sessions/${SESSION}`)
  })
})

test('quitting with nothing open asks nothing', async () => {
  const before = stub.questions.length
  stub.app.quit()
  await expect.poll(() => stub.app.exitCode).toBe(0)
  expect(stub.questions.slice(before).filter(({ type }) => type === 'question')).toEqual([])
})
