import { readFile } from 'node:fs/promises'
import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEWS, OTHER_LOGIN, THIS_LOGIN, TOTP_CODE } from './console-double-account.ts'
import { aFolder } from './console-double-folders.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { button } from './console-steps.ts'
import { audit } from '../fixtures/browser.ts'

/** The page of the account, against a double of the manager. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

describe('the page of the preferences', () => {
  test('a start-up script is written, and its dialog asks before typed text is lost', async () => {
    await using it = await openConsole(browser, '/preferences')
    await button(it.page, 'Write a script').click()
    const dialog = it.page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Content' }).click()
    await it.page.keyboard.press('Control+End')
    await it.page.keyboard.type('echo ready')
    await button(dialog, 'Cancel').click()
    await it.page.getByRole('alertdialog').getByRole('button', { name: 'Keep' }).click()
    await button(dialog, 'Save').click()
    await it.page.getByText('Start-up script saved').waitFor()
    expect(it.world.bootstrapScript?.script).toBe('#!/bin/bash\necho ready')
    await button(it.page, 'Edit the script').waitFor()
  })

  test('a dotfile is made with a path and permissions, and has a note where a folder is mounted over it', async () => {
    const folder = aFolder(1, { name: '.config' })
    await using it = await openConsole(browser, '/preferences', { folders: [folder] })
    await button(it.page, 'New dotfile').click()
    const dialog = it.page.getByRole('dialog')
    await dialog.getByLabel('Path in the home').fill('../.bashrc')
    await dialog.getByLabel('Permissions').fill('600')
    await dialog.getByRole('textbox', { name: 'Content' }).click()
    await it.page.keyboard.type('[user]')
    await button(dialog, 'Save').click()
    await dialog.getByText('Enter a path that begins with a dot').waitFor()
    await dialog.getByLabel('Path in the home').fill('.config/git/config')
    await button(dialog, 'Save').click()
    await it.page.getByText('.config/git/config saved').waitFor()
    expect(it.world.dotfiles).toMatchObject([{ path: '.config/git/config', mode: '600', content: '[user]' }])
    await it.page.getByText('keep it in the folder instead').waitFor()
    await button(it.page, 'Remove .config/git/config').click()
    await it.page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await it.page.getByText('You have no dotfiles.').waitFor()
  })

  test('theme and density change at once, in other tabs too, and stay after a reload', async () => {
    await using it = await openConsole(browser, '/preferences')
    const other = await it.newTab('/sessions')
    // The gutter of the scroll bar has the background of the whole page.
    const ground = () => it.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    await it.page.getByLabel('Compact').check()
    expect(await ground()).toBe('rgb(243, 246, 247)')
    await it.page.getByLabel('Dark').check()
    await expect.poll(() => it.page.locator('.v-application.v-theme--dark').count()).toBe(1)
    await expect.poll(ground).toBe('rgb(12, 20, 24)')
    const height = () =>
      other
        .locator('[style*="--row-height"]')
        .first()
        .evaluate(e => getComputedStyle(e).getPropertyValue('--row-height'))
    await expect.poll(height).toBe('46px')
    await it.page.reload()
    expect(await it.page.getByLabel('Compact').isChecked()).toBe(true)
  })
})

describe('the page of the account', () => {
  test('it opens from the menu of the account, and changes the password', async () => {
    await using it = await openConsole(browser, '/sessions')
    await button(it.page, /Account of/).click()
    await it.page.getByText('Your account').click()
    await it.page.getByText('mira@example.com').waitFor()
    await button(it.page, 'Change password').click()
    await it.page.getByLabel('Current password').fill('Right-one-1')
    await it.page.getByLabel('New password', { exact: true }).fill('Right-one-1')
    await it.page.getByText('Choose a password that differs from the current one').waitFor()
    await it.page.getByLabel('New password', { exact: true }).fill('Better-one-2')
    await it.page.getByLabel('New password again').fill('Better-one-2')
    it.world.failures.set('POST /api/v1/me/password', { code: 'login_failed' })
    await it.page.keyboard.press('Enter')
    await it.page.getByText('This is not your current password').waitFor()
    it.world.failures.clear()
    await it.page.getByLabel('Current password').fill('Right-one-2')
    await it.page.keyboard.press('Enter')
    await it.page.getByText('Password changed').waitFor()
    expect(it.world.changes.at(-1)).toEqual({
      request: 'POST /api/v1/me/password',
      body: { oldPassword: 'Right-one-2', newPassword: 'Better-one-2' },
    })
  })

  test('it lists what happened with the account, also what was cleared from the notifications', async () => {
    await using it = await openConsole(browser, '/account', { accountNews: NEWS })
    await it.page.getByText('A password was set with a link that an administrator had in hand').waitFor()
    const newest = it.page.getByRole('listitem').filter({ hasText: 'Another password was chosen' })
    await newest.waitFor()
    expect(await it.page.getByText('gave you another role').count()).toBe(0)
    // This failure is permanent: after another one, the page would ask again before the button does.
    it.world.failures.set('GET /api/v1/me/account-news', { code: 'internal' })
    await button(it.page, 'Show earlier').click()
    await button(it.page, 'Try again').waitFor()
    it.world.failures.clear()
    await button(it.page, 'Try again').click()
    await it.page.getByText('chief@example.com gave you another role').waitFor()
    await newest.waitFor()
    expect(await button(it.page, 'Show earlier').count()).toBe(0)
    expect(await audit(it.page)).toEqual([])
  })

  test('it has the settings for SSH connections of this computer: port and ~/.ssh/config', async () => {
    await using it = await openConsole(browser, '/preferences')
    const save = button(it.page, 'Save')
    expect(await save.isDisabled()).toBe(true)
    await it.page.getByLabel('Try a preferred port first').check()
    await it.page.getByLabel('Preferred SSH port').fill('80')
    await save.click()
    await it.page.getByText('Enter a number from 1024 to 65535').waitFor()
    await it.page.getByLabel('Preferred SSH port').fill('22022')
    await it.page.getByLabel('Add sessions to ~/.ssh/config').uncheck()
    await it.page.keyboard.press('Tab')
    it.world.failures.set('POST /host/host/saveSettings', { code: 'unavailable' })
    await save.click()
    await it.page.getByRole('alert').getByText('Berth is not available right now').waitFor()
    it.world.failures.clear()
    await save.click()
    await it.page.getByText('Open connections keep their port').waitFor()
    expect(it.world.hostSettings).toEqual({ preferredSshPort: 22_022, manageSshConfig: false })
    await it.page.getByLabel('Any free port').check()
    await save.click()
    await expect.poll(() => it.world.hostSettings).toEqual({ preferredSshPort: null, manageSshConfig: false })
    await it.page.reload()
    await it.page.getByLabel('Any free port').waitFor()
    expect(await it.page.getByLabel('Add sessions to ~/.ssh/config').isChecked()).toBe(false)
  })

  test('a second factor is set up: password, secret, a correct code, and recovery codes that are shown once', async () => {
    await using it = await openConsole(browser, '/account')
    await button(it.page, 'Set up').press('Enter')
    await it.page.locator('input:focus').waitFor()
    await it.page.keyboard.type('Right-one-1')
    await it.page.keyboard.press('Enter')
    await it.page.getByText('JBSW Y3DP EHPK 3PXP').waitFor()
    await it.page.getByRole('img', { name: /QR code/ }).waitFor()
    await it.page.getByLabel(/^Code from/).fill('000000')
    await it.page.keyboard.press('Enter')
    await it.page.getByText('The code is wrong or expired').waitFor()
    await it.page.getByLabel(/^Code from/).fill(TOTP_CODE)
    await it.page.getByText('The code is wrong or expired').waitFor({ state: 'hidden' })
    await it.page.keyboard.press('Enter')
    await it.page.getByText('k3vp-7mqa-x2f0-9htd').waitFor()
    const [download] = await Promise.all([it.page.waitForEvent('download'), button(it.page, 'Download').click()])
    expect((await readFile(await download.path(), 'utf8')).trim().split('\n')).toHaveLength(10)
    // Neither a stray click nor Escape closes the dialog with the codes.
    await it.page.keyboard.press('Escape')
    await button(it.page, 'I have saved the codes').click()
    await it.page.getByText('Recovery codes left: 10').waitFor()
    expect(await it.page.getByText('k3vp-').count()).toBe(0)
  })

  test('the second factor is switched off only with password and code', async () => {
    await using it = await openConsole(browser, '/account', { totp: { enabled: true, recoveryCodesLeft: 10 } })
    await button(it.page, 'Switch off').click()
    const dialog = it.page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Switch off' }).click()
    await it.page.getByText('Enter your current password').waitFor()
    await it.page.getByText('Enter the code').waitFor()
    expect(it.world.changes).toEqual([])
    await it.page.getByLabel('Current password').fill('Right-one-1')
    await it.page.getByLabel(/^Code from/).fill(TOTP_CODE)
    await dialog.getByRole('button', { name: 'Switch off' }).click()
    await button(it.page, 'Set up').waitFor()
    expect(it.world.changes.at(-1)?.body).toEqual({ password: 'Right-one-1', code: TOTP_CODE })
  })

  test('the sign-ins are listed, and one or all others are ended', async () => {
    const third = { ...OTHER_LOGIN, id: OTHER_LOGIN.id.replace('a002', 'a003'), label: null, accessKey: null }
    await using it = await openConsole(browser, '/account', { logins: [OTHER_LOGIN, third, THIS_LOGIN] })
    const section = it.page.getByRole('region', { name: 'Sign-ins' })
    await expect.poll(() => section.getByRole('listitem').count()).toBe(3)
    expect(await section.getByRole('listitem').first().innerText()).toContain('This one')
    await button(section, /^End the sign-in of berth CLI/).click()
    await it.page.getByText('The sign-in has ended.').waitFor()
    expect(await section.getByRole('listitem').count()).toBe(2)
    expect(it.world.changes.at(-1)?.request).toBe(`DELETE /api/v1/me/logins/${OTHER_LOGIN.id}`)
    await button(section, 'End all others').click()
    await it.page.getByRole('alertdialog').getByRole('button', { name: 'End all others' }).click()
    await it.page.getByText('1 sign-in has ended.').waitFor()
    await expect.poll(() => section.getByRole('listitem').count()).toBe(1)
    expect(await button(section, 'End all others').count()).toBe(0)
  })

  test('an SSH key is generated and saved, replaced by an own one, and removed', async () => {
    await using it = await openConsole(browser, '/account')
    await button(it.page, 'Generate a new key').click()
    const [download] = await Promise.all([
      it.page.waitForEvent('download'),
      button(it.page, 'Generate and save').click(),
    ])
    expect(download.suggestedFilename()).toBe('id_berth')
    await it.page.getByText('SHA256:4mQ8s1y0').waitFor()
    await button(it.page, 'Use an existing key').click()
    await it.page.getByRole('textbox', { name: 'Public key' }).fill('ssh-ed25519 AAAAmine me@desk')
    await button(it.page, 'Use this key').click()
    await it.page.getByText('AAAAmine').waitFor()
    await button(it.page, 'Remove').click()
    await it.page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await it.page.getByText('You have not added a key yet').waitFor()
  })
})

test('a browser that nobody uses is signed out after a warning; the page waits, hidden, for the same person', async () => {
  await using it = await openConsole(browser, '/preferences', { authOptions: { idleSignOutMinutes: 10 } })
  const { page, world } = it
  await page.clock.install()
  await page.reload()
  await button(page, 'Write a script').click()
  const content = page.locator('.cm-content')
  await content.fill('typed before')
  const warning = page.getByRole('alertdialog', { name: 'Are you still there?' })
  await page.clock.fastForward('09:10')
  await warning.getByText(/signed out in \d+ s/).waitFor()
  expect(await audit(page)).toEqual([])
  await warning.getByRole('button', { name: 'Stay signed in' }).press('Enter')
  await warning.waitFor({ state: 'hidden' })
  expect(world.changes.filter(({ request }) => request.includes('logout'))).toEqual([])

  await page.clock.fastForward('10:10')
  await page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await expect.poll(() => world.changes.map(({ request }) => request)).toContain('POST /api/v1/auth/logout')
  await content.waitFor({ state: 'hidden' })
  await page.getByRole('textbox', { name: 'Password' }).fill('Right-one-1')
  await page.keyboard.press('Enter')
  await content.waitFor()
  expect(await content.textContent()).toContain('typed before')
})
