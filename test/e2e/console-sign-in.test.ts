import { mkdir } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadPage } from '../fixtures/browser.ts'
import { type World } from './console-double-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { button } from './console-steps.ts'

/** Signing in, in one tab and in two, and the choice of the Berth where a person signs in. */
let browser: Browser
beforeAll(async () => {
  await mkdir(OUTPUT, { recursive: true })
  browser = await startBrowser()
})
afterAll(() => browser.close())

const open = (path: string, change: Partial<World> = {}) => openConsole(browser, path, change)
const OUTPUT = new URL('../output/', import.meta.url).pathname

/** Double of the desktop app: the bridge of its preload script, with a manager on this computer. */
function pretendDesktop(answerOfSetEndpoint: unknown): void {
  const ok = (value: unknown) => () => Promise.resolve({ ok: true, value })
  const chosen = JSON.parse(sessionStorage.getItem('chosen') ?? '{"kind":"remote","url":"https://old.example"}') as {
    kind: string
    url?: string
  }
  const host = {
    info: ok({ kind: 'electron', version: '0.1.0', platform: 'linux' }),
    settings: ok({ preferredSshPort: null, manageSshConfig: true }),
    endpoint: ok({ url: 'http://127.0.0.1:8401', ...chosen }),
    setEndpoint: (choice: unknown) => {
      if (answerOfSetEndpoint !== null) return Promise.resolve(answerOfSetEndpoint)
      sessionStorage.setItem('chosen', JSON.stringify(choice))
      return Promise.resolve({ ok: true, value: choice })
    },
  }
  const list = { list: ok([]) }
  const steps = { docker: 'waiting', manager: 'waiting', console: 'waiting', agent: 'waiting' }
  const desktop = {
    servers: ok(['https://berth.lab.example']),
    stack: ok({ state: 'idle', steps, log: [], error: null, docker: null }),
    language: ok(undefined),
    theme: ok(undefined),
  }
  Object.assign(globalThis, {
    host: { host, desktop, tunnel: list, sftp: { state: ok(null) }, ssh: {}, terminal: {} },
    hostEvents: { on: () => () => 0 },
  })
}

