import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_WORLD } from './admin-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { ago, aSession, LIMITED } from './console-world.ts'
import { TUNNELS } from './scenes-apps.ts'

/** Parts of every page: palette, notices; and the pages about statistics, keys and versions. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const DAY = 24 * 60
const HISTORY = [3, 2, 1, 0].map(day => ({
  at: ago(day * DAY),
  sessions: day,
  cpuHours: day * 4.5,
  memGibHours: day * 9,
  gpuHours: day,
  cpuIdle: day === 0 ? null : 0.25,
  ...{ gpuIdle: day === 0 ? null : 0.5, memIdle: null },
  ...{ readBytes: day * 2 ** 30, writtenBytes: 0, receivedBytes: 0, sentBytes: 0 },
}))

test('Ctrl+K finds pages, sessions and actions, by the keyboard alone', async () => {
  await using it = await openConsole(browser, '/account')
  await it.page.getByRole('heading', { name: 'Your account', exact: true }).waitFor()
  await it.page.keyboard.press('Control+k')
  const search = it.page.getByRole('combobox', { name: 'Search pages, sessions and actions' })
  await search.waitFor()
  await it.page.getByRole('option', { name: 'train-resnet-50' }).waitFor()
  await search.fill('resnet')
  await it.page.keyboard.press('Enter')
  await it.page.getByRole('heading', { name: 'train-resnet-50' }).waitFor()
  await it.page.keyboard.press('Control+k')
  await search.fill('xyz')
  const top = (await search.boundingBox())?.y
  await it.page.getByText('Nothing matches').waitFor()
  expect((await search.boundingBox())?.y).toBe(top)
  // The server finds ended sessions, also by what the palette does not show.
  await search.fill('too-little')
  await it.page.getByRole('option', { name: 'too-little-memory' }).waitFor()
  expect(await it.page.getByRole('option').count()).toBe(1)
  await search.fill('new')
  await it.page.keyboard.press('Enter')
  await it.page.getByRole('heading', { name: 'New session' }).waitFor()
})

test('the number of open tunnels is in the top bar after a reload, in a browser too', async () => {
  await using it = await openConsole(browser, '/account', { tunnels: TUNNELS })
  const tunnels = it.page.getByRole('link', { name: '3 open tunnels' })
  await tunnels.waitFor()
  await it.page.reload()
  await tunnels.click()
  await it.page.getByRole('heading', { name: 'Tunnels', level: 1 }).waitFor()
})

test('the palette and the dialog of a dotfile take what is typed whenever they open, not only the first time', async () => {
  await using it = await openConsole(browser, '/preferences')
  const { keyboard } = it.page
  const opened = [
    { open: () => keyboard.press('Control+k'), field: it.page.getByRole('combobox', { name: 'Search pages' }) },
    { open: () => button(it.page, 'New dotfile').click(), field: it.page.locator('#dotfile-path') },
  ]
  await button(it.page, 'New dotfile').waitFor()
  for (const { open, field } of [...opened, ...opened]) {
    await open()
    await field.waitFor()
    await expect.poll(() => field.evaluate(element => document.activeElement === element)).toBe(true)
    await keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
  }
})

test('the palette of an administrator has the pages of administration; it is in the menu of narrow windows, and changes the language', async () => {
  await using it = await openConsole(browser, '/account', { role: 'superadmin' }, { width: 390, height: 800 })
  const openPalette = async (menu: string) => {
    await button(it.page, /Administrator/).click()
    await it.page.locator('.v-list-item').filter({ hasText: menu }).first().click()
  }
  await openPalette('Search')
  const search = it.page.getByRole('combobox', { name: 'Search pages, sessions and actions' })
  await search.fill('audit')
  await it.page.getByRole('option', { name: /Audit log/ }).click()
  await expect.poll(() => it.page.url()).toContain('/admin/')
  await openPalette('Search')
  await search.fill('한국어')
  await it.page.keyboard.press('Enter')
  await expect.poll(() => it.page.evaluate(() => document.documentElement.lang)).toBe('ko')
})

test('changes of a session are listed under the bell in every tab until they are read', async () => {
  const session = aSession(1, { name: 'long-training' })
  await using it = await openConsole(browser, '/sessions', { sessions: [session] })
  await it.page.getByText('long-training').waitFor()
  await expect.poll(() => it.double.streams()).toBe(1)
  expect(await button(it.page, 'No unread notifications').count()).toBe(1)
  Object.assign(session, { status: 'ERROR', endedAt: new Date().toISOString(), version: 2 })
  session.reason = { code: 'oom_killed', message: 'Ran out of memory' }
  it.double.emit('hint', { topic: 'session', id: session.id, version: 2 })
  await button(it.page, '1 unread notification').click()
  await it.page.getByRole('link', { name: /long-training failed/ }).waitFor()
  const tab = await it.newTab('/account')
  await button(tab, '1 unread notification').waitFor()
  await it.page.getByRole('link', { name: /long-training failed/ }).click()
  await it.page.getByRole('heading', { name: 'long-training' }).waitFor()
  await button(tab, 'No unread notifications').waitFor()
})

test('statistics show the sessions and the period of the address, as charts and as a table', async () => {
  await using it = await openConsole(browser, '/statistics', { ...LIMITED, role: 'superadmin', history: HISTORY })
  await expect.poll(() => it.page.locator('.chart-plot canvas').count()).toBe(8)
  await button(it.page, 'By week').click()
  await expect.poll(() => it.world.asked).toContain('by=week')
  await expect.poll(() => it.page.url()).toContain('by=week')
  await button(it.page, 'Show as table').click()
  await it.page.getByRole('cell', { name: '13.5' }).waitFor()
  const all = await it.newTab('/statistics?of=all')
  await all.getByText(/^Most at once: 3 sessions · [\d.]+ core-hours · ([\d.]+ GPU-hours|no GPU)$/).waitFor()
  expect(it.world.asked).toContain('scope=all')
})

test('an access key is made, its secret shown once, and it can be deactivated', async () => {
  await using it = await openConsole(browser, '/account')
  await it.page.getByText('You have no access key.').waitFor()
  await button(it.page, 'New access key').click()
  await it.page.getByLabel('Name').fill('Nightly evaluation')
  expect(it.world.keypairs ?? []).toEqual([])
  await button(it.page, 'Make key').click()
  await it.page.getByText('The secret key is shown only now.').waitFor()
  await it.page
    .getByText('s'.repeat(40))
    .or(it.page.locator(`input[value="${'s'.repeat(40)}"]`))
    .first()
    .waitFor()
  await it.page.locator('.dialog-actions').getByRole('button', { name: 'Close' }).click()
  await button(it.page, 'Deactivate AKIAABCDEFGHIJKLMNO0').waitFor()
  await it.page.getByText('Nightly evaluation', { exact: true }).waitFor()
  expect(await it.page.content()).not.toContain('s'.repeat(40))
})

test('an access token gets scopes and bounds, is shown once, and is ended', async () => {
  await using it = await openConsole(browser, '/account')
  await it.page.getByText('You have no access token.').waitFor()
  await button(it.page, 'New access token').click()
  const dialog = it.page.getByRole('dialog')
  await dialog.getByLabel('see what I see').uncheck()
  await dialog.getByRole('button', { name: 'Make token' }).click()
  for (const mistake of ['Enter a name', 'Choose at least one']) await dialog.getByText(mistake).waitFor()
  await dialog.getByLabel('Name').fill('Coding agent')
  await dialog.getByLabel('launch sessions').check()
  await dialog.getByLabel('Hours of each').fill('2')
  await dialog.getByLabel('GPU hours').fill('20')
  await dialog.getByLabel('Sessions at once').fill('0')
  await dialog.getByRole('button', { name: 'Make token' }).click()
  await dialog.getByText('Enter a whole number from 1 to 10').waitFor()
  await dialog.getByLabel('Sessions at once').fill('4')
  await dialog.getByRole('button', { name: 'Make token' }).click()
  await it.page.getByText('It is shown only now.').waitFor()
  expect(it.world.tokens).toMatchObject([
    { scopes: ['launch'], budget: { sessions: 4, sessionSeconds: 7200, gpuHours: 20 } },
  ])
  await it.page.locator('.dialog-actions').getByRole('button', { name: 'Close' }).click()
  expect(await it.page.content()).not.toContain('t'.repeat(43))
  await it.page.getByText('launch · 1 of 4 sessions · 3.5 of 20 GPU hours taken or kept · never used').waitFor()
  await button(it.page, 'End the access token Coding agent').click()
  await it.page.getByRole('alertdialog').getByRole('button', { name: 'End' }).click()
  await it.page.getByText('You have no access token.').waitFor()
  expect(it.world.tokens).toEqual([])
})

test('the information page shows versions, checks the connection, and lists the errors of the page', async () => {
  await using it = await openConsole(browser, '/account', {
    failures: new Map([['POST /api/v1/keypairs', { code: 'unavailable' }]]),
  })
  await button(it.page, 'New access key').click()
  await button(it.page, 'Make key').click()
  await it.page.locator('.notification.error').waitFor()
  await button(it.page, /^Account of/).click()
  await it.page.getByText('Information', { exact: true }).click()
  await it.page.getByRole('heading', { name: 'Connection check' }).waitFor()
  await expect.poll(() => it.page.getByText('0.1.0', { exact: true }).count()).toBe(2)
  await expect.poll(() => it.page.getByText(/Works, \d+ ms/).count()).toBe(2)
  await it.page
    .getByText(/^unavailable: /)
    .first()
    .waitFor()
  await it.page.getByText(/\d+ sessions reachable$|sessions cannot be reached/).waitFor()
  expect(await it.page.getByText('Shown to administrators').count()).toBe(2)
})

test('the information page tells superadmins the version of each manager and agent, and says when the page is an old one', async () => {
  await using it = await openConsole(browser, '/information', ADMIN_WORLD)
  const versions = it.page.locator('dl')
  await versions.getByText(/^0\.1\.0 on http/).waitFor()
  await versions
    .getByText(/\(Docker .*\) on .*gpu-host-1\.cluster\.example\.org/)
    .first()
    .waitFor()
  await it.page.route('**/host/host/info', async route => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll('0.1.0', '0.2.0') })
  })
  await button(it.page, 'Check again').click()
  await versions.getByText('0.1.0. Berth was updated since: reload the page.').waitFor()
})
