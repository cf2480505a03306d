import { mkdir } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testSet } from '../../build/bootstrap/test-sets.ts'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { variedFolders } from './console-double-folders.ts'
import { startConsoleDouble } from './console-double.ts'
import { lastingMisfits, PICTURES, WINDOWS } from './console-fit.ts'
import { startBrowser } from './console-open.ts'
import { aWorld, HISTORY, LIMITED } from './console-world.ts'
import { TOLD_PAGES, TOLD_WORLD, UNKEYED_WORLD } from './told-world.ts'
import { longLanguage, serveLongLanguage } from './long-language.ts'
import { type Scene } from './scene.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { audit, loadPage, saveData, settle, SIZES } from '../fixtures/browser.ts'

/**
 * The main pages in Korean, and in a made-up language that is twice as long as English: they fit into every window, and show no
 * English where the language has a text.
 */
const OUTPUT = new URL('../output/', import.meta.url).pathname
let browser: Browser
let long: string
beforeAll(async () => {
  browser = await startBrowser()
  await mkdir(OUTPUT, { recursive: true })
  long = await longLanguage()
})
afterAll(() => browser.close())

const PAGES: readonly Scene[] = [
  { name: 'sign-in', path: '/sign-in', world: { signedIn: false, authOptions: { signUp: 'open', firstStart: true } } },
  { name: 'sign-in-key', path: '/sign-in?with=key', world: { signedIn: false } },
  { name: 'summary', path: '/summary', world: { ...LIMITED } },
  { name: 'sessions', path: '/sessions' },
  {
    name: 'launch',
    path: '/sessions',
    async act(page) {
      await page.keyboard.press('n')
      await page.getByRole('dialog').getByRole('heading').first().waitFor()
    },
  },
  { name: 'data', path: '/data', world: { folders: variedFolders() } },
  { name: 'statistics', path: '/statistics', world: { ...LIMITED, history: HISTORY } },
  { name: 'account', path: '/account', world: { keypairs: [aKeypair(0)], logins: [THIS_LOGIN, OTHER_LOGIN] } },
  { name: 'preferences', path: '/preferences' },
  { name: 'information', path: '/information' },
  { name: 'admin-users', path: '/admin/users', world: ADMIN_WORLD },
]

async function open(scene: Scene, language: 'ko' | 'long', url: string) {
  const viewport = SIZES.small
  const context = await browser.newContext({ viewport, colorScheme: 'light', reducedMotion: 'reduce', locale: 'ko-KR' })
  await saveData(context)
  const page = await context.newPage()
  if (language === 'long') await serveLongLanguage(page, long)
  const problems: string[] = []
  page.on('pageerror', error => problems.push(error.message))
  await loadPage(page, `${url}/#${scene.path}`)
  await page.locator('h1, h2').first().waitFor()
  return { page, problems, [Symbol.asyncDispose]: () => context.close() }
}

async function misfitsEverywhere(page: Page, name: string, readsCells = true): Promise<string[]> {
  const outside: string[] = []
  for (const [window, size] of [['1280', SIZES.small] as const, ...WINDOWS]) {
    await page.setViewportSize(size)
    await settle(page)
    const found = await lastingMisfits(page, { readsCells })
    outside.push(...found.map(misfit => `at ${window} px: ${misfit}`))
    const isPictured = PICTURES && (window === '390' || window === '1280')
    if (isPictured || found.length > 0) await page.screenshot({ path: `${OUTPUT}${name}-${window}.png` })
  }
  return outside
}

/** Korean texts whose lines may end within a word. */
const tornTexts = (page: Page) =>
  page.locator('body :not(script, style)').evaluateAll(elements =>
    elements
      .filter(({ childNodes }) => [...childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE))
      .filter(element => /[가-힣] [가-힣]/.test(element.textContent) && element.checkVisibility())
      .filter(element => {
        const { wordBreak, whiteSpace } = getComputedStyle(element)
        return wordBreak !== 'keep-all' && whiteSpace !== 'nowrap'
      })
      .map(element => element.textContent.trim()),
  )

/** `npm test` checks every second page, alternating between the two languages. */
const pagesOf = (turn: 0 | 1) => PAGES.filter((_, index) => testSet(process.env) === 'all' || index % 4 === 2 * turn)

test.concurrent.each(pagesOf(0))(
  '$name in Korean is readable in both themes and fits into every window',
  async scene => {
    await using double = await startConsoleDouble(aWorld(scene.world))
    await using opened = await open(scene, 'ko', double.url)
    const { page, problems } = opened
    await scene.act?.(page, double)
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('ko')
    expect(await page.locator('#app').innerText()).toMatch(/\p{Script=Hangul}/u)
    const violations = await audit(page)
    const torn = await tornTexts(page)
    const outside = await misfitsEverywhere(page, `ko-${scene.name}`)
    expect({ violations, torn, outside, problems }).toEqual({ violations: [], torn: [], outside: [], problems: [] })
  },
)

test.concurrent.each(pagesOf(1))('$name fits into every window in a language twice as long', async scene => {
  await using double = await startConsoleDouble(aWorld(scene.world))
  await using opened = await open(scene, 'long', double.url)
  const { page, problems } = opened
  await scene.act?.(page, double)
  expect(await page.locator('#app').innerText()).toMatch(/[äëïöü]/)
  expect({ outside: await misfitsEverywhere(page, `long-${scene.name}`, false), problems }).toEqual({
    outside: [],
    problems: [],
  })
})

test('the doctor speaks Korean on the page Diagnostics', async () => {
  await using double = await startConsoleDouble(aWorld(ADMIN_WORLD))
  await using opened = await open({ name: 'admin-diagnostics', path: '/admin/diagnostics' }, 'ko', double.url)
  const { page } = opened
  await page.getByRole('button', { name: '모두 확인', exact: true }).click()
  await page.getByText('vfs 드라이버는 레이어 전체를 복사하므로').first().waitFor()
  await page.getByText('스토리지 드라이버', { exact: true }).first().waitFor()
  expect(await page.locator('main').innerText()).not.toContain('copies whole layers')
})

/** Three words of small Latin letters in a row: a sentence, not a name, a command or a version. */
const ENGLISH = /(?<![\w/.`-])[a-z]+,? [a-z]+,? [a-z]+(?![\w/`-])/
const COMMAND = /`[^`]*`/g
const englishIn = async (page: Page) =>
  (await page.locator('main').innerText()).split('\n').filter(line => ENGLISH.test(line.replaceAll(COMMAND, '')))

test.concurrent.each(TOLD_PAGES)(
  'what the server tells on $path is Korean, and English only from an older server',
  async scene => {
    for (const world of [TOLD_WORLD, UNKEYED_WORLD]) {
      await using double = await startConsoleDouble(aWorld(world))
      await using opened = await open({ ...scene, name: scene.path }, 'ko', double.url)
      const { page } = opened
      if ('press' in scene) await page.getByRole('button', { name: scene.press, exact: true }).click()
      for (const text of world === TOLD_WORLD ? scene.korean : scene.english)
        await page.getByText(text).first().waitFor()
      if (world === TOLD_WORLD) expect(await englishIn(page)).toEqual([])
      else expect((await englishIn(page)).length).toBeGreaterThanOrEqual(scene.english.length)
    }
  },
)
