import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Role, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { ADMIN_PARTS } from '../../renderer/features/admin/pages.ts'
import { ADMIN_FORMS } from './admin-form-rows.ts'
import { agentId } from './admin-world-agents.ts'
import { ADMIN_WORLD, aUser } from './admin-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { goTo, routePaths } from './page-router.ts'

/**
 * Every page of administration as every role. The pages are those of the router, so that a new one is visited without a line here; one that
 * has a parameter which this file does not know fails. The role matrix tests that the manager refuses forbidden actions, for every route of
 * the contract.
 */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const RANKS: readonly Role[] = ['user', 'domain_admin', 'superadmin']
const mayUse = (role: Role, lowest: Role) => RANKS.indexOf(role) >= RANKS.indexOf(lowest)
const PAGES = ADMIN_PARTS.flatMap(({ pages }) => pages)
const EXAMPLES: Readonly<Record<string, string>> = {
  '/agents/:id': `/agents/${agentId(1)}`,
  '/users/:id': `/users/${aUser(3).id}`,
  '/queue': '/queue?group=default',
}
function addressOf(path: string): string {
  const address = EXAMPLES[path] ?? path
  if (address.includes(':')) throw new Error(`${path} needs an example`)
  return `/admin${address}`
}

/** Buttons on pages of both kinds of administrators that domain admins do not see, with their requests. */
const HIDDEN: Readonly<Record<string, Readonly<Record<string, RouteName>>>> = {
  '/credentials': { 'Edit AKIAABCDEFGHIJKLMNO1': 'updateKeypair' },
  '/policies': {
    'Create a resource policy': 'createResourcePolicy',
    'Edit default': 'updateResourcePolicy',
    'Edit students': 'updateResourcePolicy',
    'Delete default': 'deleteResourcePolicy',
    'Delete students': 'deleteResourcePolicy',
  },
  '/queue': { 'Pause all starts': 'pauseScheduling', 'Pause this group': 'updateResourceGroup' },
  '/users/:id': {
    'Show the link instead': 'createAccountLink',
    'Switch the second factor off': 'resetTotp',
    Unlink: 'removeUserIdentities',
  },
}

/** Requests to the API: those that were sent, and the number of unanswered ones. The stream of events never ends. */
function watchRequests(page: Page) {
  const sent = new Set<string>()
  const open = new Set<object>()
  page.on('request', request => {
    const { pathname } = new URL(request.url())
    if (!pathname.startsWith('/api/') || pathname.endsWith('/api/v1/events')) return
    sent.add(`${request.method()} ${pathname}`)
    open.add(request)
  })
  page.on('requestfinished', request => open.delete(request))
  page.on('requestfailed', request => open.delete(request))
  return { sent, open }
}

const routes = (Object.values(ROUTES) as RouteSpec[]).map(({ method, path, access }) => ({
  pattern: new RegExp(`^${method} ${path.replace(/:\w+/g, '[^/]+')}$`),
  named: path.split(':').length,
  access,
}))
/** The role that the contract requires for the matching route with the fewest parameters. */
function accessOf(request: string): RouteSpec['access'] {
  const [route] = routes.filter(({ pattern }) => pattern.test(request)).toSorted((a, b) => a.named - b.named)
  if (!route) throw new Error(`the contract has no ${request}`)
  return route.access
}
const isFor = (role: Role, access: RouteSpec['access']) =>
  access === 'none' || (access !== 'console' && mayUse(role, access))

