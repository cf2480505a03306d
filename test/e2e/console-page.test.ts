import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spendData } from '../fixtures/browser.ts'
import { type World } from './console-double-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { button, rowNames } from './console-steps.ts'

/** The page as a whole: parts that fail to load, a broken connection, and foreign scripts. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

/**
 * Takes the network from a page. The browser tells the page so, and refuses its requests, in no fixed order: without the route, a stream that the
 * page opens in between would stay.
 *
 * @returns gives it back
 */
async function goOffline(page: Page): Promise<() => Promise<void>> {
  await page.route('**/api/v1/events*', route => route.abort('internetdisconnected'))
  await page.context().setOffline(true)
  return async () => {
    await page.unroute('**/api/v1/events*')
    await page.context().setOffline(false)
  }
}

const open = (path: string, change: Partial<World> = {}) => openConsole(browser, path, change)

describe('the page', () => {
  test.each([true, false])(
    'a part of the page that was lost on the way is reloaded only if its server answers: %s',
    async up => {
      await using it = await open('/sessions')
      await it.page.getByText('notebook').waitFor()
      let asked = false
      await it.page.route('**/assets/*', route => (asked ? route.continue() : route.abort()))
      await it.page.route(`${it.double.url}/`, async route => {
        if (route.request().method() === 'HEAD') asked = true
        await (up ? route.continue() : route.abort())
      })
      const reloaded = it.page.waitForEvent('load', { timeout: up ? 15_000 : 2_000 }).then(
        () => true,
        () => false,
      )
      await it.page.evaluate(() => (location.hash = '#/account'))
      expect(await reloaded).toBe(up)
      expect(asked).toBe(true)
      await it.page
        .getByText(up ? 'Second factor' : 'notebook')
        .first()
        .waitFor()
    },
  )

  test('a page that is lost while it is loaded ahead reloads nothing until somebody opens it', async () => {
    await using it = await open('/account')
    const page = await it.page.context().newPage()
    await spendData(page)
    let lost = 0
    await page.route('**/assets/StatisticsPage*.js', async route => {
      lost++
      await (lost === 1 ? route.abort() : route.continue())
    })
    await page.goto(`${it.double.url}/#/sessions`)
    await page.getByText('notebook').waitFor()
    let loads = 0
    page.on('load', () => loads++)
    await expect.poll(() => lost).toBe(1)
    await page.waitForTimeout(500)
    expect(loads).toBe(0)
    await page.evaluate(() => (location.hash = '#/statistics'))
    await page.getByRole('heading', { name: 'Statistics' }).waitFor()
    // Newer browsers request the part again themselves; in browsers that remember the failure, the page reloads once.
    expect(loads).toBeLessThanOrEqual(1)
    expect(lost).toBe(2)
  })

  test('it says that the connection is lost, and that sessions keep running', async () => {
    await using it = await open('/sessions')
    await it.page.getByText('notebook').waitFor()
    it.world.refuseStreams = true
    it.double.drop()
    await it.page.getByText('No connection to the manager.').waitFor()
    // An attempt without an answer: while it lasts, the page makes another one only after the click.
    const { promise: attempt, resolve: begin } = Promise.withResolvers<undefined>()
    await it.page.route(/\/api\/v1\/events/, () => begin(undefined), { times: 1 })
    await attempt
    it.world.refuseStreams = false
    await button(it.page, 'Try now').click()
    await it.page.getByText('No connection to the manager.').waitFor({ state: 'detached' })
  })

  test('it says that the server of the page is away, keeps what it shows, and recovers by itself', async () => {
    await using it = await open('/sessions')
    await it.page.getByText('notebook').waitFor()
    // The stream stays open, as when a cable is pulled.
    const goOnline = await goOffline(it.page)
    await it.page.getByText('No connection to the server of this page.').waitFor()
    expect(await rowNames(it.page)).toContain('notebook')
    await goOnline()
    await it.page.getByText('No connection to the server of this page.').waitFor({ state: 'detached' })
  })
})

test('a part of the page that failed to load is fetched again, and the wanted page opens', async () => {
  await using it = await open('/sessions')
  await it.page.getByText('notebook').waitFor()
  let lost = 0
  await it.page.route('**/AccountPage*.js', route => (lost++ === 0 ? route.abort() : route.fallback()))
  await button(it.page, /Account of/).click()
  await it.page.getByText('Your account').click()
  await it.page.getByRole('heading', { name: 'Second factor' }).waitFor()
  expect(lost).toBeGreaterThan(1)
})

test('a page that was wanted while the server was away opens once it is back', async () => {
  await using it = await open('/sessions')
  const { page } = it
  await page.route('**/StatisticsPage*.js', route => route.abort())
  await page.getByText('notebook').waitFor()
  const goOnline = await goOffline(page)
  const failed = page.waitForEvent('requestfailed', request => request.url().includes('StatisticsPage'))
  await page.evaluate(() => (location.hash = '#/statistics'))
  await failed
  await page.getByText('No connection to the server of this page.').waitFor()
  await page.unroute('**/StatisticsPage*.js')
  await goOnline()
  await page.getByRole('heading', { name: 'Statistics' }).waitFor()
})

test('the page runs no scripts except its own files', async () => {
  await using it = await open('/sessions')
  await it.page.getByRole('heading', { name: 'Sessions' }).waitFor()
  const ran = await it.page.evaluate(async () => {
    const script = document.createElement('script')
    script.textContent = 'window.inlineRan = true'
    document.body.append(script)
    const fetched = await fetch('https://example.com/').then(
      () => true,
      () => false,
    )
    return { inline: 'inlineRan' in window, fetched }
  })
  expect(ran).toEqual({ inline: false, fetched: false })
})