describe('signing in', () => {
  test('the desktop app lets users choose another Berth than the one on this computer before signing in', async () => {
    await using it = await open('/sign-in', { signedIn: false })
    expect(await it.page.getByText('Berth on').count()).toBe(0)
    const app = await it.page.context().newPage()
    await app.addInitScript(pretendDesktop, null)
    await loadPage(app, `${it.double.url}/#/sign-in`)
    await app.getByText('Berth on old.example').waitFor()
    await app.getByRole('link', { name: 'Change…' }).click()
    await button(app, 'berth.lab.example').first().waitFor()
    expect(await app.getByLabel('Address', { exact: true }).inputValue()).toBe('old.example')
    await app.getByLabel('Address', { exact: true }).fill('')
    await button(app, 'Connect').click()
    await app.getByText('Enter an address').waitFor()
    await app.getByLabel('Address', { exact: true }).fill('berth.example.org')
    await app.screenshot({ path: `${OUTPUT}endpoint-light.png` })
    await button(app, 'Connect').click()
    await app.getByText('Berth on berth.example.org').waitFor()
  })

  test('a browser whose sign-in ended with the start of Berth is told why, and one without a sign-in is not', async () => {
    const world = { signedIn: false, authOptions: { signInsEnded: true } }
    await using it = await open('/sign-in', world)
    await button(it.page, 'Sign in').waitFor()
    expect(await it.page.getByText('Berth was started again.').count()).toBe(0)
    await it.page.evaluate(() => localStorage.setItem('berth.origin-secret', 'of-yesterday'))
    await it.page.reload()
    await it.page.getByText('Berth was started again.').waitFor()
  })

  test('a Berth that does not answer is reported where it was chosen', async () => {
    await using it = await open('/sign-in', { signedIn: false })
    const app = await it.page.context().newPage()
    const error = { code: 'unavailable', message: '', detail: { why: 'Nothing answers at https://nowhere.example.' } }
    await app.addInitScript(pretendDesktop, { ok: false, error })
    await loadPage(app, `${it.double.url}/#/sign-in`)
    await app.getByRole('link', { name: 'Change…' }).click()
    await app.getByLabel('Address', { exact: true }).fill('nowhere.example')
    await button(app, 'Connect').click()
    await app.getByText('Nothing answers at https://nowhere.example.').waitFor()
    expect(await button(app, 'Connect').isEnabled()).toBe(true)
  })

  test('a one-time link signs in at once and leaves no trace of the ticket', async () => {
    await using it = await open('/sign-in?ticket=0123456789abcdef0123', { signedIn: false })
    await it.page.getByRole('heading', { name: 'Summary' }).waitFor()
    expect(it.page.url()).not.toContain('ticket')
    expect(it.world.changes[0]).toEqual({
      request: 'POST /api/v1/auth/ticket',
      body: { ticket: '0123456789abcdef0123' },
    })
    await it.page.goBack().catch(() => null)
    expect(it.page.url()).not.toContain('ticket')

    // In a tab that shows the sign-in page already, a link changes only what follows the #.
    await using late = await open('/sign-in', { signedIn: false })
    await late.page.getByLabel('E-mail address').waitFor()
    await late.page.goto(`${late.double.url}/#/sign-in?ticket=0123456789abcdef0123`)
    await late.page.getByRole('heading', { name: 'Summary' }).waitFor()
    expect(late.page.url()).not.toContain('ticket')
  })

  test('signing in leads back to the wanted page, and never to another site', async () => {
    await using it = await open('/sessions?list=finished', { signedIn: false })
    await it.page.getByLabel('E-mail address').fill(' mira@example.com ')
    await it.page.getByLabel('Password', { exact: true }).fill('secret-1')
    await it.page.keyboard.press('Enter')
    await it.page.getByText('too-little-memory').waitFor()
    expect(it.world.changes[0]?.body).toMatchObject({ email: 'mira@example.com', password: 'secret-1' })

    await using other = await open('/sign-in?next=//evil.example/', { signedIn: false })
    await other.page.getByLabel('E-mail address').fill('mira@example.com')
    await other.page.getByLabel('Password', { exact: true }).fill('secret-1')
    await button(other.page, 'Sign in').click()
    await other.page.getByRole('heading', { name: 'Summary' }).waitFor()
    expect(other.page.url()).toBe(`${other.double.url}/#/summary`)
  })

  test('after too many attempts the page says how long to wait', async () => {
    const failures = new Map([
      ['POST /api/v1/auth/login', { code: 'login_throttled', detail: { retryAfterSeconds: 2 } }],
    ] as const)
    await using it = await open('/sign-in', { signedIn: false, failures })
    await it.page.getByLabel('E-mail address').fill('mira@example.com')
    await it.page.getByLabel('Password', { exact: true }).fill('wrong')
    await button(it.page, 'Sign in').click()
    await it.page.getByText(/You can try again in [12] s/).waitFor()
    expect(await button(it.page, /Wait/).isDisabled()).toBe(true)
    failures.clear()
    await it.page.getByText('You can try again now.').waitFor()
    await button(it.page, 'Sign in').click()
    await it.page.getByRole('heading', { name: 'Summary' }).waitFor()
  })

  test('a person of whom a new password is required signs in by choosing one, typed twice', async () => {
    const failures = new Map([['POST /api/v1/auth/login', { code: 'password_change_required' }]] as const)
    await using it = await open('/sign-in', { signedIn: false, failures })
    const fill = (label: string, text: string) => it.page.getByLabel(label, { exact: true }).fill(text)
    await fill('E-mail address', 'mira@example.com')
    await fill('Password', 'Given-one-1')
    await button(it.page, 'Sign in').click()
    await it.page.getByText('wants you to choose another password').waitFor()
    failures.clear()
    await fill('New password', 'Given-one-1')
    await button(it.page, 'Sign in').click()
    await fill('New password', 'Chosen-one-2')
    await fill('New password again', 'Chosen-one-3')
    await button(it.page, 'Sign in').click()
    expect(it.world.changes).toHaveLength(1)
    await fill('New password again', 'Chosen-one-2')
    await button(it.page, 'Sign in').click()
    await it.page.getByRole('heading', { name: 'Summary' }).waitFor()
    expect(it.world.changes.at(-1)?.body).toMatchObject({ password: 'Given-one-1', newPassword: 'Chosen-one-2' })
  })

  test('signing in again after the sign-in ended keeps what was typed', async () => {
    await using it = await open('/sessions')
    await button(it.page, 'New session').click()
    await it.page.getByLabel('Name optional').fill('half-typed')
    // The dialog sends what-if by itself; wait, so that another request notices the end of the sign-in.
    await it.page.locator('.outlook-text:not([aria-busy="true"])').waitFor()
    it.world.signedIn = false
    await button(it.page, /^Launch/).click()
    await it.page.getByRole('heading', { name: 'Sign in again' }).waitFor()
    await it.page.getByLabel('Password', { exact: true }).fill('secret-1')
    await button(it.page, 'Continue').click()
    await it.page.getByRole('heading', { name: 'Sign in again' }).waitFor({ state: 'detached' })
    expect(await it.page.getByLabel('Name optional').inputValue()).toBe('half-typed')
    await button(it.page, /^Launch$/).click()
    await it.page.locator('tr.row', { hasText: 'half-typed' }).waitFor()
  })
})

