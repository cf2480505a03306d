import { type Page } from 'playwright-core'
import { openConsole, startBrowser } from '../e2e/console-open.ts'
import { BROWSER } from '../fixtures/browser.ts'
import { changesForSeconds, massEnd, openMany } from '../e2e/console-storm.ts'
import { median, round } from './statistics.ts'

const TIMES = 7
/** CPU time of the main thread per key in ms, including all consequences of the key; `script` is a part of `task`. */
interface KeyCost {
  readonly task: number
  readonly script: number
}

const TYPED = 'train-with-larger-batches'

/** Speed of the console in Chromium, over the API double: needs `npm run build` before. */
export async function benchConsole(stack: AsyncDisposableStack) {
  const browser = stack.adopt(await startBrowser({ program: BROWSER }), started => started.close())
  const it = stack.use(await openConsole(browser, '/sessions'))
  await it.page.locator('tr.row').first().waitFor()
  const opened: number[] = []
  for (let time = 0; time < TIMES; time++) opened.push(await openLaunchDialog(it.page))
  const keys: Record<string, KeyCost> = { search: await typing(it.page, '#session-search', TYPED) }
  await it.page.locator('#session-search').fill('')
  await it.page.getByRole('button', { name: 'New session' }).click()
  keys['name'] = await typing(it.page, '#launch-name', TYPED)
  await it.page.locator('.fold > h3 > button', { hasText: 'How long it runs' }).click()
  keys['command'] = await typing(it.page, '#launch-command', 'python3 train.py --epochs 40')
  keys['ram'] = await typing(it.page, '#amount-mem-RAM', '12.5 GiB')
  const storm = stack.use(await openMany(browser))
  const ended = await massEnd(storm)
  const changing = stack.use(await openMany(browser))
  const changes = await changesForSeconds(changing, 5)
  return {
    console: {
      launchOpenMs: round(median(opened), 0),
      launchOpenFirstMs: round(opened[0] ?? 0, 0),
      keys,
      massEnd: ended,
      changes,
    },
  }
}

/** Milliseconds from the click until the first field can be used. */
async function openLaunchDialog(page: Page): Promise<number> {
  // Wait until the page is idle, as before a click of a person.
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

async function typing(page: Page, selector: string, text: string): Promise<KeyCost> {
  const cdp = await page.context().newCDPSession(page)
  // Time of the thread, not of the clock, so that other work on the machine does not count.
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const spent = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    const msOf = (metric: string) => (metrics.find(({ name }) => name === metric)?.value ?? 0) * 1000
    return { task: msOf('TaskDuration'), script: msOf('ScriptDuration') }
  }
  await page.locator(selector).fill('')
  await page.waitForTimeout(1000)
  const before = await spent()
  await page.locator(selector).pressSequentially(text, { delay: 60 })
  await page.waitForTimeout(600)
  const after = await spent()
  await cdp.detach()
  const perKey = (ms: number) => round(ms / text.length, 1)
  return { task: perKey(after.task - before.task), script: perKey(after.script - before.script) }
}
