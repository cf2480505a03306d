import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_WORLD } from './admin-world.ts'
import { aKeypair, OTHER_LOGIN, THIS_LOGIN } from './console-double-account.ts'
import { aFolder, filesOf, FOLDER_ID } from './console-double-files.ts'
import { type World } from './console-double-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { aWorld, HISTORY, INVITATION, LIMITED } from './console-world.ts'

/** The focus is visible (WCAG 2.4.7): an element with the focus looks different from the same element without. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

/** Presses of Tab: on the first page through the navigation and the top bar, on the others from the top of the page. */
const PRESSES = { all: 24, page: 14 }
const WORLD: Partial<World> = {
  ...ADMIN_WORLD,
  ...LIMITED,
  role: 'superadmin',
  folders: [aFolder()],
  files: filesOf({ 'README.md': 'Read me', 'data.csv': '1' }),
  history: HISTORY,
  invitations: [INVITATION],
  keypairs: [aKeypair(0)],
  logins: [THIS_LOGIN, OTHER_LOGIN],
}
const PAGES = [
  '/summary',
  '/sessions',
  `/sessions/${aWorld().sessions[2]?.id}`,
  '/sessions?dialog=launch',
  '/data',
  `/data/${FOLDER_ID}`,
  '/statistics',
  '/account',
  '/account?dialog=password',
  '/preferences',
  '/information',
  '/tunnels',
  '/admin/overview',
  '/admin/users',
  '/admin/settings',
]

/**
 * Tabs through the page as it is. A control shows the focus by a frame of its own or of the field around it: the outline, the shadow or
 * the border of one of them is another one while it has the focus.
 * @returns controls that look the same with the focus and without
 */
async function unseen(page: Page, presses: number): Promise<string[]> {
  const found = new Set<string>()
  for (let press = 0; press <= presses; press++) {
    await page.keyboard.press('Tab')
    const fault = await page.evaluate(() => {
      const state = globalThis as unknown as { before?: { element: Element; look: string } | undefined }
      const lookOf = (element: Element) => {
        const chain: Element[] = []
        for (let each: Element | null = element; each && chain.length < 5; each = each.parentElement) chain.push(each)
        // A list keeps the focus, and shows the row on which the keys act.
        const active = document.getElementById(element.getAttribute('aria-activedescendant') ?? '')
        if (active) chain.push(active)
        const looks = chain.flatMap(each => {
          const frame = each.querySelector(':scope > .v-field__outline > :first-child')
          const parts = ([undefined, '::before', '::after'] as const).map(part => getComputedStyle(each, part))
          if (frame) parts.push(getComputedStyle(frame))
          return parts.map(({ outline, outlineStyle, outlineWidth, boxShadow, borderTop, opacity }, index) => {
            const drawn = outlineStyle === 'none' || outlineWidth === '0px' ? '' : outline
            return [drawn, boxShadow, borderTop, index === 3 ? opacity : ''].join()
          })
        })
        return looks.join('\n')
      }
      const { before } = state
      const now = document.activeElement
      const isControl = now !== null && now !== document.body && now.id !== 'main'
      state.before = isControl ? { element: now, look: lookOf(now) } : undefined
      if (!before || before.element === now || !before.element.isConnected) return undefined
      // A button inside the frame of a field keeps the frame, and has its own.
      if (before.element.closest('.text-field')?.contains(now)) return undefined
      if (lookOf(before.element) !== before.look) return undefined
      const { element } = before
      return `${element.outerHTML.slice(0, 120)} ${element.textContent.trim().slice(0, 40)}`
    })
    if (fault !== undefined) found.add(fault)
  }
  return [...found]
}

test('every control that Tab reaches shows that it has the focus', async () => {
  await using it = await openConsole(browser, '/sessions', WORLD)
  const { page } = it
  const faults: Record<string, string[]> = {}
  for (const path of PAGES) {
    await page.goto('about:blank')
    await page.goto(`${it.double.url}/#${path}`)
    await page.locator('h1, h2').filter({ visible: true }).first().waitFor()
    if (path.includes('dialog=')) await page.getByRole('dialog').waitFor()
    await page.evaluate(() => {
      // Styles change at once: otherwise a check at the beginning of a transition would see the old style.
      const sheet = new CSSStyleSheet()
      sheet.replaceSync('*, ::before, ::after { transition: none !important }')
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
    })
    const isFirst = path === PAGES[0]
    if (!isFirst && !path.includes('dialog=')) await page.locator('#main').focus()
    const found = await unseen(page, isFirst ? PRESSES.all : PRESSES.page)
    if (found.length > 0) faults[path] = found
  }
  expect(faults).toEqual({})
})
