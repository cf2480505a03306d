import { readdir, readFile } from 'node:fs/promises'
import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { requestOf, useForm } from './admin-forms.ts'
import { ADMIN_FORMS } from './admin-form-rows.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { openConsole, type Opened, startBrowser } from './console-open.ts'
import { aWorld } from './console-world.ts'
import { goTo } from './page-router.ts'

/**
 * Every form of administration, filled in over the double: the request that it sends, and what the page says then. A row of a
 * table is a form; the last test finds routes that no row sends.
 */

/** Routes that pages of administration send, with the test that shows it. */
const ELSEWHERE: Readonly<Partial<Record<RouteName, string>>> = {
  importUsers: 'console-admin.test.ts',
  withdrawJoinToken: 'console-admin.test.ts',
}

let browser: Browser
let it: Opened
beforeAll(async () => {
  browser = await startBrowser()
  it = await openConsole(browser, '/admin/about', structuredClone(ADMIN_WORLD))
})
afterAll(async () => {
  await it[Symbol.asyncDispose]()
  await browser.close()
})

test.each(ADMIN_FORMS)('$title', async row => {
  const { page, world } = it
  // Closes everything that the previous row has opened.
  await goTo(page, '/admin/about')
  const { admin, ...rest } = structuredClone(ADMIN_WORLD)
  Object.assign(world, aWorld({ ...rest, ...row.world }), { admin: { ...admin, ...row.admin }, changes: [] })
  const request = requestOf(row)
  const { status = 200 } = ROUTES[row.sends] as RouteSpec
  if (row.reply !== undefined || status === 204)
    world.replies = { ...row.world?.replies, [request]: { status, value: row.reply } }
  await goTo(page, `/admin/${row.page}`)
  await useForm(page, row)
  await page.getByText(row.says).first().waitFor()
  const asked = (row.asks ?? []).map(body => ({ request, body }))
  const sent = { request, body: row.body, ...defined({ query: row.query }) }
  // Some rows show their text before the request.
  await expect.poll(() => world.changes).toEqual([...asked, sent])
})

test('every route that changes something and that a page of administration calls has a row, or a test elsewhere', async () => {
  const folder = new URL('../../renderer/features/admin/', import.meta.url)
  const names = (await readdir(folder, { recursive: true })).filter(
    name => /\.(vue|ts)$/.test(name) && !name.endsWith('.test.ts'),
  )
  const sources = await Promise.all(names.map(name => readFile(new URL(name, folder), 'utf8')))
  const called = new Set(
    sources.flatMap(text => [...text.matchAll(/\bapi\s*\.(\w+)\(/g)].map(([, name]) => name ?? '')),
  )
  const changing = Object.entries(ROUTES)
    .filter(([name, { method }]) => called.has(name) && method !== 'GET')
    .map(([name]) => name)
  expect(changing.length).toBeGreaterThan(40)
  const shown = new Set<string>([...ADMIN_FORMS.map(({ sends }) => sends), ...Object.keys(ELSEWHERE)])
  expect(changing.filter(name => !shown.has(name)).toSorted()).toEqual([])
  expect(Object.keys(ELSEWHERE).filter(name => !called.has(name))).toEqual([])
})
