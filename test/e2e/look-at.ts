import { mkdir } from 'node:fs/promises'
import { type Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { casesOf, testSet } from '../../build/bootstrap/test-sets.ts'
import { audit, loadPage, type Scheme, SCHEMES, settle } from '../fixtures/browser.ts'
import { lastingMisfits, PICTURES, WINDOWS } from './console-fit.ts'
import { type Scene } from './scene.ts'
import { openStages, type Stage, type Stages } from './stages.ts'

const OUTPUT = new URL('../output/', import.meta.url).pathname
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED'
const ATTEMPTS = 5

/** Ways of checking. `npm test` uses the next one for each scene: parts of the page are in several scenes, and are checked in all ways. */
const LOOKS = ['light', '720', 'dark', '320'] as const

/**
 * Declares a test for each of these states of the console: axe (WCAG 2.2 AA), what does not fit into windows of several sizes, the page's
 * error log, and pictures for people. `npm test` checks every eighth scene, each in one way (`LOOKS`). In `npm run test:all`, axe checks
 * neighbouring scenes alternately in light and in dark, because their parts are in several scenes.
 */
export function lookAt(scenes: readonly Scene[]): void {
  let stages: Stages
  beforeAll(async () => {
    stages = await openStages()
    await mkdir(OUTPUT, { recursive: true })
  })
  afterAll(() => stages[Symbol.asyncDispose]())

  // Scenes are checked in parallel, each alone on a stage.
  const looked = scenes.filter(({ alike }) => PICTURES || !alike)
  const turns = casesOf(looked, 8).map((scene, index) => ({ scene, name: scene.name, ...looksOf(index) }))
  test.concurrent.each(turns)('$name has no faults that one sees in $ways', async ({ scene, schemes, windows }) => {
    for (let attempt = 1; ; attempt++) {
      const found = await undisturbed(stages, stage => faultsOf(scene, stage, { schemes, windows }))
      if (found === undefined && attempt < ATTEMPTS) continue
      expect(found).toEqual({ violations: [], outside: [], problems: [], moved: [] })
      return
    }
  })
}

interface Looks {
  /** Themes in which axe checks the scene. */
  readonly schemes: readonly Scheme[]
  readonly windows: typeof WINDOWS
}

/** @param index of the scene among the checked ones */
function looksOf(index: number): Looks & { readonly ways: readonly string[] } {
  const wanted: readonly (string | undefined)[] =
    testSet(process.env) === 'all' ? [SCHEMES[index % SCHEMES.length], '720', '320'] : [LOOKS[index % LOOKS.length]]
  const schemes = SCHEMES.filter(scheme => PICTURES || wanted.includes(scheme))
  const windows = WINDOWS.filter(([window]) => PICTURES || wanted.includes(window))
  return { schemes, windows, ways: [...schemes, ...windows.map(([window]) => window)] }
}

/**
 * Runs work on a stage that nobody else uses. When another test creates or removes a network, Chromium aborts requests in flight; the
 * console then reloads, and a dialog of the scene is lost.
 *
 * @returns undefined if that happened
 */
async function undisturbed<T>(stages: Stages, run: (stage: Stage) => Promise<T>): Promise<T | undefined> {
  const stage = await stages.take()
  const { promise: disturbed, resolve: disturb } = Promise.withResolvers<'disturbed'>()
  const onFailure = (request: Request) => {
    if (request.failure()?.errorText === NETWORK_CHANGED) disturb('disturbed')
  }
  stage.page.on('requestfailed', onFailure)
  const running = run(stage)
  try {
    const first = await Promise.race([running, disturbed])
    if (first === 'disturbed') return undefined
    stage.page.off('requestfailed', onFailure)
    stages.giveBack(stage)
    return first
  } finally {
    // A page that failed or was disturbed shows no further scene.
    if (!stages.isFree(stage)) await stage[Symbol.asyncDispose]()
    await Promise.allSettled([running])
  }
}

/** All checks of a scene use one page. Axe looks once in a theme, because contrast and names are the same at every width. */
async function faultsOf(scene: Scene, { page, double, problems, clear }: Stage, { schemes, windows }: Looks) {
  await clear(scene)
  await loadPage(page, `${double.url}/#${scene.path}`)
  const take = (window: string, theme: string) =>
    page.screenshot({ path: `${OUTPUT}${scene.name}-${window}-${theme}.png` })
  await page.locator('h1, h2').first().waitFor()
  await scene.act?.(page, double)
  const violations = await audit(page, { schemes, look: async theme => (PICTURES ? take('1280', theme) : undefined) })
  // Sizes are the same in both themes; pictures for people are light.
  const scheme = PICTURES ? 'light' : (schemes[0] ?? 'light')
  if (PICTURES) await page.emulateMedia({ colorScheme: scheme })
  const outside: string[] = []
  const place = page.url()
  for (const [window, size] of windows) {
    await page.setViewportSize(size)
    await settle(page)
    const found = await lastingMisfits(page)
    outside.push(...found.map(misfit => `at ${window} px: ${misfit}`))
    if (found.length > 0 || (PICTURES && window === '390')) await take(window, scheme)
  }
  // A change of the window size closes nothing.
  const moved = page.url() === place ? [] : [page.url()]
  return { violations, outside, problems: [...problems], moved }
}
