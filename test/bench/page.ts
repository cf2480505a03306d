import { type Browser, type Page } from 'playwright-core'
import { type Opened, openConsole, startBrowser } from '../e2e/console-open.ts'
import { BROWSER } from '../fixtures/browser.ts'
import { aSession } from '../e2e/console-world.ts'
import { median, round } from './statistics.ts'

const TIMES = 5
const SESSIONS = 10_000
/** Pages in the navigation rail, by the path of the link. */
const PAGES = ['/summary', '/sessions', '/data', '/statistics'] as const
const FRAMES = 120

/** First paint, changes of the page, and the list with 10,000 sessions, in Chromium over the API double: needs `npm run build` before. */
export async function benchPage(stack: AsyncDisposableStack) {
  const browser = stack.adopt(await startBrowser({ program: BROWSER }), started => started.close())
  const paints: number[] = []
  for (let time = 0; time < TIMES; time++) paints.push(await firstPaint(browser))
  const small = stack.use(await openConsole(browser, '/summary'))
  const routes = await changeRoutes(small.page)
  const sessions = Array.from({ length: SESSIONS }, (_, index) => aSession(index))
  const many = stack.use(await openConsole(browser, '/sessions', { sessions }))
  return {
    page: {
      firstPaintMs: round(median(paints), 0),
      firstPaintSlowestMs: round(Math.max(...paints), 0),
      routeFirstMs: await changeRoutesFirst(browser),
      ...routes,
      manySessions: await scrollThrough(many),
    },
  }
}

/** Milliseconds from the navigation to the first contentful paint, with an empty cache and a signed-in user. */
async function firstPaint(browser: Browser): Promise<number> {
  await using it = await openConsole(browser, '/sessions', {}, undefined, 'of a signed-in browser')
  await it.page.locator('tr.row').first().waitFor()
  return await it.page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  )
}

/** Milliseconds of the first change to each page in a console that was just opened, and had time to load them ahead. */
async function changeRoutesFirst(browser: Browser): Promise<Record<string, number>> {
  const times: Record<string, number[]> = {}
  for (let time = 0; time < TIMES; time++) {
    await using it = await openConsole(browser, '/summary')
    await it.page.locator('main h1').waitFor()
    await it.page.waitForTimeout(2_000)
    for (const path of [...PAGES.slice(1), PAGES[0]]) (times[path] ??= []).push(await changeTo(it.page, path))
  }
  return Object.fromEntries(Object.entries(times).map(([path, all]) => [path, round(median(all), 0)]))
}

/** Milliseconds of changes to pages that were shown before. */
async function changeRoutes(page: Page): Promise<{ routeMs: number; routeSlowestMs: number }> {
  const times: number[] = []
  for (let time = 0; time <= TIMES; time++) {
    for (const path of [...PAGES.slice(1), PAGES[0]]) {
      const ms = await changeTo(page, path)
      if (time > 0) times.push(ms)
    }
  }
  return { routeMs: round(median(times), 0), routeSlowestMs: round(Math.max(...times), 0) }
}

/** Milliseconds from the click on a link of the rail until the frame with the page is painted. */
async function changeTo(page: Page, path: string): Promise<number> {
  // Wait until the page is idle, as before a click of a person.
  await page.waitForTimeout(500)
  return await page.evaluate(async to => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    const before = document.querySelector('main h1')
    const start = performance.now()
    document.querySelector<HTMLElement>(`nav a[href$="#${to}"]`)?.click()
    while (document.querySelector('main h1') === before || !document.querySelector('main h1')) {
      if (performance.now() - start > 20_000) return Number.NaN
      await frame()
    }
    // A frame is painted after its callbacks, and before this timer.
    await new Promise(resolve => setTimeout(resolve))
    return performance.now() - start
  }, path)
}

/** The list with many sessions: work of the main thread per frame while it scrolls, frames over 50 ms, and the heap. */
async function scrollThrough({ page }: Opened) {
  await page.locator('table[aria-rowcount="10001"]').waitFor({ timeout: 60_000 })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const read = async (metric: string) => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === metric)?.value ?? Number.NaN
  }
  await cdp.send('HeapProfiler.collectGarbage')
  const heapMiB = round((await read('JSHeapUsedSize')) / 2 ** 20, 0)
  const before = await read('TaskDuration')
  const frames = await page.evaluate(async count => {
    const scroller = document.querySelector('.table-scroller')
    const times: number[] = []
    let last = performance.now()
    for (let index = 1; index <= count; index++) {
      if (scroller) scroller.scrollTop = (scroller.scrollHeight * index) / count
      await new Promise(resolve => requestAnimationFrame(resolve))
      const now = performance.now()
      times.push(now - last)
      last = now
    }
    return times
  }, FRAMES)
  const workMs = round((((await read('TaskDuration')) - before) * 1000) / FRAMES, 1)
  const rows = await page.locator('tr.row').count()
  await cdp.send('HeapProfiler.collectGarbage')
  const heapAfterMiB = round((await read('JSHeapUsedSize')) / 2 ** 20, 0)
  await cdp.detach()
  const longFrames = frames.filter(ms => ms > 50).length
  return { rows, workMsPerFrame: workMs, frameMs: round(median(frames), 1), longFrames, heapMiB, heapAfterMiB }
}
