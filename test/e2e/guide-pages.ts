/**
 * Makes the pictures of docs/guide/pages.md: pages and dialogs of the console in both languages and both themes, with made-up data.
 * `npm run build`, then `node test/e2e/guide-pages.ts [NAME…]`. The pictures of the other chapters come from a running Berth
 * (`screenshots.ts`). Korean needs a font with Hangul on this computer.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { root } from '../fixtures/berth.ts'
import { inBothSchemes, launchBrowser, loadPage, settle, SIZES, withoutGutter } from '../fixtures/browser.ts'
import { startConsoleDouble } from './console-double.ts'
import { aWorld } from './console-world.ts'
import { CHAPTERS, DESKTOP_CHAPTER } from './guide-chapters.ts'
import { SCENES } from './guide-scenes.ts'

const folder = join(root, 'docs/guide/pages')
const QUALITY = 82

/** The page as WebP, which a picture of a page needs a third of the bytes for. */
async function picture(page: Page, path: string): Promise<void> {
  const client = await page.context().newCDPSession(page)
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await client.detach()
  await writeFile(path, Buffer.from(data, 'base64'))
}

/** Changes the language as another tab would: the page follows without a reload, and dialogs stay open. */
async function speak(page: Page, language: 'en' | 'ko'): Promise<void> {
  await page.evaluate(next => {
    localStorage.setItem('berth.language', next)
    dispatchEvent(new StorageEvent('storage', { key: 'berth.language', newValue: next }))
  }, language)
  await page.waitForFunction(next => document.documentElement.lang === next, language)
}

const wanted = process.argv.slice(2)
const names = Object.entries(CHAPTERS)
  .flatMap(([title, scenes]) => (title === DESKTOP_CHAPTER ? [] : Object.keys(scenes)))
  .filter(name => wanted.length === 0 || wanted.includes(name))
await mkdir(folder, { recursive: true })
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
    for (const language of ['en', 'ko'] as const) {
      await speak(page, language)
      await withoutGutter(page)
      await inBothSchemes(page, async theme => {
        await settle(page)
        await picture(page, join(folder, `${name}-${language}-${theme}.webp`))
      })
    }
    await context.close()
    console.log(name)
  }
} finally {
  await browser.close()
}
// The text follows from the chapters alone, whichever pictures are made.
const chapters = Object.entries(CHAPTERS).map(([title, scenes]) => {
  const pictures = Object.entries(scenes).map(([name, caption]) => {
    const link = (language: string, theme: string) => `pages/${name}-${language}-${theme}.webp`
    const more = `[dark](${link('en', 'dark')}) · [한국어](${link('ko', 'light')}) · [한국어, 어두운 테마](${link('ko', 'dark')})`
    return `![${name.replaceAll('-', ' ')}](${link('en', 'light')})\n\n${caption} ${more}\n`
  })
  return `## ${title}\n\n${pictures.join('\n')}`
})
const head = `# Every page and dialog\n\nMade by \`node test/e2e/guide-pages.ts\` and \`node test/desktop/guide-windows.ts\`, with made-up data. The [guide](README.md) explains them.\n`
await writeFile(join(root, 'docs/guide/pages.md'), `${head}\n${chapters.join('\n')}`)
