import { readdir, readFile } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startConsoleDouble } from './console-double.ts'
import { startBrowser } from './console-open.ts'
import { signIn } from './console-steps.ts'
import { aWorld } from './console-world.ts'

/** Bytes that a browser without a cache transfers: files, answers and their heads, as Chromium counts them. */
const ASSETS = new URL('../../dist/renderer/assets/', import.meta.url)
const BUDGETS = { signIn: { requests: 12, bytes: 153_600 }, sessions: { requests: 24, bytes: 250 * 1024 } }

let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

/** Counts what the page transfers from now on. */
async function meter(page: Page) {
  const cdp = await page.context().newCDPSession(page)
  const finished: { url: string; bytes: number }[] = []
  const urls = new Map<string, string>()
  cdp.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url))
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    finished.push({ url: urls.get(requestId) ?? '', bytes: encodedDataLength })
  })
  await cdp.send('Network.enable')
  return () => ({
    requests: finished.length,
    twice: finished.map(({ url }) => url).filter((url, at, all) => !url.includes('/api/') && all.indexOf(url) < at),
    bytes: finished.reduce((sum, { bytes }) => sum + bytes, 0),
    largest: finished
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, 12)
      .map(({ url, bytes }) => `${bytes} ${url.replace(/^.*\//, '')}`),
  })
}

test('a cold browser transfers little until the sign-in can be used, and until the sessions are shown', async () => {
  await using double = await startConsoleDouble(aWorld({ signedIn: false }))
  const page = await browser.newPage({ locale: 'en-GB' })
  // Prefetched files do not count, because nobody waits for them.
  await page.addInitScript(() => Object.assign(globalThis, { requestIdleCallback: () => 0 }))
  const read = await meter(page)
  await page.goto(`${double.url}/#/sessions`)
  await page.locator('#sign-in-email:focus').waitFor()
  await page.waitForLoadState('networkidle')
  const atSignIn = read()
  console.info('sign-in', JSON.stringify(atSignIn))
  await signIn(page, 'mira@example.com', 'Right-one-1')
  await page.locator('tr.row').first().waitFor()
  const withSessions = read()
  console.info('sessions', JSON.stringify(withSessions))
  await page.close()
  expect(withSessions.twice).toEqual([])
  expect(atSignIn.bytes).toBeLessThanOrEqual(BUDGETS.signIn.bytes)
  expect(atSignIn.requests).toBeLessThanOrEqual(BUDGETS.signIn.requests)
  expect(withSessions.bytes).toBeLessThanOrEqual(BUDGETS.sessions.bytes)
  expect(withSessions.requests).toBeLessThanOrEqual(BUDGETS.sessions.requests)
})

test('no part of the page carries zod', async () => {
  const scripts = (await readdir(ASSETS)).filter(name => name.endsWith('.js'))
  expect(scripts.length).toBeGreaterThan(5)
  for (const name of scripts) {
    expect(await readFile(new URL(name, ASSETS), 'utf8'), name).not.toMatch(/ZodError|_zod/)
  }
})
