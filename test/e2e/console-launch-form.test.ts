import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsole, startBrowser, type Opened } from './console-open.ts'
import { button, openLaunchDialog, openSection } from './console-steps.ts'
import { LIMITED, resourceGroup, RESOURCES, SEVERAL_GPUS } from './console-world.ts'

/** The form of the launch dialog: what may be typed where, and what it says about faults; against a double of the manager. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())
const open = (path: string, change: Parameters<typeof openConsole>[2] = {}): Promise<Opened> =>
  openConsole(browser, path, change)

test('the launch dialog does not launch with an unreadable amount or an invalid number of sessions', async () => {
  await using it = await open('/sessions')
  await button(it.page, 'New session').click()
  const launch = button(it.page, /^Launch( |$)/)
  for (const [name, typed, why] of [
    ['CPU', 'abc', 'Not a number: write digits, such as 1.5'],
    ['CPU', '1,5', 'Use a point, not a comma: 1.5'],
    ['CPU', '1.2345', 'At most 3 decimals'],
    ['RAM', '16 gigs', 'Not an amount of memory: write 4 GiB or 512 MiB'],
    ['Shared memory', '', 'Enter an amount such as 4 GiB or 512 MiB'],
    ['GPU', 'one', 'Not a number: write digits, such as 1'],
  ] as const) {
    const field = it.page.getByRole('textbox', { name, exact: true })
    const before = await field.inputValue()
    await field.fill(typed)
    await it.page.locator('[aria-live="polite"]').getByText(why).waitFor()
    expect(await launch.isDisabled()).toBe(true)
    // The error is named beside the button, with a link to its field, and no text promises a start.
    expect(await it.page.getByText('Starts now.').count()).toBe(0)
    await button(it.page, `${name}: Not a valid amount`).click()
    expect(await field.evaluate(element => element === document.activeElement)).toBe(true)
    await field.fill(before)
    await expect.poll(() => launch.isEnabled()).toBe(true)
  }
  await it.page.getByLabel('Name optional').fill('many-of-these')
  await it.page.getByLabel('Number of sessions').fill('1000000000')
  await button(it.page, 'Number of sessions: A whole number from 1 to 50').waitFor()
  expect(await launch.isDisabled()).toBe(true)
  for (const count of ['51', '1.5', '0']) {
    await it.page.getByLabel('Number of sessions').fill(count)
    await button(it.page, 'Number of sessions: A whole number from 1 to 50').waitFor()
    expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
  }
  await it.page.getByLabel('Number of sessions').fill('3')
  await openSection(it.page, 'How long it runs')
  await it.page.getByLabel('Maximum lifetime').fill('8')
  await button(it.page, 'Maximum lifetime: Add a unit: 8h or 8m').click()
  await it.page.keyboard.press('End')
  await it.page.keyboard.type('h')
  await it.page.getByText('ends 8 h after it started').waitFor()
  await it.page.getByText('The first starts now, the others when there is room.').waitFor()
  expect(it.world.changes).toEqual([])
})

test('a refusal is shown at its field', async () => {
  const failures = new Map([
    [
      'POST /api/v1/sessions',
      { code: 'session_name_taken', detail: { why: 'You have a live session named taken-name.' } },
    ],
  ] as const)
  await using it = await open('/sessions', { failures })
  await button(it.page, 'New session').click()
  await it.page.getByLabel('Name optional').fill('taken-name')
  await button(it.page, /^Launch$/).click()
  await it.page.getByText('You have a live session named taken-name.', { exact: true }).waitFor()
  expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
  await it.page.getByLabel('Name optional').fill('another-name')
  expect(await button(it.page, /^Launch$/).isEnabled()).toBe(true)
})

test('tabbing through the form keeps the title of the dialog in place', async () => {
  await using it = await open('/sessions', LIMITED)
  await openLaunchDialog(it.page)
  const card = it.page.locator('.v-card.launch')
  await it.page.getByRole('button', { name: 'Close', exact: true }).focus()
  const tops: number[] = []
  for (let step = 0; step < 24; step += 1) {
    await it.page.keyboard.press('Tab')
    tops.push(await card.evaluate(element => element.scrollTop))
  }
  expect(Math.max(...tops)).toBe(0)
})

test('an amount below the minimum of the image is raised to it, with a notice', async () => {
  await using it = await open('/sessions', LIMITED)
  await openLaunchDialog(it.page)
  const cpu = it.page.getByRole('textbox', { name: 'CPU', exact: true })
  await cpu.fill('0.1')
  await cpu.press('Tab')
  await it.page.getByText('Raised to 0.5, the minimum of this image').waitFor()
  expect(await cpu.inputValue()).toBe('0.5')
  expect(await button(it.page, /^Launch/).isEnabled()).toBe(true)
})

test('hints are not alerts, and a slider announces its amount with its unit', async () => {
  await using it = await open('/sessions', LIMITED)
  await openLaunchDialog(it.page)
  expect(await it.page.getByRole('alert').count()).toBe(0)
  const slider = it.page.getByRole('slider', { name: 'RAM, slider' })
  expect(await slider.getAttribute('aria-valuetext')).toMatch(/^[\d.]+ [GM]iB$/)
})

test('no key press is lost while errors appear and disappear during typing', async () => {
  await using it = await open('/sessions', LIMITED)
  await openLaunchDialog(it.page)
  await openSection(it.page, 'How long it runs')
  for (const [selector, typed] of [
    ['#launch-name', 'train-with-larger-batches'],
    ['#amount-mem-RAM', '12.5 GiB'],
    ['#launch-command', 'python3 train.py --epochs 40'],
    ['#launch-max-lifetime', '1h30m'],
  ] as const) {
    const field = it.page.locator(selector)
    await field.fill('')
    await field.pressSequentially(typed, { delay: 30 })
    expect(await field.inputValue()).toBe(typed)
  }
})

test('environment variables count once they are saved, and closing with changes asks first', async () => {
  await using it = await open('/sessions')
  await openLaunchDialog(it.page)
  await openSection(it.page, 'Environment variables')
  const section = it.page.locator('#launch-section-variables')
  const edit = button(it.page, 'Edit variables')

  await edit.click()
  await it.page.getByLabel('Name of variable 1').fill('WANDB_MODE')
  await it.page.keyboard.press('Escape')
  await button(it.page, 'Go on editing').click()
  await it.page.getByLabel('Value of WANDB_MODE').fill('offline')
  await button(it.page, 'Add variable').click()
  await it.page.getByLabel('Name of variable 2').fill('UNFINISHED')
  await it.page.getByText('1 unfinished row is left out.').waitFor()
  await button(it.page, /^Save$/).click()
  await section.getByText('WANDB_MODE').waitFor()
  expect(await section.getByText('UNFINISHED').count()).toBe(0)

  await edit.click()
  await it.page.getByLabel('Value of WANDB_MODE').fill('online')
  await it.page.locator('.dialog-head', { hasText: 'Environment variables' }).getByLabel('Close').click()
  await button(it.page, 'Discard').click()
  await edit.click()
  expect(await it.page.getByLabel('Value of WANDB_MODE').inputValue()).toBe('offline')
  // Nothing has changed: closing asks nothing.
  await button(it.page, /^Cancel$/).click()
  await it.page.getByRole('heading', { name: 'Environment variables', level: 2 }).waitFor({ state: 'detached' })
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
  expect(it.world.changes[0]?.body).toMatchObject({ environ: { WANDB_MODE: 'offline' } })
})

test('the outline leads to each section, and marks the one with a fault', async () => {
  await using it = await open('/sessions')
  await openLaunchDialog(it.page)
  const outline = it.page.getByRole('navigation', { name: 'Steps' })
  const current = outline.locator('[aria-current="step"]')
  expect(await current.innerText()).toContain('Environment')
  await outline.getByRole('button', { name: 'When it starts' }).click()
  await expect.poll(() => current.innerText()).toContain('When it starts')
  await it.page.getByLabel('Priority').fill('3')
  await outline.getByRole('button', { name: 'When it starts Has a fault' }).waitFor()
  await openSection(it.page, 'When it starts')
  await it.page.getByLabel('Priority').waitFor({ state: 'hidden' })
  await button(it.page, /^Priority: A whole number/).click()
  expect(await it.page.getByLabel('Priority').evaluate(field => field.matches(':focus'))).toBe(true)
  await it.page.getByLabel('Priority').fill('-1')
  await it.page.getByLabel('May be interrupted').check()
  await openSection(it.page, 'When it starts')
  await it.page.locator('.fold', { hasText: 'priority -1 and may be interrupted' }).waitFor()
  await it.page.getByLabel('Containers per session').fill('3')
  await outline.getByRole('button', { name: 'Confirm and launch' }).click()
  await it.page.keyboard.press('Enter')
  await expect.poll(() => it.world.changes.length).toBe(1)
  expect(it.world.changes[0]?.body).toMatchObject({ priority: -1, interruptible: true, clusterSize: 3 })
})

test('a model of GPU is chosen with what is free of it, and is part of the request', async () => {
  await using it = await open('/sessions', { resources: SEVERAL_GPUS })
  await button(it.page, 'New session').click()
  const field = it.page.getByRole('combobox', { name: 'GPU model' })
  await field.press('Enter')
  const options = await it.page.getByRole('option').allInnerTexts()
  expect(options.map(text => text.replaceAll(/\s*\n\s*/g, ': '))).toEqual([
    'Any GPU: 3 of 8 free',
    'NVIDIA H100 80GB HBM3: 80 GiB · 1 of 4 free',
    'NVIDIA H100 80GB HBM3, MIG 3g.40gb: 40 GiB · 0 of 2 free',
    'Tesla T4: 15 GiB · 2 of 2 free',
    'Any with at least 40 GiB: 1 of 6 free',
    'Any with at least 80 GiB: 80 GiB · 1 of 4 free',
  ])
  await it.page.getByRole('option', { name: 'Tesla T4' }).click()
  // The choice asks for one GPU.
  expect(await it.page.getByRole('textbox', { name: 'GPU', exact: true }).inputValue()).toBe('1')
  await it.page.getByText('15 GiB · 2 of 2 free').first().waitFor()
  const sent = it.page.waitForRequest(
    request => request.url().endsWith('/api/v1/sessions') && request.method() === 'POST',
  )
  await button(it.page, /^Launch$/).click()
  expect((await sent).postDataJSON()).toMatchObject({ resources: { 'cuda.device': '1' }, gpu: { model: 'Tesla T4' } })
})

