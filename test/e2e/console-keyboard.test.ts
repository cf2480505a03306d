import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOTP_CODE } from './console-double-account.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { button } from './console-steps.ts'

/** The focus for keyboard users: inside a dialog that opens, and back where it was when the dialog closes. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const focused = (page: Page) =>
  page.evaluate(() => {
    const element = document.activeElement
    return element?.getAttribute('aria-label') ?? element?.textContent.trim()
  })
const expectFocus = (page: Page, on: string) => expect.poll(() => focused(page)).toBe(on)

describe('returning the focus', () => {
  test('the focus returns from a question, from a form, and from a dialog that is loaded on demand', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByText('notebook').waitFor()
    for (const [opener, inside] of [
      ['Terminate notebook', 'Cancel'],
      ['New session', 'Launch'],
      ['Apps of notebook', 'Close'],
    ] as const) {
      await button(it.page, opener).focus()
      await it.page.keyboard.press('Enter')
      await it.page.getByRole('button', { name: inside, exact: true }).waitFor()
      await it.page.keyboard.press('Escape')
      await it.page.getByRole('button', { name: inside, exact: true }).waitFor({ state: 'hidden' })
      await expectFocus(it.page, opener)
    }
  })

  test('the focus returns from a dialog that a menu opened', async () => {
    await using it = await openConsole(browser, '/sessions')
    await button(it.page, /Account of/).focus()
    await it.page.keyboard.press('Enter')
    await it.page.getByText('Change password').waitFor()
    await it.page.locator('.v-list-item', { hasText: 'Change password' }).press('Enter')
    await it.page.getByLabel('Current password').waitFor()
    await it.page.waitForFunction(() => document.activeElement?.id === 'old-password')
    await it.page.keyboard.press('Escape')
    await expectFocus(it.page, 'Account of Mira Holm')
  })

  test('the focus returns from the second of two dialogs in a row', async () => {
    await using it = await openConsole(browser, '/account', { totp: { enabled: true, recoveryCodesLeft: 10 } })
    await button(it.page, 'New recovery codes').press('Enter')
    await it.page.locator('input:focus').waitFor()
    await it.page.keyboard.type('Right-one-1')
    await it.page.getByLabel(/^Code from/).fill(TOTP_CODE)
    await it.page.keyboard.press('Enter')
    await button(it.page, 'I have saved the codes').press('Enter')
    await button(it.page, 'I have saved the codes').waitFor({ state: 'hidden' })
    await expectFocus(it.page, 'New recovery codes')
  })

  test('the focus returns from the page of a session; Escape closes what is open in it first', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByRole('link', { name: 'notebook', exact: true }).press('Enter')
    const drawer = it.page.getByRole('complementary', { name: 'Session' })
    await expectFocus(it.page, 'notebook')
    await drawer.getByRole('tab', { name: 'Logs' }).press('Enter')
    await drawer.getByRole('combobox', { name: 'How much' }).press('ArrowDown')
    await it.page.getByRole('option', { name: /last 2,000/ }).waitFor()
    await it.page.keyboard.press('ArrowDown')
    await it.page.locator('[role="option"]:focus').waitFor()
    await it.page.keyboard.press('Escape')
    await it.page.getByRole('option', { name: /last 2,000/ }).waitFor({ state: 'hidden' })
    expect(await drawer.getByRole('heading', { name: 'notebook' }).isVisible()).toBe(true)
    await drawer.getByRole('tab', { name: 'Logs' }).focus()
    await it.page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    await it.page.locator('a:focus', { hasText: 'notebook' }).waitFor()
  })
})

describe('a single key', () => {
  test('single keys open the sheet of keys, the search and the launch dialog, but not from a field or a dialog', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByText('notebook').waitFor()
    const sheet = it.page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await it.page.keyboard.press('?')
    await sheet.getByText('go to the same control of the row above or below').waitFor()
    await it.page.keyboard.press('n')
    await it.page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'hidden' })
    await it.page.keyboard.press('/')
    await expectFocus(it.page, 'Search sessions')
    await it.page.keyboard.type('n?')
    expect(await it.page.getByLabel('Search sessions').inputValue()).toBe('n?')
    await it.page.keyboard.press('Escape')
    expect(await it.page.getByRole('dialog').count()).toBe(0)
    await it.page.getByRole('heading', { name: 'Sessions', exact: true }).click()
    await it.page.keyboard.press('n')
    await it.page.getByRole('heading', { name: 'New session' }).waitFor()
  })

  test('single keys can be switched off, and the menu still opens the sheet', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByText('notebook').waitFor()
    const sheet = it.page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await it.page.keyboard.press('?')
    await sheet.getByLabel(/Use the single keys/).uncheck()
    await it.page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'hidden' })
    for (const reload of [false, true]) {
      if (reload) await it.page.reload()
      await it.page.getByText('notebook').waitFor()
      await it.page.keyboard.press('?')
      await it.page.keyboard.press('n')
      await button(it.page, /Account of/).click()
      await it.page.locator('.v-list-item', { hasText: 'Keyboard shortcuts' }).click()
      await sheet.waitFor()
      expect(await it.page.getByRole('dialog').count()).toBe(1)
      await it.page.keyboard.press('Escape')
      await sheet.waitFor({ state: 'hidden' })
    }
  })
})

test('after the sign-in ended the password can be typed at once, and the focus returns to the field of before', async () => {
  await using it = await openConsole(browser, '/sessions')
  await it.page.getByText('notebook').waitFor()
  await it.page.keyboard.press('/')
  it.world.signedIn = false
  it.double.drop()
  await it.page.getByRole('heading', { name: 'Sign in again' }).waitFor()
  await it.page.locator('#sign-in-password:focus').waitFor()
  await it.page.keyboard.type('secret-1')
  await it.page.keyboard.press('Enter')
  await it.page.getByRole('heading', { name: 'Sign in again' }).waitFor({ state: 'detached' })
  await it.page.locator('#session-search:focus').waitFor()
})
