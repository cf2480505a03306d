import { type Page } from 'playwright-core'
import { openConsole, startBrowser } from '../e2e/console-open.ts'
import { changesForSeconds, massEnd, openMany } from '../e2e/console-storm.ts'
import { median, round } from './statistics.ts'

const TIMES = 7
const TYPED = 'train-with-larger-batches'

/** How quick the console is in Chromium, over the API double: needs `npm run build` before. */
export async function benchConsole(stack: AsyncDisposableStack) {
  const browser = stack.adopt(await startBrowser(), started => started.close())
  const it = stack.use(await openConsole(browser, '/sessions'))
  await it.page.locator('tr.row').first().waitFor()
  const opened: number[] = []
  for (let time = 0; time < TIMES; time++) opened.push(await openLaunchDialog(it.page))
  await it.page.getByRole('button', { name: 'New session' }).click()
  const keyMs = await typing(it.page, '#launch-name')
  const storm = stack.use(await openMany(browser))
  const ended = await massEnd(storm)
  const changing = stack.use(await openMany(browser))
  const changes = await changesForSeconds(changing, 5)
  return {
    console: {
      launchOpenMs: round(median(opened), 0),
      launchOpenFirstMs: round(opened[0] ?? 0, 0),
      keyMs,
      massEnd: ended,
      changes,
    },
  }
}

/** From the click until the first field can be used. */
async function openLaunchDialog(page: Page): Promise<number> {
  // Long enough for the page to be idle, as before a click of a person.
  await page.waitForTimeout(500)
  const ms = await page.evaluate(async () => {
    const button = [...document.querySelectorAll('button')].find(({ innerText }) => innerText.includes('New session'))
    const start = performance.now()
    button?.click()
    while (!document.querySelector('#launch-name')) await new Promise(resolve => requestAnimationFrame(resolve))
    await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))
    return performance.now() - start
  })
  await page.keyboard.press('Escape')
  await page.locator('#launch-name').waitFor({ state: 'detached' })
  return ms
}

/** Work of the main thread per key, with everything that follows from it. */
async function typing(page: Page, selector: string): Promise<number> {
  const cdp = await page.context().newCDPSession(page)
  // Time of the thread, not of the clock: other work on the machine does not count.
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const work = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
  await page.locator(selector).fill('')
  await page.waitForTimeout(1000)
  const before = await work()
  await page.locator(selector).pressSequentially(TYPED, { delay: 60 })
  await page.waitForTimeout(600)
  return round(((await work()) - before) / TYPED.length, 1)
}
