import { type Browser, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_WORLD } from './admin-world.ts'
import { aFolder, LOCAL, variedFolders } from './console-double-folders.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { openSection } from './console-steps.ts'
import { aSession, IMAGES, statsOf } from './console-world.ts'
import { button } from './scene.ts'

/** Names and buttons in a usual window of 1280 × 800 px: whole, in line with each other, and in sight. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const WINDOW = { width: 1280, height: 800 }
const ARCHIVE = { ...LOCAL, name: 'archive' }

test('folders show whole names, owners and counts, in English and in Korean', async () => {
  const world = { folders: variedFolders(), storageHosts: [LOCAL, ARCHIVE] }
  await using it = await openConsole(browser, '/data', world, WINDOW)
  for (const language of ['en', 'ko']) {
    await it.page.evaluate(value => localStorage.setItem('berth.language', value), language)
    await it.page.reload()
    await it.page.getByText('imagenet-2012-train-and-validation-sets').first().waitFor()
    expect(await cutIn('tr.row :is(.name, .owner, .sub)', it.page), language).toEqual([])
  }
})

test("an administrator's list of sessions shows whole owners and amounts", async () => {
  const sessions = [
    aSession(1, {
      name: 'uses-gpus',
      ownerEmail: 'jonas.lindqvist@physics.example.com',
      image: 'berth/pytorch:2.9-cuda13',
      requested: { cpu: '8', mem: String(64 * 2 ** 30), 'cuda.device': '2' },
      stats: statsOf(500, 2 ** 30, [40]),
    }),
    aSession(2, { name: 'pulls', status: 'PULLING' }),
  ]
  await using it = await openConsole(browser, '/sessions', { sessions, role: 'superadmin' }, WINDOW)
  await it.page.getByText('uses-gpus').waitFor()
  expect(await cutIn('tr.row :is(.col-name *, .col-resources *, .col-time *)', it.page)).toEqual([])
})

test('the cards of environments show whole names of images', async () => {
  await using it = await openConsole(browser, '/sessions', { images: IMAGES }, WINDOW)
  await button(it.page, 'New session').first().click()
  await it.page.locator('.image-reference').nth(1).waitFor()
  expect(await cutIn('.image-reference', it.page)).toEqual([])
})

test('a name of an image breaks after its colon only, where that is enough', async () => {
  await using it = await openConsole(browser, '/sessions', { images: IMAGES }, { width: 720, height: 800 })
  await button(it.page, 'New session').first().click()
  const name = it.page.locator('.image-reference', { hasText: 'berth/python:3.13' })
  await name.waitFor()
  expect(await linesOf(name, '3.13')).toBe(1)
})

test('in the summary of a launch a value that does not fit beside its name has a line of its own', async () => {
  const folders = [aFolder(1, { name: '.speech_recognition_data' })]
  await using it = await openConsole(browser, '/sessions', { folders }, WINDOW)
  await button(it.page, 'New session').first().click()
  const names = it.page.locator('.summary .folders', { hasText: '.speech_recognition_data' })
  await names.waitFor()
  expect(await linesOf(names, '.speech_recognition_data')).toBe(1)
})

test('what is kept of a session without a folder stands in amber above its button, in every window', async () => {
  await using it = await openConsole(browser, '/sessions', { folders: [aFolder(1)] }, WINDOW)
  await button(it.page, 'New session').first().click()
  const kept = it.page.locator('.fate', { hasText: 'No folder: the home is kept for about a day' })
  const amber = await it.page.locator('.summary .none').evaluate(one => getComputedStyle(one).color)
  for (const width of [1280, 720, 390]) {
    await it.page.setViewportSize({ width, height: 800 })
    await kept.waitFor()
    expect(await kept.evaluate(one => getComputedStyle(one).color), String(width)).toBe(amber)
    const [text, launch] = await Promise.all([kept.boundingBox(), button(it.page, /^Launch$/).boundingBox()])
    expect(text!.y, String(width)).toBeLessThan(launch!.y)
  }
  await openSection(it.page, 'Folders')
  const ground = await it.page.locator('.launch .nothing').evaluate(one => getComputedStyle(one).backgroundColor)
  expect(ground).toMatch(/^rgba\(.+, 0\.14\)$/)
})

test('the buttons of a long form are in sight, and only its fields scroll', async () => {
  await using it = await openConsole(browser, '/data', { storageHosts: [LOCAL, ARCHIVE] }, { width: 1280, height: 560 })
  await it.page.getByRole('button', { name: 'New folder' }).first().click()
  const dialog = it.page.getByRole('dialog')
  const submit = dialog.locator('.dialog-actions button[type="submit"]')
  await submit.waitFor()
  const { bottom } = await submit.evaluate(one => one.getBoundingClientRect().toJSON() as DOMRect)
  expect(bottom).toBeLessThanOrEqual(560)
  expect(await dialog.locator('.fields').evaluate(one => one.scrollHeight > one.clientHeight)).toBe(true)
})

test('the text of a question begins below its title', async () => {
  await using it = await openConsole(browser, '/sessions', { sessions: [aSession(1, { name: 'to-end' })] }, WINDOW)
  await button(it.page, /^Terminate/)
    .first()
    .click()
  const question = it.page.getByRole('alertdialog')
  await question.waitFor()
  const leftOf = (selector: string) =>
    question
      .locator(selector)
      .first()
      .evaluate(one => one.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(one).paddingLeft))
  expect(await leftOf('.v-card-text')).toBe(await leftOf('.dialog-head'))
})

test('the address of an owner goes to the next line after its @ only', async () => {
  await using it = await openConsole(browser, '/data', { folders: variedFolders(), storageHosts: [LOCAL] }, WINDOW)
  const owner = it.page.locator('.col-owner .owner', { hasText: '@physics' })
  await owner.waitFor()
  expect(await linesOf(owner, 'physics.example.com')).toBe(1)
})

test('states of agents are whole', async () => {
  await using it = await openConsole(browser, '/admin/agents', ADMIN_WORLD, WINDOW)
  await it.page.getByText('In maintenance').first().waitFor()
  const cut = await it.page
    .locator('td .chip')
    .evaluateAll(all =>
      all
        .filter(one => one.getBoundingClientRect().right > one.closest('td')!.getBoundingClientRect().right)
        .map(one => one.textContent.trim()),
    )
  expect(cut).toEqual([])
  expect(await cutIn('td .name', it.page)).toEqual([])
})

test('why a question could not be done is in sight, also in a low window', async () => {
  const size = { width: 1280, height: 300 }
  await using it = await openConsole(browser, '/data?tab=trash', { folders: variedFolders() }, size)
  await it.page.route('**/api/v1/folders/**', route =>
    route.request().method() === 'DELETE' ? route.abort() : route.fallback(),
  )
  await button(it.page, 'Delete old-runs permanently').click()
  const question = it.page.getByRole('dialog')
  await question.getByRole('textbox').fill('old-runs')
  await question.getByRole('button', { name: /^Delete/ }).click()
  const failure = question.getByRole('alert')
  await failure.waitFor()
  const below = () =>
    failure.evaluate(
      one => one.getBoundingClientRect().bottom - one.closest('.v-card-text')!.getBoundingClientRect().bottom,
    )
  await expect.poll(below).toBeLessThanOrEqual(1)
})

/** Texts of which a part is hidden. */
async function cutIn(selector: string, page: Page) {
  return await page
    .locator(selector)
    .evaluateAll(all =>
      all
        .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2)
        .map(one => one.textContent),
    )
}

/** Number of lines on which a part of a text stands; 0 if the text has no such part of its own. */
async function linesOf(text: Locator, part: string): Promise<number> {
  return await text.evaluate((one, wanted) => {
    const node = [...one.childNodes].find(({ textContent }) => textContent === wanted)
    if (!node) return 0
    const range = document.createRange()
    range.selectNodeContents(node)
    return range.getClientRects().length
  }, part)
}
