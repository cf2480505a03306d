import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { aUser } from './console-double-launch.ts'
import { openConsole, startBrowser, type Opened } from './console-open.ts'
import { button, chooseToOpen, openLaunchDialog, openSection } from './console-steps.ts'
import { LIMITED, oneGpuNow, RESOURCES } from './console-world.ts'

/** The launch dialog against a double of the manager: its request, the text about the effect, and the effect. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())
const open = (path: string, change: Parameters<typeof openConsole>[2] = {}): Promise<Opened> =>
  openConsole(browser, path, change)

test('the launch dialog sends the chosen values and shows the session at once', async () => {
  await using it = await open('/sessions')
  await button(it.page, 'New session').click()
  await it.page.getByText('PyTorch 2.9 (CUDA 13)').click()
  await it.page.getByRole('textbox', { name: 'CPU', exact: true }).fill('4')
  await it.page.getByRole('textbox', { name: 'RAM', exact: true }).fill('12g')
  await it.page.getByRole('textbox', { name: 'GPU', exact: true }).fill('1')
  await it.page.getByLabel('Name optional').fill('my-training')
  await openSection(it.page, 'Environment variables')
  await button(it.page, 'Edit variables').click()
  await button(it.page, 'Paste .env').click()
  await it.page.getByLabel('Lines of a .env file').fill('A=1\nexport B="two words"')
  await button(it.page, 'Add variables').click()
  await button(it.page, /^Save$/).click()
  await it.page.getByText('Starts now.').waitFor()
  await button(it.page, /^Launch$/).click()
  await it.page.locator('tr.row', { hasText: 'my-training' }).waitFor()
  expect(it.world.changes.at(-1)?.body).toEqual({
    name: 'my-training',
    image: 'berth/pytorch:2.9-cuda13',
    resources: { cpu: '4', mem: String(12 * 2 ** 30), 'cuda.device': '1' },
    shmem: String(2 ** 30),
    environ: { A: '1', B: 'two words' },
    count: 1,
    resourceGroup: 'default',
  })
  await button(it.page, 'New session').click()
  expect(await it.page.getByRole('textbox', { name: 'RAM', exact: true }).inputValue()).toBe('12 GiB')
  expect(await it.page.getByLabel('Name optional').inputValue()).toBe('')
})

test('an environment is chosen by typing the name of its image; an unknown name is not taken for another image', async () => {
  await using it = await open('/sessions')
  await openLaunchDialog(it.page)
  const field = it.page.getByRole('textbox', { name: 'Search, or type the name of an image', exact: true })
  const chosen = it.page.locator('.image.chosen')
  await field.fill('docker.io/library/debian:trixie-slim')
  await field.press('Enter')
  await chosen.filter({ hasText: 'debian:trixie-slim' }).waitFor()
  await field.fill('cr.example.org/lab/torch:2.9')
  await it.page.getByText('No image “cr.example.org/lab/torch:2.9” is on a host').waitFor()
  await field.press('Enter')
  await field.fill('')
  await chosen.filter({ hasText: 'debian:trixie-slim' }).waitFor()
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.at(-1)?.body).toMatchObject({ image: 'debian:trixie-slim' })
  expect(it.world.changes).toHaveLength(1)
})

test('the command that fetches a repository goes before the startup command, and JupyterLab is to open', async () => {
  await using it = await open('/sessions')
  await openLaunchDialog(it.page)
  await openSection(it.page, 'How long it runs')
  await it.page.getByLabel('Startup command').fill('make ready')
  await button(it.page, 'Templates and recent').click()
  await button(it.page, 'Import a repository or notebook').click()
  const field = it.page.getByLabel('Address', { exact: true })
  await button(it.page, 'Add to the session').click()
  await it.page.getByText('Enter the https address').waitFor()
  await field.fill('https://mira:secret@git.example.org/notes')
  await it.page.getByText('without a password').waitFor()
  await field.fill('https://git.example.org/notes')
  await field.press('Enter')
  await field.waitFor({ state: 'detached' })
  expect(it.world.changes).toEqual([])
  await button(it.page, /^Launch$/).click()
  await expect
    .poll(() => it.world.changes.at(-1)?.body)
    .toMatchObject({
      startupCommand:
        "[ -e '/home/work/notes' ] || GIT_TERMINAL_PROMPT=0 git clone --depth 1 -- 'https://git.example.org/notes' '/home/work/notes'\nmake ready",
    })
})

test('the launch dialog offers sizes, projects and resource groups if there is a choice, and names the limits at which fields end', async () => {
  await using it = await open('/sessions', LIMITED)
  await button(it.page, 'New session').click()
  await it.page.getByText('Left for you now: 6 CPU cores').waitFor()
  await it.page.getByText('2 sessions left').waitFor()
  // There are not enough free resources for it now, so its session would wait.
  expect(await button(it.page, /^Two GPUs/).isEnabled()).toBe(true)
  await it.page.getByText('Free now: 1 GPU').waitFor()
  await button(it.page, /^Medium/).press('Enter')
  expect(await it.page.getByRole('textbox', { name: 'RAM', exact: true }).inputValue()).toBe('16 GiB')
  expect(await button(it.page, /^Medium/).getAttribute('aria-pressed')).toBe('true')
  await it.page.getByRole('textbox', { name: 'CPU', exact: true }).fill('7')
  await it.page.getByText('At most 6. Left for you now: 6 CPU cores').waitFor()
  await button(it.page, /^One GPU/).click()
  await it.page.getByRole('combobox', { name: 'Project' }).press('ArrowDown')
  await it.page.getByRole('option', { name: 'vision' }).click()
  await it.page.getByRole('combobox', { name: 'Resource group' }).press('ArrowDown')
  await it.page.getByRole('option', { name: 'gpu-large' }).click()
  await button(it.page, /^Launch$/).click()
  await it.page.getByRole('heading', { name: 'New session' }).waitFor({ state: 'hidden' })
  expect(it.world.changes.at(-1)?.body).toMatchObject({
    group: LIMITED.projects?.[1]?.id,
    resourceGroup: 'gpu-large',
    resources: { cpu: '4', mem: String(32 * 2 ** 30), 'cuda.device': '1' },
  })
})

test('the launch dialog can take everything there is, also if that is no round amount', async () => {
  const most = Math.floor(21.196 * 2 ** 30)
  await using it = await open('/sessions', {
    resources: { ...RESOURCES, largest: { cpu: '8', mem: String(most) }, free: { cpu: '8', mem: String(most) } },
  })
  await button(it.page, 'New session').click()
  await it.page.getByRole('slider', { name: 'RAM, slider' }).press('End')
  const field = it.page.getByRole('textbox', { name: 'RAM', exact: true })
  await expect.poll(() => field.inputValue()).toBe('21.2 GiB')
  await expect.poll(() => button(it.page, /^Launch$/).isEnabled()).toBe(true)
  expect(await it.page.getByText('At most').count()).toBe(0)
  await field.fill('22')
  await it.page.locator('.amount-error').getByText('At most 21.19 GiB').waitFor()
  await field.fill('21.19')
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
})

test('a request waits while no agent is connected', async () => {
  const none = { ...RESOURCES, largest: {}, free: {}, agents: { connected: 0, lost: 1 } }
  await using it = await open('/sessions', { resources: none })
  await button(it.page, 'New session').click()
  await it.page.getByRole('textbox', { name: 'CPU', exact: true }).fill('6')
  await expect.poll(() => button(it.page, /^Launch$/).isEnabled()).toBe(true)
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
  expect(it.world.changes[0]?.body).toMatchObject({ resources: { cpu: '6' } })
})

test('the launch dialog shows in advance what would happen, and offers a request that would start now', async () => {
  await using it = await open('/sessions', { whatIf: oneGpuNow })
  await button(it.page, 'New session').click()
  const gpus = it.page.getByRole('textbox', { name: 'GPU', exact: true })
  await gpus.fill('2')
  await it.page.getByText('Will be queued: needs 2 GPU (at most 1 free)').waitFor()
  expect(await button(it.page, /^Launch$/).isEnabled()).toBe(true)
  await button(it.page, 'Use 1 GPU').press('Enter')
  await it.page.getByText('Starts now.').waitFor()
  expect(await gpus.inputValue()).toBe('1')
  expect(it.world.changes).toEqual([])

  it.world.failures.set('POST /api/v1/sessions/what-if', {
    code: 'over_user_policy',
    detail: { why: 'Your policy allows 1 GPU.' },
  })
  await gpus.fill('2')
  await it.page.getByText('Cannot start: Your policy allows 1 GPU.').waitFor()
  expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
})

test('a batch session after another one is requested by keyboard alone', async () => {
  await using it = await open('/sessions')
  await button(it.page, 'New session').click()
  await openSection(it.page, 'How long it runs')
  await it.page.getByRole('radio', { name: 'Interactive' }).focus()
  await it.page.keyboard.press('ArrowRight')
  await it.page.getByText('A batch session needs a command', { exact: true }).waitFor()
  expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
  expect(await it.page.getByLabel(/Idle timeout/).count()).toBe(0)
  await it.page.keyboard.press('Tab')
  await it.page.keyboard.type('python3 train.py')
  await it.page.keyboard.press('Tab')
  expect(await it.page.getByLabel('Run the program of the image').evaluate(box => box.matches(':focus'))).toBe(true)
  await it.page.keyboard.press('Tab')
  await it.page.keyboard.type('tomorrow')
  await it.page.getByText('A time such as 8h, 90m or 1h30m', { exact: true }).waitFor()
  await it.page.getByLabel(/Maximum lifetime/).fill('90m')
  await it.page.getByText('ends 1 h 30 min after it started').waitFor()

  await it.page.locator('.fold > h3 > button', { hasText: 'When it starts' }).press('Enter')
  await it.page.getByRole('combobox', { name: 'After these sessions' }).press('ArrowDown')
  // The menu moves the focus to its first entry some time after it has opened.
  const wanted = it.page.getByRole('option', { name: 'data-clean_up.v2' })
  await expect
    .poll(async () => {
      if (await wanted.evaluate(option => option.matches(':focus'))) return true
      await it.page.keyboard.press('ArrowDown')
      return false
    })
    .toBe(true)
  await it.page.keyboard.press('Enter')
  await it.page.keyboard.press('Escape')
  await it.page.getByLabel('Priority').fill('1')
  await it.page.getByText('A whole number from -10 to 0', { exact: true }).waitFor()
  await it.page.getByLabel('Priority').fill('-5')
  await button(it.page, /^Launch$/).press('Enter')
  await it.page.getByRole('heading', { name: 'New session' }).waitFor({ state: 'hidden' })
  expect(it.world.changes.at(-1)?.body).toMatchObject({
    kind: 'batch',
    startupCommand: 'python3 train.py',
    maxLifetimeSeconds: 5400,
    priority: -5,
    dependsOn: [it.world.sessions.find(({ name }) => name === 'data-clean_up.v2')?.id],
  })
})

test('a session is scheduled for later, and not for a time that has passed', async () => {
  await using it = await open('/sessions', {
    whatIf: ({ startsAt }) => ({
      startsNow: false,
      reason: { code: 'starts_later', message: `Scheduled: starts at ${startsAt} or later.`, notBefore: startsAt },
      smaller: [],
      notices: [],
    }),
  })
  await openLaunchDialog(it.page)
  await openSection(it.page, 'When it starts')
  const field = it.page.getByLabel(/^Start at/)
  await field.fill('2020-01-01T10:00')
  await it.page.getByText('This time has passed').first().waitFor()
  expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
  const [day] = new Date(Date.now() + 7 * 86_400_000).toISOString().split('T')
  await field.fill(`${day}T18:00`)
  await it.page.getByText(/^Scheduled: starts at .*, or when there is room after that\.$/).waitFor()
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
  expect(it.world.changes[0]?.body).toMatchObject({ startsAt: new Date(`${day}T18:00`).toISOString() })
})

test('an admin launches for another user, who is chosen by e-mail address', async () => {
  const project = { id: '01990000-0000-7000-8000-0000000000e1' as never, name: 'theirs' }
  await using it = await open('/sessions', {
    role: 'superadmin',
    users: [
      aUser({ groups: [project, { ...project, id: '01990000-0000-7000-8000-0000000000e2' as never, name: 'too' }] }),
    ],
  })
  await openLaunchDialog(it.page)
  const owner = it.page.getByLabel(/^For another user/)
  await owner.fill('nobody@example.com')
  await button(it.page, 'For another user: Choose an e-mail address from the list').waitFor()
  expect(await button(it.page, /^Launch$/).isDisabled()).toBe(true)
  await owner.fill('jonas@example.com')
  await it.page.getByText('Jonas Lindqvist. The session uses the limits of this user').waitFor()
  await it.page
    .locator('.v-select', { has: it.page.locator('#launch-project') })
    .getByText('theirs')
    .waitFor()
  await button(it.page, /^Launch$/).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
  expect(it.world.changes[0]?.body).toMatchObject({ owner: 'jonas@example.com', group: project.id })

  await using plain = await open('/sessions')
  await openLaunchDialog(plain.page)
  expect(await plain.page.getByLabel(/^For another user/).count()).toBe(0)
})

describe('the app that the page opens when the session runs', () => {
  /** Launches a session that opens JupyterLab, and lets it run. @param clicked whether the browser would still open a tab */
  async function launched(it: Opened, clicked: boolean): Promise<Session> {
    await it.page.evaluate(isActive => {
      Object.defineProperty(navigator, 'userActivation', { value: { isActive } })
    }, clicked)
    await openLaunchDialog(it.page)
    await chooseToOpen(it.page, 'JupyterLab')
    await it.page.getByLabel('Name optional').fill('to-open')
    await button(it.page, /^Launch$/).click()
    await it.page.locator('tr.row', { hasText: 'to-open' }).waitFor()
    const session = it.world.sessions.find(({ name }) => name === 'to-open')!
    turnsTo(it, session, 'RUNNING')
    return session
  }
  function turnsTo(it: Opened, session: Session, status: Session['status']): void {
    Object.assign(session, { status, version: session.version + 1 })
    it.double.emit('hint', { topic: 'session', id: session.id, version: session.version })
  }
  const opened = (page: Page) => page.waitForRequest(/\/host\/tunnel\/openApp$/)

  test('a message offers it with a button, and stays until the session ends; the choice is remembered', async () => {
    await using it = await open('/sessions')
    const session = await launched(it, false)
    const message = it.page.locator('.notification', { hasText: 'to-open runs' })
    const offer = button(message, 'Open JupyterLab')
    await offer.waitFor()
    expect(it.world.changes.at(-1)?.body).not.toHaveProperty('opens')
    const [request] = await Promise.all([opened(it.page), offer.click()])
    expect(request.postDataJSON()).toMatchObject([{ sessionId: session.id, app: 'jupyterlab' }])
    await message.waitFor({ state: 'detached' })

    await openLaunchDialog(it.page)
    const opens = it.page.locator('.opens')
    await opens.getByText('JupyterLab').waitFor()
    await it.page.getByLabel('Number of sessions').fill('2')
    await opens.getByText('Only for one interactive session').waitFor()
    await opens.getByText('JupyterLab').waitFor({ state: 'detached' })

    await button(it.page, 'Launch 2 sessions').click()
    await it.page.getByRole('heading', { name: 'New session' }).waitFor({ state: 'detached' })
    await openLaunchDialog(it.page)
    expect(await it.page.getByLabel('Number of sessions').inputValue()).toBe('1')
  })

  test('shortly after a click it opens at once; the message goes when the session ends', async () => {
    await using it = await open('/sessions')
    const [request, session] = await Promise.all([opened(it.page), launched(it, true)])
    expect(request.postDataJSON()).toMatchObject([{ sessionId: session.id, app: 'jupyterlab' }])

    await using other = await open('/sessions')
    const ended = await launched(other, false)
    const offer = button(other.page, 'Open JupyterLab').and(other.page.locator('.notification button'))
    await offer.waitFor()
    turnsTo(other, ended, 'TERMINATED')
    await offer.waitFor({ state: 'detached' })
  })
})
