import { type Browser, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_WORLD } from './admin-world.ts'
import { aFolder, LOCAL, variedFolders } from './console-double-folders.ts'
import { type World } from './console-double-world.ts'
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

test('folders have their size and short marks of rights as columns, and their storage only where there are several', async () => {
  const heads = (page: Page) => page.locator('th').evaluateAll(all => all.map(one => one.textContent.trim()))
  const usual = ['Name', 'Owner', 'Permission', 'Size', 'Created', 'Control']
  await using one = await openConsole(browser, '/data', { folders: variedFolders(), storageHosts: [LOCAL] }, WINDOW)
  await one.page.getByText('genomes').waitFor()
  expect(await heads(one.page)).toEqual(usual)
  const marks = (name: string) => one.page.getByRole('row', { name }).locator('.mark').allTextContents()
  expect([await marks('models'), await marks('genomes')]).toEqual([
    ['R', '–', '–'],
    ['R', 'W', '–'],
  ])
  expect(await one.page.getByRole('row', { name: 'experiments' }).locator('.col-size').textContent()).toContain(
    '38.9 GiB',
  )
  const both = { folders: variedFolders(), storageHosts: [LOCAL, ARCHIVE] }
  await using several = await openConsole(browser, '/data', both, WINDOW)
  await several.page.getByText('genomes').waitFor()
  expect(await heads(several.page)).toEqual([...usual.slice(0, 4), 'Storage', ...usual.slice(4)])
})

test('on a phone the cards of folders show whole facts', async () => {
  const world = { folders: variedFolders(), storageHosts: [LOCAL, ARCHIVE] }
  await using it = await openConsole(browser, '/data', world, { width: 390, height: 1400 })
  for (const language of ['en', 'ko']) {
    await it.page.evaluate(value => localStorage.setItem('berth.language', value), language)
    await it.page.reload()
    await it.page.getByText('genomes').waitFor()
    expect(await cutIn('tr.row :is(.sub, .about)', it.page), language).toEqual([])
    // The cells of a card do not lie over each other.
    const beyond = await it.page.locator('tr.row').evaluateAll(all =>
      all
        .filter(one => {
          const boxes = ['.col-name', '.about', '.col-controls'].map(cell =>
            one.querySelector(cell)!.getBoundingClientRect(),
          )
          return boxes.some(({ top }, at) => at > 0 && top < boxes[at - 1]!.bottom)
        })
        .map(one => one.textContent),
    )
    expect(beyond, language).toEqual([])
  }
})

test("an administrator's list of sessions shows whole names, owners and amounts", async () => {
  const sessions = [
    aSession(3, { name: 'speech-recognition-large-batch-7-of-march', ownerEmail: 'jonas@physics.example.com' }),
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

test('on a phone search, filter and export of the sessions stand in one line', async () => {
  await using it = await openConsole(browser, '/sessions', {}, { width: 390, height: 800 })
  const search = it.page.getByRole('searchbox')
  await search.waitFor()
  const [field, download] = await Promise.all([search.boundingBox(), button(it.page, /CSV/).boundingBox()])
  expect(download!.y).toBeLessThan(field!.y + field!.height)
})

test('a list of own sessions shows whole names and images', async () => {
  const sessions = [
    aSession(1, { name: 'a-name-of-a-session-that-is-long', image: 'berth/pytorch:2.9-cuda13' }),
    aSession(2, { name: 'waits', status: 'PENDING' }),
  ]
  await using it = await openConsole(browser, '/sessions', { sessions }, WINDOW)
  await it.page.getByText('a-name-of-a-session').waitFor()
  expect(await cutIn('tr.row .col-name *', it.page)).toEqual([])
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

test('details of a session use the width of their panel, and their tabs fit into a phone', async () => {
  const stats = { ...statsOf(500, 2 ** 30), diskReadBytes: 123.4e9, diskWriteBytes: 98.7e9, netRxBytes: 45.6e9 }
  const sessions = [aSession(1, { name: 'runs', stats })]
  await using it = await openConsole(browser, `/sessions/${sessions[0]!.id}`, { sessions }, WINDOW)
  const facts = it.page.locator('.drawer .usage > p')
  await facts.waitFor()
  const [text, panel] = await Promise.all([facts.boundingBox(), it.page.locator('.drawer header.head').boundingBox()])
  expect(text!.width).toBeGreaterThan(panel!.width - 60)
  await it.page.setViewportSize({ width: 390, height: 800 })
  const last = it.page.getByRole('tab').last()
  await expect.poll(async () => (await last.boundingBox())!.width).toBeGreaterThan(40)
  const { x, width } = (await last.boundingBox())!
  expect(x + width).toBeLessThanOrEqual(390)
})

test('a reason with a fingerprint stands below its title, in every window', async () => {
  const why = `The certificate has changed: SHA-256 ${Array.from({ length: 32 }, () => 'AB').join(':')}`
  const failures: World['failures'] = new Map([['GET /api/v1/sessions', { code: 'unavailable', detail: { why } }]])
  await using it = await openConsole(browser, '/sessions', { failures }, WINDOW)
  const words = it.page.locator('.error-words')
  await words.getByText('AB:AB').waitFor()
  for (const width of [1280, 390]) {
    await it.page.setViewportSize({ width, height: 800 })
    const [title, icon] = await Promise.all([words.boundingBox(), it.page.locator('.error-icon').boundingBox()])
    expect(Math.abs(title!.x + title!.width / 2 - icon!.x - icon!.width / 2)).toBeLessThanOrEqual(1)
  }
})

test('the banner of a lost connection leaves the button of a new session free, in every window', async () => {
  await using it = await openConsole(browser, '/sessions', { refuseStreams: true }, WINDOW)
  const banner = it.page.locator('.banner', { hasText: 'No connection' })
  await banner.waitFor()
  for (const width of [1280, 1100, 800, 390]) {
    await it.page.setViewportSize({ width, height: 800 })
    const [over, free] = await Promise.all([banner.boundingBox(), button(it.page, 'New session').boundingBox()])
    const isBeside = over!.x + over!.width <= free!.x
    const isBeyond = over!.y + over!.height <= free!.y || free!.y + free!.height <= over!.y
    expect({ width, isFree: isBeside || isBeyond }).toEqual({ width, isFree: true })
  }
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
