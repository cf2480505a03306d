import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { audit, launchBrowser, violationsOf } from '../fixtures/browser.ts'

/** The checks of a page by axe themselves. */
let browser: Browser
beforeAll(async () => void (browser = await launchBrowser()))
afterAll(() => browser.close())

/** A page whose text is unreadable in one colour scheme. */
const pageIn = (
  scheme: string,
) => `<html lang="en"><title>A page</title><body class="v-theme--light v-theme--dark"><main>
  <style>@media (prefers-color-scheme: ${scheme}) { p { color: #eee; background: #fff } }</style><h1>A page</h1><p>Text</p></main></body></html>`

test('in `npm test` a test that runs again finds the same fault of one colour scheme again', async () => {
  vi.stubEnv('BERTH_TESTS', 'change')
  try {
    const page = await browser.newPage()
    const faults: number[] = []
    for (const scheme of ['light', 'dark', 'dark', 'light']) {
      await page.setContent(pageIn(scheme))
      faults.push((await audit(page)).length)
    }
    expect(faults.slice(0, 2).toSorted()).toEqual([0, 1])
    expect(faults.slice(2)).toEqual(faults.slice(0, 2).toReversed())
  } finally {
    vi.unstubAllEnvs()
  }
})

test('an element with the role of another one is a fault', async () => {
  const page = await browser.newPage()
  await page.setContent(
    '<html lang="en"><title>A page</title><main><h1>A page</h1><ul role="tabpanel"></ul></main></html>',
  )
  expect(await violationsOf(page, 'light')).toEqual([expect.stringContaining('light: aria-allowed-role')])
})
