import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBrowser } from './console-open.ts'
import { changesForSeconds, FINISHED, LIVE, massEnd, openMany, tabCount } from './console-storm.ts'

/** The list of sessions when very many sessions change at once. Times are generous: `npm run bench -- console` measures them. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

test('1,500 sessions that end at once need few requests, and all leave the list', async () => {
  await using it = await openMany(browser)
  const figures = await massEnd(it)
  console.info('mass end', JSON.stringify(figures))
  expect(await tabCount(it.page, 'Active')).toBe(LIVE - 1_500)
  expect(await tabCount(it.page, 'Finished')).toBe(FINISHED + 1_500)
  expect(figures.failed).toBe(0)
  expect(figures.inFlight).toBeLessThanOrEqual(8)
  // 1,500 sessions in requests of 100, which begin before the last hint has arrived; and the totals.
  expect(figures.requests['ids']).toBeLessThanOrEqual(25)
  expect(figures.requests['sessions'] ?? 0).toBeLessThanOrEqual(5)
  expect(figures.requests['sessions/:id']).toBeUndefined()
  expect(figures.truthMs).toBeLessThan(10_000)
})

test('the page is correct soon after 500 changes a second', async () => {
  await using it = await openMany(browser)
  const seconds = 5
  const figures = await changesForSeconds(it, seconds)
  console.info('changes', JSON.stringify(figures))
  expect(figures.failed).toBe(0)
  expect(figures.inFlight).toBeLessThanOrEqual(8)
  // Under load, rounds are a second apart after four quick ones; no round requests a session twice.
  expect(figures.requests['ids']).toBeLessThanOrEqual((seconds + 8) * 8)
  expect(figures.requests['sessions']).toBeUndefined()
  expect(figures.requests['resources']).toBeLessThanOrEqual(seconds + 5)
  expect(figures.truthMs).toBeLessThan(10_000)
})
