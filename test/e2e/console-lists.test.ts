import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ADMIN_PARTS } from '../../renderer/features/admin/pages.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { LOCAL, variedFolders } from './console-double-folders.ts'
import { lastingMisfits, NARROW } from './console-fit.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { OTHER, variedSessions } from './console-world.ts'
import { goTo } from './page-router.ts'
import { settle } from '../fixtures/browser.ts'

/** Every list, in the window of a phone and at 200 % zoom, where scroll bars take room: nothing in its head or rows is cut off. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser({ scrollBars: true })
})
afterAll(() => browser.close())

const ADMIN_PAGES = ADMIN_PARTS.flatMap(({ pages }) => pages).filter(({ path }) => !path.includes(':'))
const PAGES = [
  '/sessions',
  '/sessions?list=waiting',
  '/sessions?list=finished',
  '/sessions?list=failed',
  '/sessions?sort=owner',
  '/data',
  '/data?tab=trash',
  ...ADMIN_PAGES.map(({ path }) => `/admin${path}`),
]
const WINDOWS = ['640', '390'] as const

test.concurrent.each(WINDOWS)('every list fits into a window of %s px', async window => {
  const sessions = variedSessions().map((session, index) => (index % 2 === 0 ? session : { ...session, ...OTHER }))
  const world = { ...structuredClone(ADMIN_WORLD), sessions, folders: variedFolders(), storageHosts: [LOCAL] }
  await using it = await openConsole(browser, '/summary', world, NARROW[window])
  const { page } = it
  await page.locator('main h1').waitFor()
  // Nothing is shown with bars that lie over the page.
  expect(await page.evaluate(() => innerWidth - document.documentElement.clientWidth)).toBeGreaterThan(10)
  const found: string[] = []
  let lists = 0
  for (const path of PAGES) {
    await goTo(page, path)
    await page.locator('main h1').waitFor()
    await vi.waitUntil(async () => (await page.locator('main .skeleton').count()) === 0, { timeout: 120_000 })
    await settle(page)
    lists += await page.locator('main tr.row').first().count()
    found.push(...(await lastingMisfits(page, { findsCuts: true })).map(misfit => `${path}: ${misfit}`))
  }
  expect(found).toEqual([])
  expect(lists).toBeGreaterThan(15)
})
