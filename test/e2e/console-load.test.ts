import { type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_ANNOUNCEMENT } from '#manager/contract'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { aFolder, filesOf, FOLDER_ID } from './console-double-files.ts'
import { variedFolders } from './console-double-folders.ts'
import { ago, aSession, aWorld, HISTORY, INVITATION, LIMITED } from './console-world.ts'
import { type World } from './console-double-world.ts'
import { startConsoleDouble } from './console-double.ts'
import { startBrowser } from './console-open.ts'
import { signIn } from './console-steps.ts'
import { settle } from '../fixtures/browser.ts'

/** Loading the page: its requests, and that nothing moves once it is shown. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser({ scrollBars: true })
})
afterAll(() => browser.close())

interface Shifts {
  shift: number
  moved: string[]
}

/** Sums layout shifts (CLS) of every page of the context, with what moved. */
async function watchShifts(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const seen = globalThis as unknown as Partial<Shifts>
    seen.shift = 0
    seen.moved = []
    new PerformanceObserver(list => {
      interface Shift extends PerformanceEntry {
        readonly value: number
        readonly hadRecentInput: boolean
        readonly sources: readonly {
          readonly node: Node | null
          readonly previousRect: DOMRect
          readonly currentRect: DOMRect
        }[]
      }
      for (const { value, hadRecentInput, sources } of list.getEntries() as Shift[]) {
        if (hadRecentInput) continue
        seen.shift = (seen.shift ?? 0) + value
        const rectOf = ({ x, y, width, height }: DOMRect) => [x, y, width, height].map(Math.round).join(' ')
        const names = sources.map(({ node, previousRect, currentRect }) => {
          const name = node instanceof Element ? `${node.tagName} ${node.className}` : node?.nodeName
          return `${name}: ${rectOf(previousRect)} → ${rectOf(currentRect)}`
        })
        seen.moved?.push(`${value.toFixed(4)} ${names.join(', ')}`)
      }
    }).observe({ type: 'layout-shift', buffered: true })
  })
}
const shiftsOf = (page: Page) =>
  page.evaluate(() => {
    const { shift = 0, moved = [] } = globalThis as unknown as Partial<Shifts>
    return { shift, moved }
  })

/** Requests to the API by method and path, in the order in which they were sent. */
function apiRequests(page: Page): string[] {
  const sent: string[] = []
  page.on('request', request => {
    const { pathname } = new URL(request.url())
    if (/^\/(api|host)\//.test(pathname)) sent.push(`${request.method()} ${pathname}`)
  })
  return sent
}

async function cold(signedIn: boolean, size = { width: 1280, height: 800 }, change: Partial<World> = {}) {
  const authOptions = { signUp: 'open', firstStart: true } as const
  const double = await startConsoleDouble(aWorld({ signedIn, authOptions, ...change }))
  const context = await browser.newContext({ viewport: size, locale: 'en-GB', reducedMotion: 'reduce' })
  await watchShifts(context)
  const page = await context.newPage()
  return {
    double,
    page,
    sent: apiRequests(page),
    async [Symbol.asyncDispose]() {
      await context.close()
      await double[Symbol.asyncDispose]()
    },
  }
}

const UNMOVED = 0.005
const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
]

test.each(['/', '/#/sign-in', '/#/account'])('signed out, %s asks once who is signed in', async path => {
  await using it = await cold(false)
  await it.page.goto(it.double.url + path)
  await it.page.locator('#sign-in-email:focus').waitFor()
  await it.page.waitForLoadState('networkidle')
  expect(it.sent.toSorted()).toEqual(['GET /api/v1/auth/options', 'GET /api/v1/me'])
})

test('a browser with the secret of an ended sign-in asks once as well', async () => {
  await using it = await cold(false)
  await it.page.addInitScript(() => localStorage.setItem('berth.origin-secret', 'of-last-week'))
  await it.page.goto(it.double.url)
  await it.page.locator('#sign-in-email:focus').waitFor()
  await it.page.waitForLoadState('networkidle')
  expect(it.sent.filter(request => request.endsWith('/me'))).toHaveLength(1)
})