test('where Slurm runs the hosts, the dialog offers its time limit and choices, and models of GPUs', async () => {
  const slurm = { timeLimitMinutes: 60, maxTimeLimitMinutes: 240, qos: 'normal', offers: { qos: ['urgent'] } }
  const cluster = { ...resourceGroup('default', ''), engine: 'slurm' as const, options: { slurm } }
  await using it = await open('/sessions', { resources: SEVERAL_GPUS, resourceGroups: [cluster] })
  await button(it.page, 'New session').click()
  await it.page.getByRole('textbox', { name: 'GPU', exact: true }).fill('1')
  await it.page.getByText('GPU model').first().waitFor()
  await it.page.getByLabel('Containers per session').fill('3')
  await it.page.getByLabel('Each on a host of its own').check()
  const beside = it.page.getByRole('complementary', { name: 'Summary' })
  await beside.getByText('Each on a host of its own, with these resources').waitFor()
  await openSection(it.page, 'How long it runs')
  const limit = it.page.getByLabel('Time limit in Slurm')
  await limit.fill('5h')
  await button(it.page, /^Time limit in Slurm: At most 4/).waitFor()
  await limit.fill('2h')
  await it.page.getByRole('combobox', { name: 'QOS' }).press('Enter')
  await it.page.getByRole('option', { name: 'urgent' }).click()
  const sent = it.page.waitForRequest(
    request => request.url().endsWith('/api/v1/sessions') && request.method() === 'POST',
  )
  await button(it.page, /^Launch$/).click()
  expect((await sent).postDataJSON()).toMatchObject({
    ...{ clusterSize: 3, clusterMode: 'multi-host', slurm: { timeLimitMinutes: 120, qos: 'urgent' } },
  })
})

test('GPUs of one model are nothing to choose from', async () => {
  await using it = await open('/sessions', { resources: { ...RESOURCES, gpus: SEVERAL_GPUS.gpus.slice(0, 1) } })
  await button(it.page, 'New session').click()
  await it.page.getByRole('textbox', { name: 'GPU', exact: true }).waitFor()
  expect(await it.page.getByText('GPU model').count()).toBe(0)
})