/** Visits every page. @returns for each page whether it is refused, its errors, and its buttons by name */
async function visitAll(role: Role) {
  await using it = await openConsole(browser, '/admin/overview', { ...structuredClone(ADMIN_WORLD), role })
  const { page } = it
  const { sent, open } = watchRequests(page)
  const main = page.locator('.admin > .page')
  await main.waitFor()
  const paths = await routePaths(page)
  expect(paths.filter(path => path.startsWith('/admin/')).toSorted()).toEqual(
    PAGES.map(({ path }) => `/admin${path}`).toSorted(),
  )
  const seen: Record<string, { refused: string; failed: number; buttons: string[] }> = {}
  for (const { path } of PAGES) {
    await goTo(page, addressOf(path))
    await main.locator('h1, h2').first().waitFor()
    await vi.waitUntil(() => open.size === 0, { timeout: 120_000 })
    await vi.waitUntil(async () => (await main.locator('.skeleton').count()) === 0, { timeout: 120_000 })
    const refused = (await main.locator('h1').count()) === 0 ? await main.innerText() : ''
    const failed = await main.getByRole('button', { name: 'Try again' }).count()
    const names = await main
      .getByRole('button')
      .evaluateAll(all => all.map(one => one.getAttribute('aria-label') ?? one.textContent.trim()))
    // Buttons of rows without the row, because the number of drawn rows in a long list varies.
    const kinds = names.map(name => name.replace(/\S+@\S+/, 'ADDRESS'))
    seen[path] = { refused, failed, buttons: [...new Set(kinds)].toSorted() }
  }
  return { seen, sent: [...sent] }
}

describe('every page of administration', () => {
  let superadmin: Awaited<ReturnType<typeof visitAll>>
  let domainAdmin: typeof superadmin
  beforeAll(async () => {
    superadmin = await visitAll('superadmin')
    domainAdmin = await visitAll('domain_admin')
  })

  test('a user is refused by all, and none of them asks for anything', async () => {
    const { seen, sent } = await visitAll('user')
    for (const { path } of PAGES) expect(seen[path], path).toMatchObject({ failed: 0, buttons: [] })
    for (const { path } of PAGES) expect(seen[path]?.refused, path).toContain('This page is for administrators')
    expect(sent.filter(request => !isFor('user', accessOf(request)))).toEqual([])
  })

  test.each(['domain_admin', 'superadmin'] as const)(
    'a %s sees those of the role, which ask for what the role may have',
    role => {
      const { seen, sent } = role === 'superadmin' ? superadmin : domainAdmin
      for (const { path, access } of PAGES) {
        expect({ path, refused: seen[path]?.refused !== '' }).toEqual({ path, refused: !mayUse(role, access) })
        expect({ path, failed: seen[path]?.failed }).toEqual({ path, failed: 0 })
      }
      expect(sent.length).toBeGreaterThan(10)
      expect(sent.filter(request => !isFor(role, accessOf(request)))).toEqual([])
    },
  )

  test('what a button sends that a domain admin does not see is refused to domain admins', () => {
    const hidden = PAGES.filter(({ access }) => access === 'domain_admin').flatMap(({ path }) => {
      const shown = new Set(domainAdmin.seen[path]?.buttons)
      const names = superadmin.seen[path]?.buttons.filter(name => !shown.has(name)) ?? []
      return names.length === 0 ? [] : [[path, names] as const]
    })
    const known = Object.entries(HIDDEN).map(([path, buttons]) => [path, Object.keys(buttons).toSorted()])
    expect(Object.fromEntries(hidden)).toEqual(Object.fromEntries(known))
    const sends = Object.values(HIDDEN).flatMap(buttons => Object.values(buttons))
    // Others may send these two with less: limits of keypairs are in keypairs.test.ts, links in hand in known-passwords.test.ts.
    const whole = sends.filter(name => name !== 'updateKeypair' && name !== 'createAccountLink')
    for (const name of whole) expect({ name, access: ROUTES[name].access }).toEqual({ name, access: 'superadmin' })
    // The forms contain the routes of these buttons.
    const filled = Object.values(HIDDEN).flatMap(buttons =>
      Object.entries(buttons).flatMap(([name, route]) => {
        const row = ADMIN_FORMS.find(({ open }) => [open].flat()[0] === name)
        return row ? [{ name, route, sends: row.sends }] : []
      }),
    )
    expect(filled.length).toBeGreaterThan(4)
    expect(filled.map(({ name, route }) => ({ name, sends: route }))).toEqual(
      filled.map(({ name, sends: sent }) => ({ name, sends: sent })),
    )
  })
})