test.each(SIZES)('nothing moves while the sign-in page loads, at $width px', async size => {
  await using it = await cold(false, size)
  await it.page.goto(it.double.url)
  await it.page.getByText('First start?').waitFor()
  await it.page.waitForLoadState('networkidle')
  const { shift, moved } = await shiftsOf(it.page)
  expect(shift, moved.join('\n')).toBeLessThan(UNMOVED)
})

test.each(SIZES)('nothing moves while the sessions load, by a reload and by signing in, at $width px', async size => {
  await using it = await cold(true, size)
  await it.page.goto(`${it.double.url}/#/sessions`)
  await it.page.locator('tr.row').first().waitFor()
  await it.page.waitForLoadState('load')
  await it.page.waitForTimeout(500)
  const reloaded = await shiftsOf(it.page)
  expect(reloaded.shift, reloaded.moved.join('\n')).toBeLessThan(UNMOVED)

  await using other = await cold(false, size)
  await other.page.goto(`${other.double.url}/#/sessions`)
  await signIn(other.page, 'mira@example.com', 'Right-one-1')
  await other.page.locator('tr.row').first().waitFor()
  await other.page.waitForTimeout(500)
  const signedIn = await shiftsOf(other.page)
  expect(signedIn.shift, signedIn.moved.join('\n')).toBeLessThan(UNMOVED)
})

/** A user with everything that arrives late: projects, resource groups, an announcement, an invitation, and news since the last visit. */
const FULL: Partial<World> = {
  ...LIMITED,
  folders: variedFolders(),
  history: HISTORY,
  keypairs: [aKeypair(0)],
  logins: [THIS_LOGIN, OTHER_LOGIN],
  invitations: [INVITATION],
  announcement: { ...NO_ANNOUNCEMENT, id: 'a', text: 'Down on Saturday', level: 'info' },
  sessions: Array.from({ length: 14 }, (_, index) =>
    index < 7 ? aSession(index) : aSession(index, { status: 'ERROR', endedAt: ago(30 + index) }),
  ),
}
/** Answers arrive one after the other, first to last or last to first, so that no part of the page may depend on another one. */
async function answerInTurn(page: Page, order: 'first asked' | 'last asked') {
  let [asked, answered] = [0, 0]
  await page.route(/\/(api|host)\//, async route => {
    const { pathname } = new URL(route.request().url())
    if (/\/(events|me)$/.test(pathname)) return route.continue()
    const turn = asked++ % 10
    await new Promise(resolve => setTimeout(resolve, 40 * (order === 'first asked' ? turn : 9 - turn)))
    await route.continue()
    answered += 1
  })
  return { isQuiet: () => asked > 0 && asked === answered }
}
const LATE_PAGES = [
  { path: '/summary', there: 'Since your last visit' },
  { path: '/data', there: 'experiments' },
  { path: '/statistics', there: 'Table' },
  { path: `/data/${FOLDER_ID}`, there: 'README.md' },
  { path: '/account', there: 'Sign-ins' },
] as const
const TURNS = [
  { size: { width: 1280, height: 800 }, order: 'first asked' },
  { size: { width: 390, height: 844 }, order: 'last asked' },
] as const
test.each(TURNS)(
  'nothing moves on the pages of a person with everything, answers arriving $order first, at $size.width px',
  async ({ order, size }) => {
    const faults: Record<string, readonly string[]> = {}
    for (const { path, there } of LATE_PAGES) {
      await using it = await cold(true, size, FULL)
      if (path.startsWith('/data/'))
        Object.assign(it.double.world, {
          folders: [aFolder()],
          files: filesOf({ 'README.md': 'Read me', 'data.csv': '1' }),
        })
      it.double.world.visitSince = ago(180)
      const answers = await answerInTurn(it.page, order)
      await it.page.goto(`${it.double.url}/#${path}`)
      await it.page.getByText(there).filter({ visible: true }).first().waitFor()
      await expect.poll(answers.isQuiet).toBe(true)
      await it.page.waitForTimeout(200)
      const { shift, moved } = await shiftsOf(it.page)
      if (shift >= UNMOVED) faults[path] = moved
    }
    expect(faults).toEqual({})
  },
)

