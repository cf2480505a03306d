import { type Browser, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_ANNOUNCEMENT } from '#manager/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { ago, aSession, INVITATION, LIMITED, OTHER } from './console-world.ts'

/** The summary page, the first page after signing in. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page | Locator, name: string | RegExp) => page.getByRole('button', { name })
const names = (page: Page, list: string) => page.getByRole('list', { name: list }).locator('.name').allTextContents()

test('the summary shows running and ended sessions of the person, not of others, and opens each', async () => {
  await using it = await openConsole(browser, '/', {
    role: 'domain_admin',
    sessions: [
      aSession(1, { name: 'mine-runs' }),
      aSession(2, { name: 'mine-waits', status: 'PENDING' }),
      aSession(3, { name: 'of-a-colleague', ...OTHER }),
      aSession(4, { name: 'mine-ended', status: 'TERMINATED', endedAt: ago(3) }),
      aSession(5, { name: 'mine-ended-first', status: 'ERROR', endedAt: ago(30) }),
      // More sessions of others than one page of the list has, all newer.
      ...Array.from({ length: 600 }, (_, index) =>
        aSession(10 + index, { ...OTHER, status: 'TERMINATED', endedAt: ago(1) }),
      ),
    ],
  })
  await it.page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor()
  expect(it.page.url()).toContain('#/summary')
  await expect.poll(() => names(it.page, 'Active sessions')).toEqual(['mine-runs', 'mine-waits'])
  await expect.poll(() => names(it.page, 'Recent sessions')).toEqual(['mine-ended', 'mine-ended-first'])

  await it.page.getByRole('link', { name: 'mine-ended', exact: true }).click()
  await it.page.getByRole('heading', { name: 'mine-ended', exact: true }).waitFor()
  await it.page.goBack()
  await button(it.page, 'Open JupyterLab of mine-runs').waitFor()
  await button(it.page, 'Apps of mine-runs').click()
  await it.page.getByRole('tab', { name: 'Ports and links' }).waitFor()
  await it.page.keyboard.press('Escape')
  await button(it.page, 'Launch a copy of mine-ended').first().click()
  await it.page.getByRole('heading', { name: 'New session' }).waitFor()
  expect(await it.page.getByLabel('Name optional').inputValue()).toBe('mine-ended')
})

test('one click repeats the last launch, in the chosen project', async () => {
  await using it = await openConsole(browser, '/summary', LIMITED)
  await button(it.page, 'New session').waitFor()
  expect(await button(it.page, 'Launch with the last settings').count()).toBe(0)
  const job = { kind: 'batch', startupCommand: 'python3 train.py' }
  const last = { image: 'berth/python:3.13', cpu: 2000, mem: 2 ** 32, shmem: 2 ** 28, gpu: 1, ...job }
  const key = `berth.launch.${aSession(1).ownerId}`
  await it.page.evaluate(([name = '', text = '']) => localStorage.setItem(name, text), [key, JSON.stringify(last)])
  await it.page.evaluate(id => localStorage.setItem('berth.project', id), LIMITED.projects?.[1]?.id ?? '')
  await it.page.reload()
  await it.page.getByText('Python 3.13 · Batch · 2 CPU cores · 4 GiB RAM · 1 GPU').waitFor()
  await button(it.page, 'Launch with the last settings').click()
  await expect.poll(() => it.world.changes).toHaveLength(1)
  expect(it.world.changes[0]).toMatchObject({
    request: 'POST /api/v1/sessions',
    body: {
      image: 'berth/python:3.13',
      resources: { cpu: '2', mem: String(2 ** 32), 'cuda.device': '1' },
      group: LIMITED.projects?.[1]?.id,
      ...job,
    },
  })
  // The next person at this browser finds no trace of it.
  await button(it.page, 'Mira Holm').click()
  await it.page.getByText('Sign out').click()
  await it.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await it.page.evaluate(name => localStorage.getItem(name), key)).toBeNull()
})

test('an announcement appears and disappears without a reload, and its text is only text', async () => {
  await using it = await openConsole(browser, '/summary')
  const alert = it.page.getByRole('alert').or(it.page.locator('.v-alert'))
  await it.page.getByRole('heading', { name: 'Active sessions', exact: true }).waitFor()
  await expect.poll(() => it.double.streams()).toBe(1)
  expect(await it.page.getByText('Announcement').count()).toBe(0)
  const text = 'Down on <b>Saturday</b>\nfrom **08:00** [on](javascript:alert(1))'
  it.world.announcement = { ...NO_ANNOUNCEMENT, id: 'a', text, level: 'critical' }
  it.double.emit('hint', { topic: 'announcement', id: 'all', version: 1 })
  await it.page.getByText('Down on <b>Saturday</b>').waitFor()
  expect(await alert.locator('b').count()).toBe(0)
  expect(await alert.locator('strong').textContent()).toBe('08:00')
  expect(await alert.locator('a').count()).toBe(0)
  await it.page.getByRole('link', { name: 'Sessions', exact: true }).click()
  const bar = it.page.getByRole('region', { name: 'Urgent announcement' })
  await bar.getByText('from 08:00').waitFor()
  await button(bar, 'Dismiss the announcement').click()
  await bar.waitFor({ state: 'detached' })
  await expect.poll(() => it.world.changes.at(-1)?.body).toEqual({ id: 'a' })
  it.world.announcement = { ...NO_ANNOUNCEMENT, id: 'b', text: 'Down on Sunday', level: 'info' }
  it.double.emit('hint', { topic: 'announcement', id: 'all', version: 2 })
  await it.page.getByRole('link', { name: 'Summary', exact: true }).click()
  await it.page.getByText('Down on Sunday').waitFor()
  it.world.announcement = NO_ANNOUNCEMENT
  it.double.emit('hint', { topic: 'announcement', id: 'all', version: 3 })
  await it.page.getByText('Down on').waitFor({ state: 'detached' })
})

test('changes since the last visit are listed, also on another computer', async () => {
  await using it = await openConsole(browser, '/summary', {
    sessions: [
      aSession(1, { name: 'ran-on', startedAt: ago(600) }),
      aSession(2, {
        name: 'broke-down',
        status: 'ERROR',
        startedAt: ago(300),
        endedAt: ago(60),
        reason: { code: 'oom_killed', message: 'Ran out of memory' },
      }),
    ],
  })
  await it.page.getByRole('link', { name: 'ran-on' }).waitFor()
  expect(await it.page.getByText('Since your last visit').count()).toBe(0)
  it.world.visitSince = ago(180)
  const tab = await it.newTab('/summary')
  const news = tab.getByRole('region', { name: 'Since your last visit' })
  await news.getByText('Ran out of memory').waitFor()
  expect(await news.locator('.name').allTextContents()).toEqual(['broke-down'])
})

test('an invitation to a folder is accepted or declined, and follows hints', async () => {
  await using it = await openConsole(browser, '/summary')
  await it.page.getByRole('heading', { name: 'Active sessions', exact: true }).waitFor()
  await expect.poll(() => it.double.streams()).toBe(1)
  it.world.invitations = [INVITATION]
  it.double.emit('hint', { topic: 'folder', id: INVITATION.folder.id, version: 1 })
  await it.page.getByText('Jonas Lindqvist shares this folder with you, to read and write.').waitFor()
  await button(it.page, 'Decline the invitation to datasets').click()
  await expect
    .poll(() => it.world.changes.at(-1)?.request)
    .toBe(`POST /api/v1/folder-invitations/${INVITATION.id}/decline`)
  await button(it.page, 'Accept the invitation to datasets').waitFor({ state: 'detached' })
})
