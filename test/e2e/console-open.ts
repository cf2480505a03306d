import { type Browser, type Page } from 'playwright-core'
import { loadPage, saveData } from '../fixtures/browser.ts'
import { type World } from './console-double-world.ts'
import { startConsoleDouble, type ConsoleDouble } from './console-double.ts'
import { aWorld } from './console-world.ts'

export { launchBrowser as startBrowser } from '../fixtures/browser.ts'

export interface Opened extends AsyncDisposable {
  readonly page: Page
  readonly double: ConsoleDouble
  readonly world: World
  newTab(path: string): Promise<Page>
  /**
   * Loads the page again in its tab, at another address. Changing the address and reloading is not the same: a page that has not quite
   * started overwrites the new address with that of its first page, and goes there.
   */
  openAnew(path: string): Promise<void>
}

/**
 * The console with a double of the manager behind it, in a fresh browser context.
 * @param secret the origin secret of a browser that is signed in; the double asks for none
 */
export async function openConsole(
  browser: Browser,
  path: string,
  change: Partial<World> = {},
  viewport = { width: 1280, height: 800 },
  secret = '',
  locale = 'en-GB',
): Promise<Opened> {
  const world = aWorld(change)
  const double = await startConsoleDouble(world)
  const context = await browser.newContext({ viewport, locale, reducedMotion: 'reduce' })
  await saveData(context)
  if (secret !== '') await context.addInitScript(text => localStorage.setItem('berth.origin-secret', text), secret)
  const newTab = async (to: string) => {
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    await loadPage(page, `${double.url}/#${to}`)
    return page
  }
  const page = await newTab(path)
  return {
    page,
    double,
    world,
    newTab,
    async openAnew(to) {
      await page.goto('about:blank')
      await loadPage(page, `${double.url}/#${to}`)
    },
    async [Symbol.asyncDispose]() {
      await context.close()
      await double[Symbol.asyncDispose]()
    },
  }
}
