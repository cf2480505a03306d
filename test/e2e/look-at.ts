import { mkdir } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startConsoleDouble } from './console-double.ts'
import { lastingMisfits, PICTURES, WINDOWS } from './console-fit.ts'
import { startBrowser } from './console-open.ts'
import { aWorld } from './console-world.ts'
import { type Scene } from './scene.ts'
import { audit, loadPage, saveData, type Scheme, SCHEMES, settle, SIZES } from '../fixtures/browser.ts'

const OUTPUT = new URL('../output/', import.meta.url).pathname
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED'
const ATTEMPTS = 5

/**
 * Declares a test for each of these states of the console: axe (WCAG 2.2 AA), what does not fit into windows of several sizes, the
 * page's error log, and pictures for people. Without pictures, axe sees neighbouring scenes in light and in dark by turns: what
 * they are made of is in several of them.
 */
export function lookAt(scenes: readonly Scene[]): void {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
    await mkdir(OUTPUT, { recursive: true })
  })
  afterAll(() => browser.close())

  // Scenes are looked at side by side, each in a context of its own.
  const looked = scenes.filter(({ alike }) => PICTURES || !alike)
  const turns = looked.map((scene, index) => ({
    scene,
    name: scene.name,
    schemes: PICTURES ? SCHEMES : [index % 2 === 0 ? ('light' as const) : ('dark' as const)],
  }))
  test.concurrent.each(turns)(
    '$name is readable in $schemes and fits into every window',
    async ({ scene, schemes }) => {
      for (let attempt = 1; ; attempt++) {
        const found = await undisturbed(browser, page => faultsOf(scene, page, schemes))
        if (found === undefined && attempt < ATTEMPTS) continue
        expect(found).toEqual({ violations: [], outside: [], problems: [], moved: [] })
        return
      }
    },
  )
}

/**
 * Runs this on a new page. A network that a test beside this one makes or removes lets Chromium abort what is in flight; the
 * console then loads itself again, and a dialog of the scene would be gone.
 *
 * @returns undefined if that happened
 */
async function undisturbed<T>(browser: Browser, run: (page: Page) => Promise<T>): Promise<T | undefined> {
  const context = await browser.newContext({
    viewport: SIZES.small,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
  })
  await saveData(context)
  const page = await context.newPage()
  const { promise: disturbed, resolve: disturb } = Promise.withResolvers<'disturbed'>()
  page.on('requestfailed', request => {
    if (request.failure()?.errorText === NETWORK_CHANGED) disturb('disturbed')
  })
  const running = run(page)
  try {
    const first = await Promise.race([running, disturbed])
    return first === 'disturbed' ? undefined : first
  } finally {
    await context.close()
    await Promise.allSettled([running])
  }
}

/** All checks of a scene use one page. Axe looks once in a theme, because contrast and names are the same at every width. */
async function faultsOf(scene: Scene, page: Page, schemes: readonly Scheme[]) {
  await using double = await startConsoleDouble(aWorld(scene.world))
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    // A failed request is part of some scenes; a refused script, style or warning never is.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) problems.push(message.text())
    if (message.text().includes('[Vue')) problems.push(message.text())
  })
  await loadPage(page, `${double.url}/#${scene.path}`)
  const take = (window: string, theme: string) =>
    page.screenshot({ path: `${OUTPUT}${scene.name}-${window}-${theme}.png` })
  await page.locator('h1, h2').first().waitFor()
  await scene.act?.(page, double)
  const violations = await audit(page, { schemes, look: async theme => (PICTURES ? take('1280', theme) : undefined) })
  // Sizes are the same in both themes; people get light pictures.
  const scheme = PICTURES ? 'light' : (schemes[0] ?? 'light')
  if (PICTURES) await page.emulateMedia({ colorScheme: scheme })
  const outside: string[] = []
  const place = page.url()
  for (const [window, size] of WINDOWS) {
    await page.setViewportSize(size)
    await settle(page)
    const found = await lastingMisfits(page)
    outside.push(...found.map(misfit => `at ${window} px: ${misfit}`))
    if (found.length > 0 || (PICTURES && window === '390')) await take(window, scheme)
  }
  // A change of the window size closes nothing.
  const moved = page.url() === place ? [] : [page.url()]
  return { violations, outside, problems, moved }
}
