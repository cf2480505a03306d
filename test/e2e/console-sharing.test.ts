import { readFile } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession } from './console-world.ts'

/** Sharing of sessions, tags and notes, and several logs on one page. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const rowNames = (page: Page) => page.locator('tr.row .name').allTextContents()
const group = { id: '01990000-0000-7000-8000-0000000000aa', name: 'physics' } as Session['group']
const other = '01990000-0000-7000-8000-0000000000ff' as Session['ownerId']
const theirs = { ownerId: other, ownerEmail: 'ann@example.com', sharedWith: null, group }

describe('the owner', () => {
  test('shares a session, lets the member use it, and stops sharing', async () => {
    const session = aSession(1, { name: 'wave', group })
    await using it = await openConsole(browser, `/sessions/${session.id}`, { sessions: [session] })
    await button(it.page, 'Share…').click()
    const dialog = it.page.getByRole('dialog')
    await dialog.getByText('Nobody yet').waitFor()
    // Before the first share, the page shows what a member with each permission can do.
    const acts =
      /The member acts in it as you: reads and changes its files .*, and reads your dotfiles and environment variables in it/
    await dialog.getByText(/^View: see the session in the list/).waitFor()
    expect(await dialog.getByText(acts).count()).toBe(0)
    await dialog.getByRole('combobox', { name: 'The member may' }).press('ArrowDown')
    await it.page.getByRole('option', { name: 'Use' }).click()
    await dialog.getByText(acts).waitFor()
    await dialog.getByRole('combobox', { name: 'The member may' }).press('ArrowDown')
    await it.page.getByRole('option', { name: 'View' }).click()
    await dialog.getByLabel('E-mail address of a member of the project physics').fill('nobody@example.org')
    await dialog.getByRole('button', { name: 'Share', exact: true }).click()
    await dialog.getByRole('alert').getByText('The project has no such member').waitFor()
    await dialog.getByLabel('E-mail address').fill('bob@example.com')
    await dialog.getByRole('button', { name: 'Share', exact: true }).click()
    await dialog.locator('.people').getByText('bob@example.com').waitFor()
    it.double.emit('hint', { topic: 'session', id: session.id, version: 99 })
    await it.page.locator('.row').getByText('Shared (1)').waitFor()

    await dialog.getByRole('combobox', { name: 'What bob@example.com may do' }).press('ArrowDown')
    await it.page.getByRole('option', { name: 'Use' }).click()
    await expect
      .poll(() => it.world.changes.at(-1))
      .toMatchObject({ body: { email: 'bob@example.com', permission: 'use' } })
    await button(it.page, 'Stop sharing with bob@example.com').click()
    await dialog.getByText('Nobody yet').waitFor()
  })

  test('shares a session from its row, reads its log there, and gets the focus back', async () => {
    const sessions = [aSession(1, { name: 'wave', group }), aSession(2, { name: 'tide', ...theirs, sharedAs: 'view' })]
    await using it = await openConsole(browser, '/sessions?q=a', { sessions })
    const more = button(it.page, 'More for wave')
    await more.click()
    const menu = it.page.locator('.v-menu.v-overlay--active')
    await menu.getByText('Share…').click()
    await it.page.getByRole('dialog').getByText('Nobody yet').waitFor()
    await it.page.keyboard.press('Escape')
    await expect.poll(() => it.page.getByRole('dialog').count()).toBe(0)
    await expect.poll(() => more.evaluate(element => element === document.activeElement)).toBe(true)

    await it.page.keyboard.press('Enter')
    await menu.getByText('Logs', { exact: true }).click()
    await it.page.getByRole('tab', { name: 'Logs', selected: true }).waitFor()
    expect(it.page.url()).toContain(`/sessions/${sessions[0]?.id}?q=a&tab=logs`)
    await it.page.keyboard.press('Escape')
    await it.page.locator('aside.drawer').waitFor({ state: 'detached' })

    // A member cannot share a session, and cannot enter one that is shared only for viewing.
    await it.page.getByLabel('Search sessions').fill('')
    await button(it.page, 'More for tide').click()
    await it.page.getByText('Copy the ID').waitFor()
    expect(await it.page.getByText(/^(Share…|SSH and SFTP…)$/).count()).toBe(0)
  })

  test('gives a session tags and a note, and finds it by them', async () => {
    const sessions = [aSession(1, { name: 'wave' }), aSession(2, { name: 'tide', tags: ['old'] })]
    await using it = await openConsole(browser, `/sessions/${sessions[0]?.id ?? ''}?tab=details`, { sessions })
    await button(it.page, 'Edit tags and note').click()
    await it.page.getByLabel('Tags', { exact: true }).fill('thesis, two words!')
    await button(it.page, 'Save').click()
    await it.page.getByText('A tag has up to 32 letters or digits').waitFor()
    await it.page.getByLabel('Tags', { exact: true }).fill('#thesis run/3')
    await it.page.getByLabel('Note', { exact: true }).fill('see the second curve')
    await button(it.page, 'Save').click()
    await it.page.getByText('#thesis #run/3').waitFor()
    expect(it.world.changes.at(-1)?.body).toEqual({ tags: ['thesis', 'run/3'], note: 'see the second curve' })

    const list = await it.newTab('/sessions?tag=thesis')
    await expect.poll(() => rowNames(list)).toEqual(['wave'])
    await list.getByLabel('Search sessions').fill('second curve')
    await expect.poll(() => rowNames(list)).toEqual(['wave'])
    await list.getByLabel('Search sessions').fill('')
    await list.getByRole('combobox', { name: 'Filter by tag' }).press('ArrowDown')
    await list.getByRole('option', { name: 'old' }).click()
    await expect.poll(() => rowNames(list)).toEqual(['tide'])
    expect(list.url()).toContain('tag=old')
  })
})

describe('a member', () => {
  test('who may view a session sees whose it is, opens nothing, ends nothing, and gives it up', async () => {
    const session = aSession(1, { name: 'wave', ...theirs, sharedAs: 'view' })
    await using it = await openConsole(browser, '/sessions', { sessions: [session, aSession(2)] })
    const row = it.page.locator('tr.row', { hasText: 'wave' })
    await row.getByText('Shared: view').waitFor()
    await row.getByText('ann@example.com').filter({ visible: true }).first().waitFor()
    for (const name of ['Apps of wave', 'Terminal of wave', 'Terminate wave']) {
      expect(await row.getByRole('button', { name }).isDisabled(), name).toBe(true)
    }
    await row.getByRole('link', { name: 'wave', exact: true }).click()
    const detail = it.page.getByRole('complementary', { name: 'Session' })
    await detail.getByText('ann@example.com shares this session with you to view it.').waitFor()
    expect(await detail.getByRole('button', { name: 'Share…' }).count()).toBe(0)
    expect(await detail.getByRole('button', { name: 'Terminate' }).count()).toBe(0)
    await detail.getByRole('button', { name: 'Leave' }).click()
    it.double.emit('hint', { topic: 'session', id: session.id, version: 99 })
    await expect.poll(() => rowNames(it.page)).toEqual(['session-2'])
  })

  test('who may use a session opens its apps and terminal', async () => {
    const session = aSession(1, { name: 'wave', ...theirs, sharedAs: 'use' })
    await using it = await openConsole(browser, '/sessions', { sessions: [session] })
    const row = it.page.locator('tr.row', { hasText: 'wave' })
    await row.getByText('Shared: use').waitFor()
    expect(await row.getByRole('button', { name: 'Apps of wave' }).isEnabled()).toBe(true)
    expect(await row.getByRole('button', { name: 'Terminal of wave' }).isEnabled()).toBe(true)
    expect(await row.getByRole('button', { name: 'Terminate wave' }).isDisabled()).toBe(true)
  })
})

test('the log of a session is downloaded in all the parts that are kept', async () => {
  const session = aSession(1, { name: 'wave', group })
  const logParts = ['first line\n', 'second line\n', 'third line\n']
  await using it = await openConsole(browser, `/sessions/${session.id}?tab=logs`, { sessions: [session], logParts })
  const [download] = await Promise.all([it.page.waitForEvent('download'), button(it.page, 'Download the log').click()])
  expect(download.suggestedFilename()).toBe('wave.log')
  expect(await readFile(await download.path(), 'utf8')).toBe(logParts.join(''))
})

describe('logs of several sessions', () => {
  const sessions = [aSession(1, { name: 'wave' }), aSession(2, { name: 'tide' })]
  const [wave = '', tide = ''] = sessions.map(({ id }) => id)
  const logs = {
    [wave]: '2026-11-20T12:00:01.000Z wave starts\n2026-11-20T12:00:03.000Z wave error\n',
    [tide]: '2026-11-20T12:00:02.000Z tide error\n2026-11-20T12:00:04.000Z tide goes on\n',
  }

  test('stand side by side, are searched together, and become one by time', async () => {
    await using it = await openConsole(browser, '/sessions', { sessions, logs })
    await it.page.getByLabel('Select all shown').check()
    await it.page.locator('.bulk').getByRole('link', { name: 'Logs' }).click()
    await it.page.getByRole('log', { name: 'Log of wave' }).getByText('wave starts').waitFor()
    await it.page.getByRole('log', { name: 'Log of tide' }).getByText('tide goes on').waitFor()
    await it.page.getByLabel('Search in all logs').fill('error')
    await expect.poll(() => it.page.locator('mark').count()).toBe(2)
    await expect.poll(() => it.page.getByText('1 match').count()).toBe(2)
    await it.page.getByRole('combobox', { name: 'View' }).press('ArrowDown')
    await it.page.getByRole('option', { name: 'By time' }).click()
    const lines = it.page.getByRole('log', { name: 'Logs by time' }).locator('.line')
    await expect
      .poll(async () => (await lines.allTextContents()).map(line => line.replace(/^\S+ /, '').trim()))
      .toEqual(['wave wave starts', 'tide tide error', 'wave wave error', 'tide tide goes on'])
    const again = await it.newTab(new URL(it.page.url()).hash.slice(1))
    await expect.poll(() => again.locator('mark').count()).toBe(2)
  })

  test('are tabs on a phone', async () => {
    const phone = { width: 390, height: 844 }
    await using it = await openConsole(browser, `/logs?ids=${wave},${tide}`, { sessions, logs }, phone)
    await it.page.getByText('wave starts').waitFor()
    expect(await it.page.getByText('tide goes on').count()).toBe(0)
    await it.page.getByRole('tab', { name: 'tide' }).click()
    await it.page.getByText('tide goes on').waitFor()
    const width = await it.page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBeLessThanOrEqual(390)
  })

  test('of a session that is gone say so, beside those that are there', async () => {
    const gone = wave.replace(/.{4}$/, 'ffff')
    await using it = await openConsole(browser, `/logs?ids=${wave},${gone}`, { sessions, logs })
    await it.page.getByText('wave starts').waitFor()
    await it.page.getByText('No such session').waitFor()
  })
})