/** Left ends of these parts of the page, in pixels. */
const leftsOf = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll(all => all.map(each => each.getBoundingClientRect().left))
/** Whether this part of the page is longer than its space. */
const isLonger = (page: Page, selector: string) =>
  page.locator(selector).evaluate(each => each.scrollHeight > each.clientHeight)

test('a page that nobody touches asks nothing for 30 seconds: hints tell what has changed', async () => {
  await using it = await cold(true, undefined, FULL)
  const { page, double, sent } = it
  await page.clock.install()
  const asked: Record<string, readonly string[]> = {}
  for (const path of ['/summary', '/sessions', '/data', '/statistics', '/account', '/information']) {
    await page.goto(`${double.url}/#${path}`)
    await page.locator('h1').filter({ visible: true }).first().waitFor()
    await expect.poll(double.streams).toBe(1)
    await page.clock.runFor(5_000)
    // Requests of the loading page are answered first.
    await page.waitForTimeout(500)
    sent.length = 0
    await page.clock.runFor(30_000)
    await page.waitForTimeout(300)
    // A stream of hints that was silent is opened again.
    const found = sent.filter(request => !request.endsWith('/events'))
    if (found.length > 0) asked[path] = found
  }
  expect(asked).toEqual({})
})

test('an interruption of the connection moves nothing', async () => {
  await using it = await cold(true, undefined, FULL)
  const { page, double } = it
  await page.goto(`${double.url}/#/summary`)
  await page.getByText('2 of 2 hosts connected').waitFor()
  await expect.poll(double.streams).toBe(1)
  const PARTS = 'main h1, main h2'
  const topsOf = () => page.locator(PARTS).evaluateAll(all => all.map(each => each.getBoundingClientRect().top))
  const before = await topsOf()
  double.world.refuseStreams = true
  double.drop()
  await page.getByText('No connection to the manager.').waitFor()
  expect(await topsOf()).toEqual(before)
})

test('a message that makes the sign-in page longer than the window moves nothing sideways', async () => {
  await using it = await cold(false)
  it.double.world.failures.set('POST /api/v1/auth/login', { code: 'login_failed' })
  const { page } = it
  await page.goto(it.double.url)
  await page.getByText('First start?').waitFor()
  // The lowest window in which the page fits.
  let height = 800
  while (!(await isLonger(page, 'html'))) await page.setViewportSize({ width: 1280, height: (height -= 20) })
  await page.setViewportSize({ width: 1280, height: height + 20 })
  const PARTS = 'main h1, main input, main button'
  const before = await leftsOf(page, PARTS)
  expect(before.length).toBeGreaterThan(3)
  expect(await isLonger(page, 'html')).toBe(false)
  await signIn(page, 'mira@example.com', 'Wrong-one-1')
  await page.getByRole('alert').waitFor()
  expect(await isLonger(page, 'html')).toBe(true)
  expect(await leftsOf(page, PARTS)).toEqual(before)
})

test.each([...SIZES, { width: 1700, height: 600 }])(
  'the tabs of a session move nothing sideways, and its dialogs neither, at $width px',
  async size => {
    await using it = await cold(true, size)
    const { page } = it
    const session = it.double.world.sessions.find(({ status }) => status === 'RUNNING')
    await page.goto(`${it.double.url}/#/sessions/${session?.id}`)
    await page.locator('ol.timeline').waitFor()
    const DRAWER = '.drawer .v-navigation-drawer__content'
    const PARTS = `header .v-toolbar__content > *, main h1, .drawer .head-line > *, .detail > .tabs`
    const before = await leftsOf(page, PARTS)
    expect(before.length).toBeGreaterThan(4)
    const long: boolean[] = []
    for (const name of ['Charts', 'Logs', 'Details']) {
      await page.getByRole('tab', { name }).click()
      await page.locator('.tab-body > *').first().waitFor()
      long.push(await isLonger(page, DRAWER))
      expect({ name, lefts: await leftsOf(page, PARTS) }).toEqual({ name, lefts: before })
    }
    expect(long).toContain(true)
    await page.locator('.drawer .actions').getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('alertdialog').waitFor()
    await settle(page)
    expect(await leftsOf(page, PARTS)).toEqual(before)
  },
)
