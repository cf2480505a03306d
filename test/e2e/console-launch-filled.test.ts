import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aTemplate } from './console-double-launch.ts'
import { openConsole, startBrowser, type Opened } from './console-open.ts'
import { button, openLaunchDialog, openSection } from './console-steps.ts'
import { LIMITED, RESOURCES } from './console-world.ts'

/** Values that the launch dialog begins with: those of a template, of an earlier session, or of an image; against a double of the manager. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())
const open = (path: string, change: Parameters<typeof openConsole>[2] = {}): Promise<Opened> =>
  openConsole(browser, path, change)

test('a copy takes over all values of a finished session', async () => {
  await using it = await open('/sessions?list=finished')
  const old = it.world.sessions.find(({ name }) => name === 'yesterday')!
  Object.assign(old, {
    environ: { KEPT: 'yes' },
    startupCommand: 'echo hi',
    clusterSize: 2,
    requested: { cpu: '3', mem: String(6 * 2 ** 30) },
    idleTimeoutSeconds: 7200,
  })
  await it.page.reload()
  await button(it.page, 'Launch a copy of yesterday').click()
  expect(await it.page.getByLabel('Name optional').inputValue()).toBe('yesterday')
  expect(await it.page.getByRole('textbox', { name: 'CPU', exact: true }).inputValue()).toBe('3')
  await it.page.locator('.fold', { hasText: 'Interactive · echo hi · until you end it' }).waitFor()
  await it.page.locator('.fate', { hasText: 'No folder: all files are deleted when the session ends.' }).waitFor()
  await openSection(it.page, 'Environment variables')
  await button(it.page, 'Edit variables').click()
  expect(await it.page.getByLabel('Value of KEPT').inputValue()).toBe('yes')
  await button(it.page, /^Cancel$/).click()
  await openSection(it.page, 'How long it runs')
  expect(await it.page.getByLabel(/Startup command/).inputValue()).toBe('echo hi')
  expect(await it.page.getByLabel(/Idle timeout/).inputValue()).toBe('2 h')
})

test('the dialog begins with the template that the preferences name, with the amounts of its resource group', async () => {
  const small = { ...RESOURCES, largest: { cpu: '1', mem: String(2 ** 31) } }
  await using it = await open('/preferences', {
    templates: [aTemplate('other'), aTemplate('usual', { resourceGroup: 'gpu-large' })],
    resourceGroups: LIMITED.resourceGroups ?? [],
    resourcesOf: { default: small },
  })
  await it.page.getByRole('combobox', { name: 'The launch dialog begins with' }).press('ArrowDown')
  await it.page.getByRole('option', { name: /^usual/ }).click()
  await expect.poll(() => it.world.templates?.map(({ isDefault }) => isDefault)).toEqual([false, true])
  await button(it.page, 'Open the launch dialog').click()
  const field = (name: string) => it.page.getByRole('textbox', { name, exact: true }).inputValue()
  await expect.poll(async () => [await field('CPU'), await field('RAM')]).toEqual(['4', '16 GiB'])
  await it.page
    .getByRole('radio', { name: /^PyTorch/ })
    .and(it.page.locator(':checked'))
    .waitFor({ state: 'attached' })
})

test('settings are saved as a template, and a template fills in the form', async () => {
  await using it = await open('/sessions', { templates: [aTemplate('training')] })
  await openLaunchDialog(it.page)
  await button(it.page, 'Templates and recent').click()
  await button(it.page, /^training/).click()
  const cpu = it.page.getByRole('textbox', { name: 'CPU', exact: true })
  await expect.poll(() => cpu.inputValue()).toBe('4')
  await it.page
    .getByRole('radio', { name: /^PyTorch/ })
    .and(it.page.locator(':checked'))
    .waitFor({ state: 'attached' })
  await cpu.fill('2')
  await button(it.page, 'Templates and recent').click()
  await button(it.page, 'Save as template').click()
  await it.page.getByLabel('Name of the template').fill('training')
  await it.page.getByText('Replaces the template of this name').waitFor()
  await it.page.getByLabel('Name of the template').fill('half of it')
  await it.page.keyboard.press('Enter')
  await it.page.getByText('Saved the template half of it.').waitFor()
  expect(it.world.templates?.map(({ name, spec }) => [name, spec.resources.cpu])).toEqual([
    ['training', '4'],
    ['half of it', '2'],
  ])
  await button(it.page, 'Templates and recent').click()
  await button(it.page, 'Delete the template training').click()
  await expect.poll(() => it.world.templates?.map(({ name }) => name)).toEqual(['half of it'])
})

test('an earlier launch fills in the form, or is launched again with one click', async () => {
  await using it = await open('/sessions')
  const old = it.world.sessions.find(({ name }) => name === 'yesterday')!
  Object.assign(old, { startupCommand: 'echo hi' })
  await openLaunchDialog(it.page)
  await button(it.page, 'Templates and recent').click()
  await button(it.page, /^yesterday/).click()
  await expect.poll(() => it.page.getByLabel('Name optional').inputValue()).toBe('yesterday')
  await button(it.page, 'Templates and recent').click()
  await button(it.page, 'Launch yesterday again').click()
  await it.page.getByRole('heading', { name: 'New session' }).waitFor({ state: 'detached' })
  expect(it.world.changes.at(-1)).toMatchObject({ request: 'POST /api/v1/sessions', body: { image: old.image } })
})

test('own defaults of an image fill in the form when it is chosen, and leave it with the image', async () => {
  await using it = await open('/sessions')
  await openLaunchDialog(it.page)
  const cpu = it.page.getByRole('textbox', { name: 'CPU', exact: true })
  const image = (title: RegExp) => it.page.locator('label.image', { hasText: title })
  await image(/^PyTorch/).click()
  await cpu.fill('5')
  await button(it.page, 'Save as my defaults').click()
  await button(it.page, 'Replace my defaults').waitFor()
  expect(it.world.imageDefaults).toMatchObject([{ image: 'berth/pytorch:2.9-cuda13', resources: { cpu: '5' } }])

  // The dialog is part of the URL.
  await it.page.reload()
  await expect.poll(() => cpu.inputValue()).toBe('2')
  await image(/^PyTorch/).click()
  await expect.poll(() => cpu.inputValue()).toBe('5')
  await image(/^Python/).click()
  await expect.poll(() => cpu.inputValue()).toBe('2')

  await it.page.goto(`${it.double.url}/#/preferences`)
  await button(it.page, /^Remove the defaults for/).click()
  await it.page.getByText('You have stored no defaults.').waitFor()
  expect(it.world.imageDefaults).toEqual([])
})
