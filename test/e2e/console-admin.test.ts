import { readFile } from 'node:fs/promises'
import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reservation } from '#manager/contract'
import { agentId } from './admin-world-agents.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { openConsole, startBrowser } from './console-open.ts'
import { button } from './console-steps.ts'
import { aSession, HISTORY } from './console-world.ts'

/** The pages of administration: who sees which, and their requests. The role matrix tests that the manager refuses the same. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

test('a user has no link to administration, and its addresses show that it is for administrators', async () => {
  await using it = await openConsole(browser, '/summary', { role: 'user' })
  const rail = it.page.getByRole('navigation', { name: 'Sections' })
  await rail.getByRole('link', { name: 'Account' }).waitFor()
  expect(await rail.getByRole('link', { name: 'Admin' }).count()).toBe(0)
  for (const path of ['/admin', '/admin/users', '/admin/agents']) {
    await it.page.goto(`${it.double.url}/#${path}`)
    await it.page.getByText('This page is for administrators').waitFor()
  }
  await it.page.goto(`${it.double.url}/#/admin/nowhere`)
  await it.page.getByText('Page not found').waitFor()
})

test('a domain admin sees the pages of the domain, a superadmin all', async () => {
  const pagesOf = async (role: 'domain_admin' | 'superadmin') => {
    await using it = await openConsole(browser, '/admin/users', { ...ADMIN_WORLD, role })
    const list = it.page.getByRole('navigation', { name: 'Administration' })
    await list.getByRole('link', { name: 'Users' }).waitFor()
    return await list.getByRole('link').allInnerTexts()
  }
  const ofDomain = await pagesOf('domain_admin')
  const all = await pagesOf('superadmin')
  expect(ofDomain).toEqual([
    'Overview',
    'All sessions',
    'Queue',
    'Usage',
    'Users',
    'Invitations',
    'Credentials',
    'SCIM tokens',
    'Projects',
    'Resource policies',
    'Webhooks',
    'Audit log',
  ])
  expect(all).toEqual(
    expect.arrayContaining([...ofDomain, 'Agents', 'Resource groups', 'Domains', 'Presets', 'Images', 'Settings']),
  )
})

test('a superadmin sees the linked accounts of a user and unlinks them; a domain admin is not shown them', async () => {
  const person = ADMIN_WORLD.admin?.users?.at(-1)
  const path = `/admin/users/${person?.id}`
  {
    await using it = await openConsole(browser, path, { ...ADMIN_WORLD, role: 'domain_admin' })
    await it.page.getByRole('heading', { name: person?.email ?? '', level: 1 }).waitFor()
    expect(await it.page.getByText('Linked accounts').count()).toBe(0)
  }
  await using it = await openConsole(browser, path, structuredClone(ADMIN_WORLD))
  await it.page.getByText('https://login.example.org').waitFor()
  await button(it.page, 'Unlink').click()
  await it.page.getByRole('alertdialog').getByRole('button', { name: 'Unlink' }).click()
  await it.page.getByText('1 account unlinked.').waitFor()
  await it.page.getByText('Not linked with a provider').waitFor()
})

test('lines for hosts that are still open are listed with their makers, and withdrawn', async () => {
  const of = { resourceGroup: 'default', expiresAt: new Date(Date.now() + 600_000).toISOString(), replaces: null }
  const items = [
    { ...of, id: 'a'.repeat(64), status: 'open', maker: 'ada@example.org' },
    { ...of, id: 'b'.repeat(64), status: 'ended', maker: 'gone@example.org' },
  ]
  const request = `DELETE /api/v1/join-tokens/${'a'.repeat(64)}`
  const replies = {
    'GET /api/v1/join-tokens': { status: 200, value: { items } },
    [request]: { status: 204, value: undefined },
  }
  await using it = await openConsole(browser, '/admin/agents', { ...structuredClone(ADMIN_WORLD), replies })
  await button(it.page, 'Add a host').click()
  await it.page.getByText('2 other open lines').click()
  await it.page.getByText('by gone@example.org, who may not add hosts any more').waitFor()
  await button(it.page, 'Withdraw the line by ada@example.org').click()
  await it.page.getByText('The line was withdrawn. No host joins with it.').waitFor()
  expect(it.world.changes.at(-1)).toMatchObject({ request })
})

test('users are imported from a file: checked first, created when asked for, their links in a file', async () => {
  await using it = await openConsole(browser, '/admin/users', ADMIN_WORLD)
  await button(it.page, 'Import').click()
  const dialog = it.page.getByRole('dialog')
  const choose = (text: string) =>
    it.page
      .locator('[data-import=users]')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await choose('name\nAda\n')
  await dialog.getByText('names no column "email"').waitFor()
  const lines = Array.from({ length: 120 }, (_, index) => `new-${index}@example.org,New ${index}`)
  await choose(['email,name', ...lines, 'nobody,Nobody'].join('\n'))
  await dialog.getByText('120 accounts can be created').waitFor()
  await dialog.getByText('must be an e-mail address').waitFor()
  await button(it.page, 'Create 120 accounts').click()
  await dialog.getByText('120 accounts created').waitFor()
  const downloading = it.page.waitForEvent('download')
  await button(it.page, 'Download the links').click()
  const file = await readFile(await (await downloading).path(), 'utf8')
  expect(file.split('\r\n').filter(line => line.includes('token='))).toHaveLength(120)
})

test('the search of users goes to the server and into the address, which shows the same again', async () => {
  await using it = await openConsole(browser, '/admin/users', ADMIN_WORLD)
  await it.page.getByText('researcher-5@lab').first().waitFor()
  await it.page.keyboard.press('/')
  await it.page.keyboard.type('researcher-12@')
  await it.page.getByText('researcher-5@lab').first().waitFor({ state: 'detached' })
  await it.page.getByText('researcher-12@lab').first().waitFor()
  expect(it.page.url()).toContain('q=researcher-12')
  const again = await it.newTab('/admin/users?q=researcher-12%40')
  await again.getByText('researcher-12@lab').first().waitFor()
  expect(await again.getByText('researcher-5@lab').count()).toBe(0)
})

test('a deactivation asks first, says what ends, and can be undone', async () => {
  await using it = await openConsole(browser, '/admin/users', ADMIN_WORLD)
  await button(it.page, 'Deactivate researcher-5@lab.example.org').click()
  await it.page.getByText('Sign-ins, terminals and connections end at once').waitFor()
  expect(it.world.changes).toEqual([])
  await button(it.page, 'Deactivate').last().click()
  await button(it.page, 'Activate again').click()
  await it.page.getByText('researcher-5@lab.example.org is active.').waitFor()
  expect(it.world.changes.map(({ body }) => body)).toEqual([{ active: false }, { active: true }])
})

test('a policy that is in use says by how many, and leads to them; their list says by what it is filtered', async () => {
  await using it = await openConsole(browser, '/admin/policies', structuredClone(ADMIN_WORLD))
  await button(it.page, 'Delete students').click()
  const dialog = it.page.getByRole('alertdialog')
  await dialog.getByText('7 keypairs').waitFor()
  await dialog.getByRole('link', { name: '41 users' }).click()
  await it.page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
  await button(it.page, 'Resource policy: students').click()
  await expect.poll(() => it.page.url()).not.toContain('policy=')
})

test('the page of a user has the keypairs, and follows the sessions', async () => {
  const person = ADMIN_WORLD.admin?.users?.at(-1)
  await using it = await openConsole(browser, `/admin/users/${person?.id}`, structuredClone(ADMIN_WORLD))
  await it.page.getByText('AKIAABCDEFGHIJKLMNO1').waitFor()
  await it.page.getByText('1 running or waiting session').waitFor()
  it.world.sessions = []
  it.double.emit('hint', { topic: 'session', id: '01990000-0000-7000-8000-000000000007', version: 2 })
  await it.page.getByText('No session runs or waits.').waitFor()
  await it.page.getByRole('link', { name: 'Manage' }).click()
  await button(it.page, 'User: mira@example.com').waitFor()
})

test('a long queue comes page by page, sorted by the server; what is held is named with its session', async () => {
  const sessions = Array.from({ length: 250 }, (_, index) =>
    aSession(index + 1, {
      name: `waits-${index + 1}`,
      status: 'PENDING',
      queuePosition: index + 1,
      reason: { code: 'capacity', message: 'It needs 2 GPU; 0 is free now.' },
    }),
  )
  const [first] = sessions
  if (!first) throw new Error('no session')
  const reservations: readonly Reservation[] = [
    {
      resourceGroup: 'default',
      session: { id: first.id, name: first.name, ownerEmail: 'ada@example.org' },
      agent: { id: agentId(1), name: 'gpu-1' },
      agents: [{ id: agentId(1), name: 'gpu-1' }],
      needed: { 'cuda.device': '2' },
      held: { 'cuda.device': '1' },
      devices: [],
      since: first.createdAt,
      expectedBy: null,
    },
  ]
  await using it = await openConsole(browser, '/admin/queue', {
    ...ADMIN_WORLD,
    sessions,
    admin: { ...ADMIN_WORLD.admin, reservations },
  })
  await it.page.getByText('Capacity on gpu-1 is held for waits-1 of ada@example.org').waitFor()
  await it.page.getByText('1 of 2 GPU').waitFor()
  await it.page.getByRole('heading', { name: 'Queue 250' }).waitFor()
  const rows = it.page.getByRole('table').getByRole('link')
  expect(await rows.first().innerText()).toBe('waits-1')
  // The file contains all pages, with times and amounts for programs.
  const downloading = it.page.waitForEvent('download')
  await button(it.page, 'Export as CSV').click()
  const [head, line, ...others] = (await readFile(await (await downloading).path(), 'utf8')).trimEnd().split('\r\n')
  expect(head).toMatch(/^\uFEFFPosition,Priority,Starts,Name,.*CPU cores,RAM \(bytes\),GPUs,Requested/)
  expect(line).toMatch(/^1,0,,waits-1,.*,\d+,\d+,\d+,\d{4}-\d\d-\d\dT[\d:.]+Z,/)
  expect(others).toHaveLength(249)
  // Further pages are requested when the end of the list is near.
  await it.page.locator('.table-scroller').evaluate(async list => {
    for (let turn = 0; turn < 40; turn++) {
      list.scrollTo(0, list.scrollHeight)
      await new Promise(resolve => requestAnimationFrame(resolve))
    }
  })
  await expect
    .poll(async () => {
      await it.page.locator('.table-scroller').evaluate(list => list.scrollTo(0, list.scrollHeight))
      return rows.last().innerText()
    })
    .toBe('waits-250')
})

test('an agent is paused from the list; the arrow keys go from agent to agent', async () => {
  await using it = await openConsole(browser, '/admin/agents', ADMIN_WORLD)
  const rows = it.page.locator('a.name')
  await rows.first().focus()
  await it.page.keyboard.press('ArrowDown')
  expect(await it.page.evaluate(() => document.activeElement?.textContent)).toContain('gpu-host-2')
  await button(it.page, 'Start no new sessions on gpu-host-1.cluster.example.org').click()
  await it.page.getByText('No new session starts on gpu-host-1').waitFor()
  expect(it.world.changes).toMatchObject([{ body: { schedulable: false } }])
})

test('the page of an agent asks the agent for its unknown containers at once, not after its own answer', async () => {
  await using it = await openConsole(browser, '/admin/agents', ADMIN_WORLD)
  await it.page.locator('a.name').first().waitFor()
  const answer = Promise.withResolvers<null>()
  await it.page.route(
    url => url.pathname.endsWith(`/agents/${agentId(1)}`),
    async route => {
      await answer.promise
      await route.continue()
    },
  )
  const asked = it.page.waitForRequest(/\/unknown-containers$/)
  await it.page.goto(`${it.double.url}/#/admin/agents/${agentId(1)}`)
  await asked
  answer.resolve(null)
  await it.page.getByText('Xid 79').first().waitFor()
})

test('idle GPUs are listed by owner; their owner is reminded, and their sessions are ended, all at once', async () => {
  await using it = await openConsole(browser, '/admin/usage', ADMIN_WORLD)
  await it.page.getByText('7 GPU held, and without work for 30 minutes or more').waitFor()
  const [first] = ADMIN_WORLD.admin?.idle ?? []
  if (!first) throw new Error('an idle owner')
  await it.page.getByText('5 GPU · 155.5 GPU-hours without work').waitFor()
  await button(it.page, `Remind ${first.ownerEmail}`).click()
  await it.page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
  await expect.poll(() => it.world.changes.length).toBe(1)
  const sessionIds = first.sessions.map(({ id }) => id)
  expect(it.world.changes).toMatchObject([{ request: 'POST /api/v1/messages', body: { sessionIds } }])
  await button(it.page, `End the sessions of ${first.ownerEmail}`).click()
  await it.page.getByRole('alertdialog').getByText('notebook').waitFor()
  await it.page.getByRole('alertdialog').getByRole('button', { name: 'Terminate' }).click()
  await expect.poll(() => it.world.changes.length).toBe(3)
  const ended = it.world.changes.slice(1).map(({ request }) => request)
  expect(ended.toSorted()).toEqual(sessionIds.map(id => `DELETE /api/v1/sessions/${id}`).toSorted())
})

test('the overview asks once for what is set up, again for the figures after a change, tells of a failed history, and leads to the dialogs of what is missing', async () => {
  await using it = await openConsole(browser, '/admin/domains', {
    ...ADMIN_WORLD,
    history: HISTORY,
    failures: new Map([['GET /api/v1/usage/history', { code: 'forbidden' }]]),
  })
  const asked: (string | null)[] = []
  it.page.on('request', request => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/api/v1/overview') asked.push(searchParams.get('setUp'))
  })
  await it.page.goto(`${it.double.url}/#/admin`)
  await it.page.getByText('7 GPU, 158 GPU-hours so far').waitFor()
  await button(it.page, 'Try again').waitFor()
  it.double.emit('hint', { topic: 'session', id: it.world.sessions[0]?.id, version: 1 })
  await expect.poll(() => asked).toEqual(['true', null])
  it.world.failures.clear()
  await button(it.page, 'Try again').click()
  await it.page.locator('.chart-plot canvas').first().waitFor()
  await it.page.getByRole('link', { name: 'Set up: A second superadmin' }).click()
  await it.page
    .getByRole('dialog')
    .getByRole('button', { name: 'Create the link' })
    .or(it.page.getByRole('dialog'))
    .first()
    .waitFor()
  expect(it.page.url()).toContain('dialog=invite')
})

test('the limits of a project and of a resource policy show who uses how much of each', async () => {
  await using it = await openConsole(browser, '/admin/projects', ADMIN_WORLD)
  const dialog = it.page.getByRole('dialog')
  await button(it.page, 'Use of the limits of vision').click()
  await dialog.getByText('All together').waitFor()
  expect(
    await dialog.getByRole('meter', { name: 'CPU' }).evaluateAll(bars => bars.map(bar => bar.ariaValueText)),
  ).toEqual(['24 / 32', '16 / 32', '8 / 32'])
  // Memory has no limit here, so there is an amount but no bar.
  await dialog.getByText('16 GiB').first().waitFor()
  expect(await dialog.getByRole('meter', { name: 'RAM' }).count()).toBe(0)
  await dialog.getByRole('link', { name: 'researcher-1@lab.example.org' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await it.page.goto(`${it.double.url}/#/admin/policies`)
  await button(it.page, 'Use of the limits of students').click()
  await dialog.getByRole('meter', { name: 'CPU' }).first().waitFor()
  expect(await dialog.getByText('All together').count()).toBe(0)
})

test('projects, images and usage are searched, filtered and sorted by the server; a file of the month has all rows', async () => {
  await using it = await openConsole(browser, '/admin/projects?domain=default', ADMIN_WORLD)
  const asksFor = (query: string) => it.page.waitForRequest(request => request.url().endsWith(query))
  await button(it.page, 'Domain: default').waitFor()
  const sorted = asksFor('/groups?limit=100&sort=members&domain=default')
  await button(it.page, 'Members').click()
  await sorted
  const filtered = asksFor('&search=vis&active=false')
  await it.page.getByPlaceholder('Search').fill('vis')
  await it.page.getByRole('combobox', { name: 'State' }).press('ArrowDown')
  await it.page.getByRole('option', { name: 'Inactive', exact: true }).click()
  await filtered
  await it.page.goto(`${it.double.url}/#/admin/images`)
  await it.page.getByRole('row').filter({ hasText: 'gpu-host-1' }).first().waitFor()
  const largest = asksFor('/images?limit=100&sort=-size')
  await button(it.page, 'Size').click()
  await button(it.page, 'Size').click()
  await largest
  await it.page.goto(`${it.double.url}/#/admin/usage`)
  const wasted = it.page.waitForRequest(/report\?.*sort=-gpuWasted.*limit=100/)
  await button(it.page, 'Wasted GPU-hours').click()
  await button(it.page, 'Wasted GPU-hours').click()
  await wasted
  const short = it.page.waitForRequest(/usage\/reports\?.*limit=50/)
  await it.page.goto(`${it.double.url}/#/admin/usage/month`)
  await short
  const whole = it.page.waitForRequest(
    request => /report\?by=agent/.test(request.url()) && !request.url().includes('limit='),
  )
  const [download] = await Promise.all([it.page.waitForEvent('download'), button(it.page, 'Export as CSV').click()])
  await whole
  const [, ...rows] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
  expect(rows).toHaveLength(5 * (ADMIN_WORLD.admin?.report?.length ?? 0))
})

test('the table of access draws a domain with many projects in steps; its search finds the last of them', async () => {
  const [one] = ADMIN_WORLD.admin?.groups ?? []
  if (!one) throw new Error('no project')
  const groups = Array.from({ length: 250 }, (_, n) => ({
    ...one,
    id: `${one.id.slice(0, -3)}${100 + n}` as typeof one.id,
    name: `lab-${n}`,
  }))
  const admin = { ...ADMIN_WORLD.admin, groups }
  await using it = await openConsole(browser, '/admin/resource-groups/access?open=default', { ...ADMIN_WORLD, admin })
  const rows = it.page.locator('tbody tr')
  await it.page.getByRole('rowheader', { name: 'lab-0', exact: true }).waitFor()
  expect(await rows.count()).toBe(100)
  await button(it.page, /^Show more/).click()
  await expect.poll(() => rows.count()).toBe(200)
  await it.page.getByLabel('Search for a domain or project').fill('LAB-249')
  await it.page.getByRole('rowheader', { name: 'lab-249', exact: true }).waitFor()
  expect(await rows.allInnerTexts()).toHaveLength(2)
  await it.page.getByLabel('Search for a domain or project').fill('nothing')
  await it.page.getByText('Nothing matches').waitFor()
})
