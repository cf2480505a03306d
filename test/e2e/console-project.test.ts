import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession, LIMITED } from './console-world.ts'

/** The project selector of the top bar, and what follows it. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const [basic, vision] = LIMITED.projects ?? []
if (!basic || !vision) throw new Error('the world needs two projects')
const world = {
  ...LIMITED,
  sessions: [
    aSession(1, { name: 'of-default', group: basic }),
    aSession(2, { name: 'of-vision', group: vision }),
    aSession(3, { name: 'of-nothing', group: null }),
    aSession(4, { name: 'ended-of-default', group: basic, status: 'TERMINATED', endedAt: new Date().toISOString() }),
  ],
}
const rowNames = async (page: Page) => (await page.locator('tr.row .name').allTextContents()).toSorted()
const selector = (page: Page) => page.getByRole('button', { name: /^Project: / })
async function choose(page: Page, name: string): Promise<void> {
  await selector(page).click()
  await page.getByRole('listitem').filter({ hasText: name }).or(page.getByRole('option', { name })).first().click()
}

test('the list, the gauges and the launch dialog follow the chosen project, which is remembered', async () => {
  await using it = await openConsole(browser, '/sessions', world)
  await expect.poll(() => rowNames(it.page)).toEqual(['of-default', 'of-nothing', 'of-vision'])
  await selector(it.page).click()
  await it.page.getByText('Left: 4 CPU, 0 GPU').waitFor()
  await it.page.keyboard.press('Escape')
  await it.page.getByText('Left: 4 CPU, 0 GPU').waitFor({ state: 'hidden' })

  await choose(it.page, 'vision')
  await expect.poll(() => rowNames(it.page)).toEqual(['of-vision'])
  await it.page.getByTitle(/Project vision: 20 . 24/).waitFor()
  await it.page.getByRole('tab', { name: 'Finished 0' }).click()
  await it.page.getByText('No finished sessions in the project vision').waitFor()

  await it.page.getByRole('button', { name: 'New session' }).click()
  await it.page
    .locator('.v-select', { has: it.page.locator('#launch-project') })
    .getByText('vision')
    .waitFor()
  await it.page.keyboard.press('Escape')

  const tab = await it.newTab('/sessions')
  await expect.poll(() => rowNames(tab)).toEqual(['of-vision'])
  await tab.getByRole('tab', { name: /finished/ }).click()
  await tab.getByRole('button', { name: 'Show all projects' }).click()
  await expect.poll(() => rowNames(tab)).toEqual(['ended-of-default'])
  expect(await selector(tab).getAttribute('aria-label')).toBe('Project: All projects')
})

test('a person with one project has no choice', async () => {
  await using it = await openConsole(browser, '/sessions', { ...world, projects: [vision] })
  await expect.poll(() => rowNames(it.page)).toEqual(['of-default', 'of-nothing', 'of-vision'])
  expect(await selector(it.page).count()).toBe(0)
})

test('the launch dialog and the gauges follow the chosen resource group, also for a person with one project', async () => {
  const ofGroup = { ...world.resources!, capacity: { cpu: '32' }, occupied: { cpu: '12' } }
  const resourcesOf = { 'gpu-large': ofGroup }
  await using it = await openConsole(browser, '/sessions', { ...world, projects: [vision], resourcesOf })
  const groups = it.page.getByRole('button', { name: /^Resource group: / })
  await groups.click()
  await it.page
    .getByText(/^Free now: .* CPU/)
    .first()
    .waitFor()
  await it.page.getByRole('listitem').filter({ hasText: 'gpu-large' }).click()
  await expect.poll(() => groups.getAttribute('aria-label')).toBe('Resource group: gpu-large')
  await it.page.getByTitle(/resource group gpu-large: 12 . 32/).waitFor()
  await it.page.getByRole('button', { name: 'New session' }).click()
  await it.page
    .locator('.v-select', { has: it.page.getByRole('combobox', { name: 'Resource group' }) })
    .getByText('gpu-large')
    .waitFor()
  await it.page.keyboard.press('Escape')
  const tab = await it.newTab('/sessions')
  await tab.getByRole('button', { name: 'Resource group: gpu-large' }).waitFor()
})
