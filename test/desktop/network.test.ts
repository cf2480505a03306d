import { execFile } from 'node:child_process'
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createServer as createTlsServer, type Server } from 'node:tls'
import { promisify } from 'node:util'
import { type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { publicHalf, signHandover, signManifest } from '../../build/updates/sign.ts'
import { type ConsoleDouble, startConsoleDouble } from '../e2e/console-double.ts'
import { button, signIn } from '../e2e/console-steps.ts'
import { aWorld } from '../e2e/console-world.ts'
import { violationsOf } from '../fixtures/browser.ts'
import { type Authority, createAuthority } from '../fixtures/authority.ts'
import { type ConnectProxy, startConnectProxy } from '../fixtures/connect-proxy.ts'
import { openApp, openDesktop, readSettings, type Desktop, type RunningApp } from './open-app.ts'

/**
 * The desktop app in a company network, in a real Electron: only the proxy knows the name of the server, and a PAC file names the proxy.
 */
const NAME = 'berth.company.example'
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
let desktop: Desktop
let double: ConsoleDouble
let proxy: ConnectProxy
let app: RunningApp
let fingerprint: string
let tls: Server
let authority: Authority

beforeAll(async () => {
  desktop = stack.use(await openDesktop())
  double = stack.use(await startConsoleDouble(aWorld({ signedIn: false })))
  authority = stack.use(await createAuthority([NAME]))
  fingerprint = new X509Certificate(authority.server.cert).fingerprint256
  tls = createTlsServer(authority.server, client => {
    const manager = connect(Number(new URL(double.url).port), '127.0.0.1')
    client.on('error', () => manager.destroy())
    manager.on('error', () => client.destroy())
    client.pipe(manager).pipe(client)
  })
  await once(tls.listen(0, '127.0.0.1'), 'listening')
  stack.defer(() => void tls.close())
  proxy = stack.use(await startConnectProxy({ [`${NAME}:443`]: `127.0.0.1:${(tls.address() as AddressInfo).port}` }))
  const pac = createServer((_request, response) => {
    response.setHeader('content-type', 'application/x-ns-proxy-autoconfig')
    const { host } = new URL(proxy.url)
    response.end(`function FindProxyForURL(url, host) { return host === '${NAME}' ? 'PROXY ${host}' : 'DIRECT' }`)
  })
  await once(pac.listen(0, '127.0.0.1'), 'listening')
  stack.defer(() => void pac.close())
  const list = await startUpdates()
  const packageFile = join(desktop.app, 'package.json')
  const about = await readFile(packageFile, 'utf8')
  await writeFile(packageFile, JSON.stringify({ ...JSON.parse(about), berthUpdates: list }))
  app = await openApp(desktop, {
    args: [`--proxy-pac-url=http://127.0.0.1:${(pac.address() as AddressInfo).port}/proxy.pac`],
  })
  stack.use(app)
  await writeFile(packageFile, about)
})
/** A list with version 9.0.0 in every Linux format, signed by a key to which the pinned one handed over. */
async function startUpdates(): Promise<{ url: string; publicKey: string }> {
  const [pinned, next] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
  const sha512 = createHash('sha512').update('the new app').digest('hex')
  const files = ['deb', 'rpm', 'tar.gz'].map(kind => ({
    platform: 'linux',
    arch: 'x64',
    kind,
    name: `berth.${kind}`,
    sizeBytes: 11,
    sha512,
  }))
  const signed = signManifest({ version: '9.0.0', serial: 3, expiresAt: '2999-01-01T00:00:00.000Z', files }, next, [
    signHandover(publicHalf(next), pinned),
  ])
  const server = createServer((request, response) => response.end(request.url === '/list' ? signed : 'the new app'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  stack.defer(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`
  return { url, publicKey: publicHalf(pinned) }
}
afterAll(() => stack.disposeAsync())

/** The window that asks for the sign-in to the proxy, once it is there. */
async function question(): Promise<Page> {
  const find = () => app.electron.windows().find(window => window.url().startsWith('berth://question/'))
  await expect.poll(find).toBeDefined()
  return find()!
}

/** Playwright evaluates code as if the user had just clicked. */
const inPage = (code: string) => app.page.evaluate(code)

test('a certificate that no authority vouches for is shown once, and pinned when the user trusts it', async () => {
  const connectTo = () => inPage(`host.host.setEndpoint({ kind: 'remote', url: 'https://${NAME}' })`)
  await app.answer(0)
  expect(await connectTo()).toMatchObject({ ok: false, error: { code: 'unavailable' } })
  await app.answer(1)
  expect(await connectTo()).toMatchObject({ ok: true })
  for (const { message, detail } of await app.questions()) {
    expect(message).toBe(`Trust the certificate of ${NAME}?`)
    expect(detail?.replaceAll('\n', '')).toContain(fingerprint)
  }
  expect(await app.questions()).toHaveLength(2)
  expect(await readSettings(app.configDir)).toMatchObject({
    certificates: { [`https://${NAME}`]: expect.stringMatching(/^key:/) as string },
  })
  await inPage(`location.hash = '#/'`)
  await app.page.reload()
})

test('a proxy that wants a name and a password: the user is asked, again after a wrong one, and everything goes by it then', async () => {
  proxy.wants = 'mira@company:se:cret'
  proxy.cut()
  const me = () => inPage(`fetch('/api/v1/me').then(answer => answer.json())`) as Promise<{ code: string }>
  const cancelled = me()
  const first = await question()
  expect(await first.getByRole('main').textContent()).toContain(proxy.url)
  for (const colorScheme of ['light', 'dark'] as const) {
    await first.emulateMedia({ colorScheme })
    expect(await violationsOf(first, colorScheme)).toEqual([])
    if (process.env.BERTH_PICTURES) await first.screenshot({ path: `test/output/proxy-question-${colorScheme}.png` })
  }
  expect(await first.evaluate(() => 'host' in window || 'hostEvents' in window)).toBe(false)
  // A real key press, because Playwright's do not pass through the main process. The window may be gone before the key is released.
  const env = { ...process.env, ...desktop.env }
  const title = '^Sign In to the Proxy$'
  await run('xdotool', ['search', '--sync', '--onlyvisible', '--name', title, 'windowfocus', '--sync'], { env })
  await run('xdotool', ['keydown', 'Escape'], { env })
  await run('xdotool', ['keyup', 'Escape'], { env })
  expect(await cancelled).toMatchObject({
    detail: `The proxy ${proxy.url} of your network asks for a name and a password.`,
  })
  // After cancelling, the user is not asked again by the page's own retries, only after a reload or a click on "Try again".
  expect(await me()).toMatchObject({ code: 'unavailable' })
  expect(app.electron.windows()).toHaveLength(1)
  await app.page.reload()
  await button(await question(), 'Cancel').click()
  await expect.poll(() => app.electron.windows()).toHaveLength(1)
  await button(app.page, 'Try again').click()
  const second = await question()
  const asked = proxy.asked.length
  await second.getByLabel('Name').fill('mira@company')
  await second.getByLabel('Password').fill('wrong')
  await second.keyboard.press('Enter')
  await second.getByRole('alert').getByText('The proxy refused this name or password.').waitFor()
  expect(await second.getByLabel('Name').inputValue()).toBe('mira@company')
  expect(await second.getByLabel('Password').inputValue()).toBe('')
  // A single connection tried the sign-in, however many wait.
  expect(proxy.asked.slice(asked).filter(({ signIn: sent }) => sent !== undefined)).toHaveLength(1)
  await second.getByLabel('Password').fill('se:cret')
  await button(second, 'Sign in').click()
  await app.page.getByRole('heading', { name: 'Sign in to Berth' }).waitFor()
  await expect.poll(() => app.electron.windows()).toHaveLength(1)
})

test('calls, live events and terminals go by the proxy that the PAC file names', async () => {
  await signIn(app.page, 'mira@example.com', 'Correct-horse-1')
  await expect.poll(() => double.streams()).toBeGreaterThan(0)
  const { id } = double.world.sessions.find(({ status }) => status === 'RUNNING')!
  // The double has no terminals, but a page without the right would not get this far.
  const opened = inPage(`host.terminal.open({ sessionId: '${id}', name: 'main', cols: 80, rows: 24 })`)
  expect(await opened).toMatchObject({ ok: false, error: { detail: { why: 'HTTP 200' } } })
  expect(new Set(proxy.asked.map(({ place }) => place))).toEqual(new Set([`${NAME}:443`]))
})

test('another key of a known server blocks until the user has compared it; the banner and the page tell both fingerprints', async () => {
  const { certificates } = (await readSettings(app.configDir)) as { certificates: Record<string, string> }
  const known = certificates[`https://${NAME}`]!.replace(/.* certificate:/, '')
  // The number that the user has compared in the question.
  expect(known).toBe(new X509Certificate(authority.server.cert).fingerprint256)
  const questions = (await app.questions()).length
  await using stranger = await createAuthority([NAME])
  tls.setSecureContext(stranger.server)
  proxy.cut()
  const shown = new X509Certificate(stranger.server.cert).fingerprint256
  const me = () => inPage(`fetch('/api/v1/me').then(answer => answer.json()).then(({ detail }) => detail)`)
  await expect.poll(me).toContain(shown)
  expect(await me()).toContain(known)
  const banner = app.page.getByRole('status').filter({ hasText: 'No connection to the manager.' })
  await banner.getByText(shown).waitFor()
  expect(await app.questions()).toHaveLength(questions)
  await app.answer(0)
  await button(banner, 'Compare the certificate').click()
  await expect.poll(async () => (await app.questions()).length).toBe(questions + 1)
  const asked = (await app.questions()).at(-1)
  expect(asked?.message).toBe(`Trust the new certificate of ${NAME}?`)
  for (const one of [shown, known]) expect(asked?.detail?.replaceAll('\n', '')).toContain(one)
  await app.page.reload()
  await app.page.getByText(shown).first().waitFor()
  await app.page.getByText(known).first().waitFor()
  expect(await readSettings(app.configDir)).toMatchObject({ certificates })
  await app.answer(1)
  await button(app.page, 'Compare the certificate').click()
  await app.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  tls.setSecureContext(authority.server)
  proxy.cut()
  await button(banner, 'Compare the certificate').click()
  await banner.waitFor({ state: 'detached' })
})

test('a file of certificate authorities is chosen in the dialog of the system, and kept until it is removed', async () => {
  const { page } = app
  const asked = () => app.electron.evaluate(() => (globalThis as never as { choosers: unknown[] }).choosers)
  await app.electron.evaluate(() => void Object.assign(globalThis, { choosers: [] }))
  const choose = async (...chosen: readonly string[]) => {
    await app.electron.evaluate(({ dialog }, filePaths) => {
      dialog.showOpenDialog = (...given: unknown[]) => {
        ;(globalThis as never as { choosers: unknown[] }).choosers.push(given.at(-1))
        return Promise.resolve({ canceled: filePaths.length === 0, filePaths: [...filePaths] })
      }
    }, chosen)
    const before = (await asked()).length
    await button(page, 'Choose certificate file…').click()
    await expect.poll(asked).toHaveLength(before + 1)
  }
  const kept = () => readSettings(app.configDir)
  const trusted = page.getByText(`Also trusted: the certificate authorities in ${authority.file}`)
  await inPage(`location.hash = '#/preferences'`)
  await choose(authority.file)
  await trusted.waitFor()
  const filters = [{ name: 'PEM', extensions: ['pem', 'crt', 'cer'] }]
  expect(await asked()).toEqual([{ properties: ['openFile'], filters }])
  expect(await kept()).toMatchObject({ caFile: authority.file })
  // A cancelled choice changes nothing, nor does a file without authorities.
  await choose()
  const key = join(dirname(authority.file), 'ca.key')
  await choose(key)
  await page.getByText(`There is no certificate of an authority (PEM) in ${key}.`).waitFor()
  expect(await trusted.isVisible()).toBe(true)
  expect(await kept()).toMatchObject({ caFile: authority.file })
  await button(page, 'Remove (from the next start)').click()
  await page.getByText('Servers are trusted by the certificate authorities of this computer.').waitFor()
  expect(await kept()).toMatchObject({ caFile: null })
})

test('a proxy that refuses is named as the cause', async () => {
  proxy.refuse('403 Forbidden')
  proxy.cut()
  const why = () => inPage(`fetch('/api/v1/me').then(answer => answer.json()).then(({ detail }) => detail)`)
  await expect.poll(why).toBe(`The proxy ${proxy.url} of your network refused to connect to ${NAME}:443 (HTTP 403).`)
})

test('an update is staged with the signed hash, and the user is told where', async () => {
  await app.answer(1)
  await app.electron.evaluate(({ Menu }) => {
    const help = Menu.getApplicationMenu()?.items.find(({ role }) => role === 'help')
    help?.submenu?.items.find(({ label }) => label === 'Check for Updates…')?.click()
  })
  const told = async () => (await app.questions()).find(({ message }) => message === 'Berth 9.0.0 is ready to install.')
  await expect.poll(told).toBeDefined()
  const path = /^\/.*$/m.exec((await told())?.detail ?? '')?.[0] ?? ''
  expect(path).toContain(app.configDir)
  expect(await readFile(path, 'utf8')).toBe('the new app')
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/) as string
  const kept = await readSettings(app.configDir)
  expect(kept).toMatchObject({ updateSerial: 3, updateKey: { pinned: hash, current: hash } })
})
