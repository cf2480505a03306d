import { mkdir } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { type DesktopWarning, type StackStart } from '#proxy/contract'
import { audit, loadPage } from '../fixtures/browser.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { ADMIN_WORLD } from './admin-world.ts'

/** The page in the desktop app, whose bridge is a double: warnings of the app, and Berth on this computer. */
let browser: Browser
beforeAll(async () => {
  await mkdir(OUTPUT, { recursive: true })
  browser = await startBrowser()
})
afterAll(() => browser.close())
const OUTPUT = new URL('../output/', import.meta.url).pathname

interface Given {
  readonly warnings?: readonly DesktopWarning[]
  readonly stack?: Partial<StackStart>
}

/** Runs in the page. Open warnings survive a reload, like those of the app; `tell` changes them like the app. */
function pretendDesktop({ warnings = [], stack = {} }: Given): void {
  const ok = (value: unknown) => () => Promise.resolve({ ok: true, value })
  const steps = { docker: 'done', manager: 'done', console: 'done', agent: 'done' }
  const idle = { state: 'idle', steps, log: [], error: null, agentMissing: null, docker: null, partlyIsolated: null }
  const open = () => JSON.parse(sessionStorage.getItem('open') ?? JSON.stringify(warnings)) as { kind: string }[]
  const listeners: ((open: unknown) => void)[] = []
  const tell = (next: unknown) => {
    sessionStorage.setItem('open', JSON.stringify(next))
    for (const listener of listeners) listener(next)
  }
  const desktop = {
    servers: ok([]),
    stack: ok({ ...idle, ...stack }),
    language: ok(undefined),
    theme: ok(undefined),
    report: ok(undefined),
    options: ok({}),
    warnings: () => ok(open())(),
    closeWarning(kind: string) {
      tell(open().filter(other => other.kind !== kind))
      return ok(undefined)()
    },
  }
  const host = {
    info: ok({ kind: 'electron', version: '0.1.0', platform: 'linux' }),
    settings: ok({ preferredSshPort: null, manageSshConfig: true }),
    endpoint: ok({ kind: 'embedded', url: 'http://127.0.0.1:8401' }),
    setEndpoint: ok({ kind: 'embedded', url: 'http://127.0.0.1:8401' }),
  }
  const on = (event: string, listener: (open: unknown) => void) => {
    if (event === 'desktop:warned') listeners.push(listener)
    return () => 0
  }
  Object.assign(globalThis, {
    tell,
    host: {
      host,
      desktop,
      tunnel: { list: ok([]), wake: ok(undefined) },
      sftp: { state: ok(null) },
      ssh: {},
      terminal: {},
    },
    hostEvents: { on },
  })
}

async function inApp(path: string, given: Given, language = 'en') {
  const it = await openConsole(browser, '/summary', { ...ADMIN_WORLD })
  const app = await it.page.context().newPage()
  app.setDefaultTimeout(120_000)
  await app.addInitScript(text => localStorage.setItem('berth.language', text), language)
  await app.addInitScript(pretendDesktop, given)
  await loadPage(app, `${it.double.url}/#${path}`)
  return { app, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
}
const messages = (page: Page) => page.locator('.notification-text').allInnerTexts()

const NOT_KEPT = { kind: 'sign_in_not_kept', why: 'no Secret Service' } as const
const PARTLY = { kind: 'partly_isolated', reason: because('iptables_not_installed') } as const

describe('warnings of the app', () => {
  test('a sign-in that is not kept is a message that stays until it is closed, and does not come back', async () => {
    await using it = await inApp('/summary', { warnings: [NOT_KEPT] })
    const { app } = it
    await app.getByText('You are signed in until Berth quits').waitFor()
    expect(await app.getByRole('dialog').count()).toBe(0)
    // The message stays while the person continues to work, and after a reload.
    await app.locator('a[href="#/sessions"]').first().click()
    const sessions = app.getByRole('heading', { name: 'Sessions', level: 1 })
    await sessions.waitFor()
    await app.reload()
    await app.getByText('(no Secret Service). Unlock or set it up, then sign in again').waitFor()
    await app.clock.install()
    // Not `runFor`: it fires each timer of the minute, one after the other, which takes a minute on a busy machine.
    await app.clock.fastForward(60_000)
    expect(await messages(app)).toHaveLength(1)
    await app.getByRole('button', { name: 'Dismiss' }).click()
    await expect.poll(() => messages(app)).toEqual([])
    await app.reload()
    await sessions.waitFor()
    expect(await messages(app)).toEqual([])
  })

  test('one that the app takes back goes from the page', async () => {
    await using it = await inApp('/summary', { warnings: [NOT_KEPT, PARTLY] })
    await it.app.getByText('iptables is not installed on the host.').waitFor()
    expect(await messages(it.app)).toHaveLength(2)
    await it.app.evaluate(left => (globalThis as unknown as { tell(open: unknown): void }).tell(left), [PARTLY])
    await expect.poll(() => messages(it.app)).toHaveLength(1)
  })

  test.each([
    {
      language: 'en',
      text: /can reach it and its network\. iptables is not installed on the host\./,
      button: 'Show agents',
    },
    { language: 'ko', text: /접근할 수 있습니다\. 호스트에 iptables/, button: '에이전트 보기' },
  ])(
    'partial isolation is told with its reason, and leads to the agents ($language)',
    async ({ language, text, button }) => {
      await using it = await inApp('/summary', { warnings: [PARTLY, NOT_KEPT] }, language)
      await it.app.getByText(text).waitFor()
      await it.app.screenshot({ path: `${OUTPUT}desktop-warnings-${language}.png` })
      expect(await audit(it.app)).toEqual([])
      await it.app.getByRole('button', { name: button }).click()
      await expect.poll(() => it.app.url()).toMatch(/#\/admin\/agents/)
      await expect.poll(() => messages(it.app)).toHaveLength(1)
    },
  )
})

describe('Berth on this computer', () => {
  const stack = { state: 'ready', partlyIsolated: PARTLY.reason } as const

  test.each([
    { language: 'en', text: 'Sessions on this computer can reach it and its network.', open: 'Open the console' },
    { language: 'ko', text: '이 컴퓨터의 세션이 이 컴퓨터와 그 네트워크에 접근할 수 있습니다.', open: '콘솔 열기' },
  ])(
    'the first window says what sessions can reach, and lets one go on ($language)',
    async ({ language, text, open }) => {
      await using it = await inApp('/start', { stack }, language)
      await it.app.getByText(text).waitFor()
      if (language === 'ko') await it.app.getByText('호스트에 iptables').waitFor()
      await it.app.screenshot({ path: `${OUTPUT}desktop-start-isolation-${language}.png` })
      expect(await audit(it.app)).toEqual([])
      await it.app.getByRole('button', { name: open }).click()
      await expect.poll(() => it.app.url()).toMatch(/#\/summary/)
    },
  )

  test('whoever changes the server while Berth runs here stays on that page; a start of the app goes on to the console', async () => {
    await using it = await inApp('/start', { stack: { state: 'ready' } })
    await it.app.getByRole('button', { name: 'Open the console' }).waitFor()
    expect(it.app.url()).toMatch(/#\/start$/)
    await using begun = await inApp('/start?then=console', { stack: { state: 'ready' } })
    await begun.app.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  })
})
