import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_WORLD } from './admin-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { IMAGES } from './console-world.ts'

/** Lists of administration in usual windows: the columns that distinguish rows are not cut off. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const [IMAGE] = IMAGES
const WORLD = {
  ...ADMIN_WORLD,
  role: 'superadmin' as const,
  images: IMAGE ? [{ ...IMAGE, reference: '127.0.0.1:5000/berth/pytorch:2.9-cuda13' }] : [],
}
/** Page, a text of its list, and the visible column heads at 1280 and at 1440 px. */
const PAGES = [
  ['images', '127.0.0.1:5000', ['Image', 'Size', 'On agents'], []],
  ['agents', 'gpu-host-1', ['Name', 'State', 'CPU', 'RAM', 'GPU'], []],
  ['users', 'researcher-10@', ['E-mail address', 'Role', 'State'], ['Domain']],
  ['policies', 'students', ['Name', 'Limits', 'Containers', 'Folders'], ['Idle timeout']],
  ['audit', 'Terminate a session', ['Time', 'Who', 'Action', 'Target', 'Result'], ['Address']],
] as const

test.for([
  [1280, 'en-GB'],
  [1280, 'en-US'],
  [1440, 'en-US'],
] as const)('lists of administration are whole at %i px in %s', async ([width, locale]) => {
  await using it = await openConsole(browser, '/admin/users', WORLD, { width, height: 900 }, '', locale)
  for (const [path, text, heads, wider] of PAGES) {
    await it.openAnew(`/admin/${path}`)
    await it.page.locator('tr.row', { hasText: text }).first().waitFor()
    const shown = await it.page.locator('thead th').allInnerTexts()
    expect(shown.map(head => head.trim())).toEqual(expect.arrayContaining([...heads, ...(width >= 1440 ? wider : [])]))
    const cut = await it.page
      // An entry of the audit log has texts of any length; its time is not cut off.
      .locator(path === 'audit' ? 'tr.row .col-name .name' : 'tr.row :is(.col-name .name, .cell .text, .cell .chip)')
      .evaluateAll(all =>
        all
          .filter(one => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2)
          .map(one => one.textContent),
      )
    expect(cut, path).toEqual([])
  }
})
