/**
 * Makes pages.md of the guide and the pictures of the console's pages and dialogs, with made-up data. `npm run build`, then
 * `node test/e2e/guide-pages.ts [--all] [NAME…]`: English and light in docs/guide; with `--all` both languages and both themes in
 * dist/guide. Korean needs a font with Hangul on this computer.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { inSchemes, launchBrowser, loadPage, settle, SIZES, withoutGutter } from '../fixtures/browser.ts'
import { startConsoleDouble } from './console-double.ts'
import { aWorld } from './console-world.ts'
import { CHAPTERS, DESKTOP_CHAPTER } from './guide-chapters.ts'
import { guideText, pictureFile, readOrder } from './guide-pictures.ts'
import { SCENES } from './guide-scenes.ts'

const { looks, folder, names: wanted } = readOrder(process.argv.slice(2))
const languages = new Set(looks.map(({ language }) => language))
const QUALITY = 82

/** The page as WebP, which takes a third of the bytes. */
async function picture(page: Page, path: string): Promise<void> {
  const client = await page.context().newCDPSession(page)
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await client.detach()
  await writeFile(path, Buffer.from(data, 'base64'))
}

/** Changes the language like another tab would: the page follows without a reload, and dialogs stay open. */
async function speak(page: Page, language: 'en' | 'ko'): Promise<void> {
  await page.evaluate(next => {
    localStorage.setItem('berth.language', next)
    dispatchEvent(new StorageEvent('storage', { key: 'berth.language', newValue: next }))
  }, language)
  await page.waitForFunction(next => document.documentElement.lang === next, language)
}

const names = Object.entries(CHAPTERS)
  .flatMap(([title, scenes]) => (title === DESKTOP_CHAPTER ? [] : Object.keys(scenes)))
  .filter(name => wanted.length === 0 || wanted.includes(name))
await mkdir(join(folder, 'pages'), { recursive: true })
const browser = await launchBrowser()
try {
  for (const name of names) {
    const scene = SCENES.find(one => one.name === name)
    if (!scene) throw new Error(`there is no scene "${name}"`)
    await using double = await startConsoleDouble(aWorld(scene.world))
    const context = await browser.newContext({ viewport: SIZES.small, reducedMotion: 'reduce', locale: 'en-GB' })
    const page = await context.newPage()
    await loadPage(page, `${double.url}/#${scene.path}`)
    await page.locator('h1, h2').first().waitFor()
    await scene.act?.(page, double)
    await page.mouse.move(0, 0)
    for (const dismiss of await page.locator('.notification').getByRole('button', { name: 'Dismiss' }).all())
      await dismiss.click()
    for (const language of languages) {
      const themes = looks.filter(look => look.language === language).map(({ theme }) => theme)
      await speak(page, language)
      await withoutGutter(page)
      await inSchemes(page, themes, async theme => {
        await settle(page)
        await picture(page, join(folder, 'pages', pictureFile(name, { language, theme })))
      })
    }
    await context.close()
    console.log(name)
  }
} finally {
  await browser.close()
}
// The text depends only on the chapters, whichever pictures are made.
await writeFile(join(folder, 'pages.md'), guideText(looks))