describe('signing in with a second tab open', () => {
  test('one sign-in suffices: the tab with the connection continues, and ends nothing', async () => {
    await using it = await open('/sessions')
    await it.page.getByText('notebook').waitFor()
    await expect.poll(() => it.double.streams()).toBe(1)
    const second = await it.newTab('/sessions')
    await second.getByText('notebook').waitFor()
    it.world.signedIn = false
    it.double.drop()
    const again = (page: Page) => page.getByRole('heading', { name: 'Sign in again' })
    await Promise.all([again(it.page).waitFor(), again(second).waitFor()])
    await second.getByLabel('Password', { exact: true }).fill('secret-1')
    await button(second, 'Continue').click()
    await Promise.all([it.page, second].map(page => again(page).waitFor({ state: 'detached' })))
    await expect.poll(() => it.double.streams()).toBe(1)
    expect(await second.getByRole('heading', { name: 'Sign in again' }).count()).toBe(0)
    expect(it.world.changes.filter(({ request }) => request.endsWith('/login'))).toHaveLength(1)
  })

  test('a sign-in in another tab continues a tab with the sign-in page where it was going', async () => {
    await using it = await open('/sessions?list=finished', { signedIn: false })
    await it.page.getByLabel('E-mail address').waitFor()
    const second = await it.newTab('/sign-in')
    await second.getByLabel('E-mail address').fill('mira@example.com')
    await second.getByLabel('Password', { exact: true }).fill('secret-1')
    await button(second, 'Sign in').click()
    await second.getByRole('heading', { name: 'Summary' }).waitFor()
    await it.page.getByText('too-little-memory').waitFor()
    expect(it.page.url()).toContain('list=finished')
    expect(it.world.changes.filter(({ request }) => request.endsWith('/login'))).toHaveLength(1)
  })

  test('signing out in one tab leaves nothing visible in the other', async () => {
    await using it = await open('/sessions')
    await it.page.getByText('notebook').waitFor()
    const second = await it.newTab('/sessions')
    await second.getByText('notebook').waitFor()
    await button(second, /Account of/).click()
    await second.getByText('Sign out').click()
    await it.page.getByLabel('E-mail address').waitFor()
    expect(await it.page.getByText('notebook').count()).toBe(0)
  })
})
