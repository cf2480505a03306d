import { mkdir } from 'node:fs/promises'
import { type Browser, type Page, type Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Role } from '#manager/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { button, rowOf } from './console-steps.ts'
import { ago, aSession, ENDED_KERNEL, OTHER } from './console-world.ts'
import { audit, inBothSchemes } from '../fixtures/browser.ts'

/** The view of admins on sessions of other people, and the actions that are refused to them. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const OUTPUT = new URL('../output/', import.meta.url).pathname
const shared = (role: Role) => ({
  role,
  sessions: [
    aSession(2, { name: 'mine-here' }),
    aSession(1, { name: 'theirs-here', ...OTHER, reason: { code: 'started' as const, message: 'Started' } }),
  ],
})
const ownerIn = (page: Page, session: string, email: string) =>
  rowOf(page, session).getByText(email).filter({ visible: true })

describe.each([
  ['domain_admin', 'mira@example.com'],
  ['superadmin', 'admin@localhost'],
] as const)('a %s', (role, own) => {
  test('the list shows the owners of sessions, and a bulk termination names sessions of others', async () => {
    await using it = await openConsole(browser, '/sessions', shared(role))
    await ownerIn(it.page, 'theirs-here', OTHER.ownerEmail).waitFor()
    await it.page.setViewportSize({ width: 390, height: 844 })
    await ownerIn(it.page, 'theirs-here', OTHER.ownerEmail).waitFor()
    await it.page.setViewportSize({ width: 1920, height: 1080 })
    await it.page.getByRole('columnheader', { name: 'Owner' }).waitFor()
    await it.page.getByLabel('Select all shown').click()
    await button(it.page, 'Terminate…').click()
    await it.page.getByText(`1 of these sessions belong`, { exact: false }).waitFor()
    const question = await it.page.getByRole('alertdialog').innerText()
    expect(question).toContain(OTHER.ownerEmail)
    expect(question).toContain(`Your address, ${own}, is shown to the owner`)
    await button(it.page, 'Cancel').click()
    await button(it.page, /Account of/).click()
    await it.page.getByText(/admin: sees all sessions/i).waitFor()
  })

  test("apps and terminal of another user's session are not offered, with the reason", async () => {
    await using it = await openConsole(browser, '/sessions', shared(role))
    const terminal = button(it.page, 'Terminal of theirs-here')
    await terminal.waitFor()
    expect(await terminal.isDisabled()).toBe(true)
    expect(await button(it.page, 'Apps of theirs-here').getAttribute('title')).toContain(OTHER.ownerEmail)
    expect(await button(it.page, 'Terminal of mine-here').isEnabled()).toBe(true)
    await it.page.getByRole('link', { name: 'theirs-here', exact: true }).click()
    const notice = it.page.locator('.foreign')
    await notice.getByText(`This session belongs to ${OTHER.ownerEmail}.`).waitFor()
    expect(await notice.innerText()).toContain('Only the owner can open its apps and its terminal.')
    expect(await notice.innerText()).toContain(`the owner sees your address, ${own}, in the timeline`)
    expect(await it.page.title()).toBe('theirs-here · Berth')
  })
})

test("the address of the terminal of another user's session names the owner, and dials nothing", async () => {
  await using it = await openConsole(browser, '/sessions', shared('superadmin'))
  const [, theirs] = it.world.sessions
  let dialled = 0
  const page = await it.page.context().newPage()
  page.on('websocket', () => (dialled += 1))
  await page.goto(`${it.double.url}/#/terminal/${theirs?.id ?? ''}`)
  await page.getByText('This session belongs to somebody else').waitFor()
  await page.getByText(OTHER.ownerEmail).waitFor()
  expect(dialled).toBe(0)
})

describe('a wrong reverse proxy', () => {
  const seen = { firstSeen: ago(60), lastSeen: ago(2) }
  const proxyFaults = [{ code: 'not_trusted', peer: '10.20.0.9', ...seen }] as const
  const notice = (page: Page) => page.getByText('The reverse proxy in front of Berth is misconfigured.')

  test('superadmins see it with the setting to change, until it is dismissed or another one appears', async () => {
    await using it = await openConsole(browser, '/sessions', { role: 'superadmin', proxyFaults })
    await notice(it.page).waitFor()
    await it.page.getByText('BERTH_TRUSTED_PROXIES=10.20.0.9').waitFor()
    await it.page.getByText('Lines for its configuration').click()
    await it.page.getByText('option forwardfor').waitFor()
    expect(await audit(it.page)).toEqual([])
    await mkdir(OUTPUT, { recursive: true })
    await inBothSchemes(it.page, async scheme => {
      await it.page.screenshot({ path: `${OUTPUT}proxy-banner-${scheme}.png` })
    })
    await button(it.page, 'Dismiss this notice').click()
    await notice(it.page).waitFor({ state: 'detached' })
    const again = await it.newTab('/sessions')
    const isInfo = (request: Request) => request.url().endsWith('/host/host/info')
    let [asked, answered] = [0, 0]
    again.on('request', request => void (asked += Number(isInfo(request))))
    again.on('requestfinished', request => void (answered += Number(isInfo(request))))
    await again.reload()
    await again.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    // The page is never idle, because it holds a request for events.
    await expect.poll(() => asked > 0 && answered === asked).toBe(true)
    expect(await notice(again).count()).toBe(0)
    it.world.proxyFaults = [...proxyFaults, { code: 'silent', peer: '10.20.0.10', ...seen }]
    await again.reload()
    await notice(again).waitFor()
  })

  test('others do not see it', async () => {
    await using it = await openConsole(browser, '/sessions', { role: 'domain_admin', proxyFaults })
    await it.page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
    expect(await notice(it.page).count()).toBe(0)
  })
})

test('a plain user has no column of owners', async () => {
  await using it = await openConsole(browser, '/sessions', shared('user'))
  await rowOf(it.page, 'mine-here').waitFor()
  expect(await ownerIn(it.page, 'mine-here', 'mira@example.com').count()).toBe(0)
})

test('a failed batch job looks failed, shows its exit code, and is found by the filter', async () => {
  const job = { kind: 'batch', status: 'TERMINATED', endedAt: new Date().toISOString() } as const
  const reason = (code: number) => ({
    code: 'exited' as const,
    message: `The main process ended with exit code ${code}.`,
  })
  const sessions = [
    aSession(3, {
      ...job,
      name: 'it-failed',
      result: 'failure',
      reason: reason(3),
      kernels: [{ ...ENDED_KERNEL, exitCode: 3 }],
    }),
    aSession(2, { ...job, name: 'it-worked', result: 'success', reason: reason(0), kernels: [ENDED_KERNEL] }),
  ]
  await using it = await openConsole(browser, '/sessions?list=finished', { sessions })
  await rowOf(it.page, 'it-failed').getByText('Failed · exit 3').waitFor()
  await rowOf(it.page, 'it-worked').getByText('Succeeded').waitFor()
  await it.page.getByRole('combobox', { name: 'Filter by status' }).press('ArrowDown')
  await it.page.getByRole('option', { name: 'Failed' }).click()
  await rowOf(it.page, 'it-worked').waitFor({ state: 'detached' })
  expect(await rowOf(it.page, 'it-failed').count()).toBe(1)
})
