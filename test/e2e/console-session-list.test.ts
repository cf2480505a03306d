import { mkdir, readFile } from 'node:fs/promises'
import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FolderId, type Session } from '#manager/contract'
import { openConsole, startBrowser } from './console-open.ts'
import { button, rowNames } from './console-steps.ts'
import { type World } from './console-double-world.ts'
import { ago, aSession, ENDED_KERNEL, figuresOf, OTHER, statsOf } from './console-world.ts'

/** Tabs, columns, files and addresses of the list of sessions, actions on its rows, and the charts of one session. */
let browser: Browser
beforeAll(async () => {
  await mkdir(OUTPUT, { recursive: true })
  browser = await startBrowser()
})
afterAll(() => browser.close())

const OUTPUT = new URL('../output/', import.meta.url).pathname

const sessions = [
  aSession(1, { name: 'runs-now', stats: statsOf(500, 2 ** 30) }),
  aSession(2, { name: 'waits-now', status: 'PENDING', apps: [] }),
  aSession(3, { name: '=went-well', status: 'TERMINATED', endedAt: ago(5), result: 'success', kind: 'batch' }),
  aSession(4, {
    name: 'went-wrong',
    status: 'TERMINATED',
    endedAt: ago(6),
    kind: 'batch',
    result: 'failure',
    reason: { code: 'exited', message: 'Its command ended with 3, "badly"' },
  }),
]

describe('tabs', () => {
  test('waiting and failed sessions have tabs with addresses of their own', async () => {
    await using it = await openConsole(browser, '/sessions', { sessions })
    await it.page.getByRole('tab', { name: 'Waiting 1' }).click()
    await expect.poll(() => rowNames(it.page)).toEqual(['waits-now'])
    await it.page.getByRole('tab', { name: 'Failed 1' }).click()
    await expect.poll(() => rowNames(it.page)).toEqual(['went-wrong'])
    await expect.poll(() => it.page.url()).toContain('list=failed')
    // Logs of ended sessions can be compared too; ended sessions cannot be terminated.
    await it.page.getByRole('tab', { name: 'Finished 2' }).click()
    await it.page.getByLabel('Select all shown').check()
    expect(await button(it.page, 'Terminate…').count()).toBe(0)
    await it.page.getByRole('link', { name: 'Logs', exact: true }).click()
    await expect.poll(() => it.page.url()).toMatch(/logs\?ids=[^,]+,[^,]+$/)
    for (let steps = 0; steps < 3; steps++) await it.page.goBack()
    await expect.poll(() => rowNames(it.page)).toEqual(['waits-now'])
    const link = await it.newTab('/sessions?list=failed')
    await expect.poll(() => rowNames(link)).toEqual(['went-wrong'])
  })
})

test('failed sessions are those of the server, also where few of the finished ones are loaded', async () => {
  const ended = { status: 'TERMINATED', endedAt: ago(5) } as const
  const many = [
    ...Array.from({ length: 3 }, (_, index) =>
      aSession(index, {
        name: `broken-${index}`,
        ...ended,
        status: 'ERROR',
        reason: { code: 'oom_killed', message: 'x' },
      }),
    ),
    ...Array.from({ length: 520 }, (_, index) => aSession(100 + index, ended)),
  ]
  await using it = await openConsole(browser, '/sessions', { sessions: many })
  await it.page.getByRole('tab', { name: 'Failed 3' }).waitFor()
  const asked: string[] = []
  it.page.on('request', request => asked.push(request.url()))
  await it.page.reload()
  await it.page.getByRole('tab', { name: 'Failed 3' }).waitFor()
  await it.page.getByRole('tab', { name: 'Finished 523' }).waitFor()
  // Failed sessions are counted; only their tab loads them.
  const failed = () =>
    asked.filter(url => url.includes('status=failed')).map(url => new URL(url).searchParams.get('limit'))
  expect(new Set(failed())).toEqual(new Set(['1']))
  await it.page.getByRole('tab', { name: 'Failed 3' }).click()
  await expect.poll(() => rowNames(it.page)).toEqual(['broken-0', 'broken-1', 'broken-2'])
  expect(failed().at(-1)).toBe('500')
})

test.for([
  { width: 1600, role: 'user' },
  { width: 1920, role: 'superadmin' },
] as const)('figures of the disk and names have room in a window of $width px ($role)', async ({ width, role }) => {
  const gib = 2 ** 30
  const figures = { ...statsOf(3000, gib), diskReadBytes: 98.4 * gib, diskWriteBytes: 412 * gib }
  const shown = [aSession(1, { name: 'train-resnet-50-again', stats: figures, clusterSize: 3 })]
  await using it = await openConsole(browser, '/sessions', { sessions: shown, role }, { width, height: 800 })
  const lines = it.page.locator('tr.row .col-io .sub')
  await expect.poll(() => lines.allTextContents()).toEqual(['98.4 GiB read', '412 GiB written'])
  // Usage and requested amounts are those of all containers.
  expect(await it.page.locator('tr.row').getByRole('meter', { name: 'CPU' }).getAttribute('aria-valuenow')).toBe('50')
  const request = it.page.locator('tr.row .col-resources .figures')
  expect(await request.textContent()).toBe('3 × 2 CPU · 4 GiB')
  for (const line of [...(await lines.all()), request]) {
    await line.waitFor()
    expect(await line.evaluate(({ clientWidth, scrollWidth }) => scrollWidth - clientWidth)).toBeLessThanOrEqual(0)
  }
  expect(await it.page.locator('tr.row .name').evaluate(({ clientWidth }) => clientWidth)).toBeGreaterThan(140)
})

test('a window of 1280 px shows whole reasons and times, beside sessions that run', async () => {
  const message = 'Needs 0.5 CPU (0 left of the 1 CPU that project "speech" may use).'
  const shown = [
    aSession(1, { name: 'runs', ownerEmail: 'researcher-10@lab.example.org', stats: statsOf(500, 2 ** 30, [40]) }),
    aSession(2, { name: 'waits', status: 'PENDING', reason: { code: 'group_limit', message }, queuePosition: 12 }),
    aSession(3, { name: 'lost', reachable: false }),
    aSession(4, { name: 'since-last-month', startedAt: ago(31 * 24 * 60), stats: statsOf(500, 2 ** 30, [40]) }),
  ]
  for (const language of ['en', 'ko']) {
    const role = language === 'en' ? 'superadmin' : 'user'
    await using it = await openConsole(browser, '/sessions', { sessions: shown, role }, { width: 1280, height: 800 })
    await it.page.evaluate(value => localStorage.setItem('berth.language', value), language)
    await it.page.reload()
    await it.page.locator('tr.row .status-reason').nth(1).waitFor()
    const cut = await it.page
      .locator('tr.row :is(.status-reason, .col-time *, .col-name *)')
      .evaluateAll(texts =>
        texts
          .filter(one => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
          .map(one => one.textContent),
      )
    expect(cut).toEqual([])
    // Each column stays below its head.
    const edges = (cells: string) =>
      it.page.locator(cells).evaluateAll(all => all.map(cell => Math.round(cell.getBoundingClientRect().left)))
    for (const column of ['resources', 'time', 'controls']) {
      const [head] = await edges(`th.col-${column}`)
      expect(await edges(`tr.row .col-${column}`)).toEqual([head, head, head, head])
    }
  }
})

/** Sessions with the highest possible cells, and the resource groups of two hosts. */
const full = [
  aSession(1, { name: 'all-gauges', stats: statsOf(500, 2 ** 30, [40]), resourceGroup: 'gpu-west' }),
  aSession(2, {
    name: 'long-reason',
    status: 'PENDING',
    reason: { code: 'capacity', message: 'Waits for 4 GPUs. No host of the resource group has more than 2 of them.' },
    queuePosition: 3,
    ownerEmail: 'somebody.with.a.long.name@physics.example.com',
  }),
  aSession(3, {
    name: 'pulls-image',
    status: 'PULLING',
    pull: { layersDone: 1, layersTotal: 3, bytesDone: 2 ** 29, bytesTotal: 2 ** 30, layers: [] },
  }),
]
test.for([
  // Where owners have no column, each stands in a line of its own.
  ['comfortable', 62, 74],
  ['compact', 46, 46],
] as const)('every row of a %s list is as high as the list assumes, at any width', async ([density, wide, usual]) => {
  const long = { name: 'a-name-of-a-session-that-takes-two-lines-wherever-it-has-no-room', ...OTHER }
  const change: Partial<World> = { sessions: [...full, aSession(4, long)], role: 'superadmin' }
  await using it = await openConsole(browser, '/sessions', change, { width: 1900, height: 800 })
  await it.page.evaluate(value => localStorage.setItem('berth.density', value), density)
  await it.page.reload()
  await it.page.getByText('all-gauges').waitFor()
  for (const [width, height] of [
    [1980, wide],
    [1400, usual],
    [1180, usual],
    [1000, usual],
  ] as const) {
    await it.page.setViewportSize({ width, height: 800 })
    const heights = () =>
      it.page.locator('tr.row').evaluateAll(rows => rows.map(row => row.getBoundingClientRect().height))
    await expect.poll(heights).toEqual([height, height, height, height])
    // The content of a cell keeps a distance from the cell's borders.
    const gaps = await it.page.locator('tr.row td').evaluateAll(cells =>
      cells.flatMap(cell => {
        const inner = [...cell.children].map(child => child.getBoundingClientRect()).filter(box => box.height > 0)
        const outer = cell.getBoundingClientRect()
        return inner.map(({ top, bottom }) => Math.min(top - outer.top, outer.bottom - bottom))
      }),
    )
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(2)
  }
})

test('the resource group is a column of wide lists if there are several; it is searched and sorted by', async () => {
  await using it = await openConsole(browser, '/sessions', { sessions: full }, { width: 1900, height: 800 })
  await it.page.locator('tr.row .col-group').getByText('gpu-west').waitFor()
  await button(it.page, 'Resource group').click()
  await expect.poll(() => rowNames(it.page)).toEqual(['pulls-image', 'long-reason', 'all-gauges'])
  await expect.poll(() => it.page.url()).toContain('sort=group')
  await it.page.getByLabel('Search sessions').fill('gpu-west')
  await expect.poll(() => rowNames(it.page)).toEqual(['all-gauges'])
  await it.page.setViewportSize({ width: 1280, height: 800 })
  await it.page.locator('tr.row .col-group').waitFor({ state: 'hidden' })
})

test('the rows are exported as a file that spreadsheets read and do not run', async () => {
  await using it = await openConsole(browser, '/sessions?list=finished', { sessions })
  await it.page.getByText('went-wrong').waitFor()
  const [download] = await Promise.all([it.page.waitForEvent('download'), button(it.page, 'Export as CSV').click()])
  expect(download.suggestedFilename()).toBe('sessions-finished.csv')
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  expect(lines[0]).toMatch(/^\uFEFFName,Status,Reason/)
  expect(lines[1]).toMatch(/^'=went-well,Succeeded,/)
  expect(lines[2]).toContain('"Its command ended with 3, ""badly"""')
  expect(lines).toHaveLength(4)
})

test('the notebook opens from the row with one click, if the person may enter the session', async () => {
  await using it = await openConsole(browser, '/sessions', { sessions })
  await it.page.getByText('runs-now').waitFor()
  expect(await button(it.page, /^Open JupyterLab of/).count()).toBe(1)
  const [tab, request] = await Promise.all([
    it.page.context().waitForEvent('page'),
    it.page.waitForRequest(/\/host\/tunnel\/openApp$/),
    button(it.page, 'Open JupyterLab of runs-now').click(),
  ])
  expect(request.postDataJSON()).toMatchObject([{ sessionId: sessions[0]?.id, app: 'jupyterlab' }])
  // The stand-in opens no tunnel: the page closes the tab again and says why.
  await expect.poll(() => tab.isClosed()).toBe(true)
  await it.page.locator('.notification.error').waitFor()
})

test('charts show the chosen time, are kept in the address, and agree with their table', async () => {
  const asked: number[] = []
  const old = { ...aSession(1), startedAt: new Date(Date.now() - 30 * 86_400_000).toISOString() }
  await using it = await openConsole(browser, `/sessions/${old.id}`, {
    sessions: [old],
    figures(url) {
      const { from, to } = Object.fromEntries(url.searchParams)
      asked.push((Date.parse(to ?? '') - Date.parse(from ?? '')) / 3600_000)
      return figuresOf(url)
    },
  })
  await it.page.getByRole('tab', { name: 'Charts' }).click()
  await expect.poll(() => it.page.locator('.chart-plot canvas').count()).toBe(6)
  // Without a pointer, the legend shows the last values instead of dashes.
  await expect.poll(() => it.page.locator('.u-legend').first().textContent()).toMatch(/Used[\d.]+Requested2$/)
  await button(it.page, '7 days').click()
  await expect.poll(() => asked).toEqual([1, 168])
  await expect.poll(() => it.page.url()).toContain('tab=charts&range=7d')
  await button(it.page, 'Show as table').click()
  const cpu = it.page.getByRole('region', { name: 'CPU cores' })
  await cpu.getByText('Requested: 2').waitFor()
  expect(await cpu.getByRole('row').count()).toBeGreaterThan(20)
})

test('charts of a young session begin with the session', async () => {
  const asked: string[] = []
  const young = { ...aSession(1), startedAt: new Date(Date.now() - 25 * 60_000).toISOString() }
  await using _ = await openConsole(browser, `/sessions/${young.id}?tab=charts&range=7d`, {
    sessions: [young],
    figures(url) {
      asked.push(url.searchParams.get('from') ?? '')
      return figuresOf(url)
    },
  })
  await expect.poll(() => asked).toEqual([young.startedAt])
})

test('charts of a session without figures say why, and can be loaded again after a failure', async () => {
  const failures = new Map([[`GET /api/v1/sessions/${aSession(1).id}/stats`, { code: 'internal' as const }]])
  await using it = await openConsole(browser, `/sessions/${aSession(1).id}?tab=charts`, { sessions, failures })
  await it.page.getByText('Unexpected failure').waitFor()
  failures.clear()
  await button(it.page, 'Try again').click()
  await it.page.getByText('No figures for this time').waitFor()
})

describe('the list of sessions', () => {
  test('it can be used with the keyboard alone', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByText('notebook').waitFor()
    await it.page.keyboard.press('/')
    await it.page.keyboard.type('notebook')
    await expect.poll(() => rowNames(it.page)).toEqual(['notebook'])
    await it.page.keyboard.press('Escape')
    await expect.poll(async () => (await rowNames(it.page)).length).toBe(8)
    await it.page.getByRole('link', { name: 'ending-now', exact: true }).focus()
    await it.page.keyboard.press('ArrowDown')
    await it.page.keyboard.press('ArrowDown')
    expect(await it.page.evaluate(() => document.activeElement?.textContent)).toBe('on-lost-agent')
    await button(it.page, 'Terminate notebook').focus()
    await it.page.keyboard.press('Enter')
    await it.page.getByRole('button', { name: 'Cancel', exact: true }).waitFor()
    await it.page.keyboard.press('Escape')
    await it.page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'hidden' })
    expect(it.world.changes).toEqual([])
  })

  test('several sessions are ended at once, and those that could not be ended are named', async () => {
    await using it = await openConsole(browser, '/sessions')
    await it.page.getByLabel('Select notebook').click()
    await it.page.getByLabel('Select train-resnet-50').click()
    const stuck = it.world.sessions.find(({ name }) => name === 'notebook')!
    it.world.failures.set(`DELETE /api/v1/sessions/${stuck.id}`, { code: 'unavailable', detail: {} })
    await button(it.page, 'Terminate…').click()
    await it.page.getByText('No folder is mounted. Their homes are kept').waitFor()
    await button(it.page, 'Terminate 2 sessions').click()
    await it.page.getByText('1 of 2 are still there: notebook').waitFor()
    await it.page.locator('tr.row', { hasText: 'train-resnet-50' }).getByText('Terminating').waitFor()
    // The failure is not shown for other sessions.
    await it.page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await it.page.getByRole('button', { name: 'Cancel', exact: true }).waitFor({ state: 'hidden' })
    await button(it.page, 'Terminate data-clean_up.v2').click()
    await it.page.getByText('No folder is mounted. Its home is kept').waitFor()
    expect(await it.page.getByText('are still there').count()).toBe(0)
  })

  test('an ended session is started again, or the page says why not', async () => {
    const finished = { status: 'TERMINATED', kernels: [ENDED_KERNEL] } satisfies Partial<Session>
    const ended = aSession(20, { name: 'yesterday', ...finished, endedAt: ago(120) })
    const older = aSession(10, { name: 'last-week', ...finished, endedAt: ago(10_000) })
    const restart = `POST /api/v1/sessions/${ended.id}/restart`
    await using it = await openConsole(browser, `/sessions/${ended.id}`, { sessions: [ended, older] })
    const details = it.page.getByRole('complementary', { name: 'Session' })
    it.world.failures.set(restart, { code: 'files_gone', detail: {} })
    await button(it.page, 'Start again').click()
    await it.page.getByText('Start a new session.').waitFor()
    await details.getByText('Terminated').first().waitFor()
    it.world.failures.clear()
    await button(it.page, 'Start again').click()
    await details.getByText('Waiting').first().waitFor()
    await expect.poll(() => it.page.url()).toContain(`/sessions/${it.world.sessions[0]?.id ?? ''}`)
    expect(it.world.changes.map(({ request }) => request)).toEqual([restart, restart])
    const second = await it.newTab(`/sessions/${older.id}`)
    await second.getByRole('heading', { name: 'last-week' }).waitFor()
    expect(await button(second, 'Start again').count()).toBe(0)
  })

  test('a session that an administrator launched says so, and is started again without their command unless the owner takes it', async () => {
    const who = 'root@example.com'
    const command = 'cat ~/.netrc'
    const finished = { status: 'TERMINATED', kernels: [ENDED_KERNEL], endedAt: ago(120) } satisfies Partial<Session>
    const mount = { folderId: FolderId.parse('01990000-0000-7000-8000-000000000001'), name: 'course', readOnly: true }
    const folders = [{ ...mount, path: '/home/work/.ipython' }]
    const image = 'users/root-0a1b2c3d/course:1'
    const chosen = { launchedBy: who, image, folders, startupCommand: command, environ: { BASH_ENV: '/tmp/x' } }
    const ended = aSession(20, { name: 'prepared', ...finished, ...chosen })
    await using it = await openConsole(browser, `/sessions/${ended.id}`, { sessions: [ended] })
    const details = it.page.getByRole('complementary', { name: 'Session' })
    await details.getByText(`${who} launched this session for you`).waitFor()
    await button(it.page, 'Start again').click()
    const dialog = it.page.getByRole('alertdialog')
    await dialog.getByText(command).waitFor()
    for (const part of ['BASH_ENV', image, 'Folders: course', 'folders of your own'])
      await dialog.getByText(part).waitFor()
    await dialog.getByLabel('Run this again').check()
    await dialog.getByRole('button', { name: 'Start again' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await expect.poll(() => it.page.url()).toContain(`/sessions/${it.world.sessions[0]?.id ?? ''}`)
    expect(it.world.changes.map(({ body }) => body)).toEqual([{ keepCommand: true, keepFiles: false }])
    await details.getByText('Waiting').first().waitFor()
    expect(new URL(it.page.url()).searchParams.has('dialog')).toBe(false)
  })

  test('list, search, filter and sort are in the address: for Back, a reload and a link', async () => {
    await using it = await openConsole(browser, '/sessions')
    const { page } = it
    const chosenTab = () => page.getByRole('tab', { selected: true }).innerText()
    await page.getByLabel('Search sessions').fill('note')
    await expect.poll(() => rowNames(page)).toEqual(['notebook'])
    await expect.poll(() => page.url()).toContain('/sessions?q=note')
    await page.getByRole('button', { name: 'Session', exact: true }).click()
    await page.getByRole('tab', { name: 'Finished' }).click()
    await expect.poll(() => page.url()).toContain('list=finished')
    await page.getByLabel('Search sessions').fill('yester')
    await expect.poll(() => rowNames(page)).toEqual(['yesterday'])
    await page.getByRole('link', { name: 'yesterday', exact: true }).click()
    await page.getByRole('complementary', { name: 'Session' }).waitFor()
    await page.reload()
    await page.getByRole('complementary', { name: 'Session' }).waitFor()
    await expect.poll(() => rowNames(page)).toEqual(['yesterday'])
    await page.goBack()
    await page.goBack()
    await expect.poll(chosenTab).toContain('All active')
    await expect.poll(() => rowNames(page)).toEqual(['notebook'])
    expect(await page.getByLabel('Search sessions').inputValue()).toBe('note')
    await page.goForward()
    await expect.poll(chosenTab).toContain('All finished')
    await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Sessions' }).click()
    await expect.poll(chosenTab).toContain('All active')
    expect(await page.getByLabel('Search sessions').inputValue()).toBe('')
    expect(page.url()).toMatch(/#\/sessions$/)
  })

  test('the search says how far it has searched, and continues', async () => {
    const sessions = Array.from({ length: 600 }, (_, index) => aSession(index, { status: 'TERMINATED' }))
    await using it = await openConsole(browser, '/sessions?list=finished', { sessions })
    await it.page.getByLabel('Search sessions').fill('session-7 ')
    await it.page.getByText('No session matches').waitFor()
    await it.page.getByText('Searched: the newest 500 of 600').waitFor()
    await it.page.getByLabel('Search sessions').fill('session-42')
    await button(it.page, 'Load more').click()
    await expect.poll(() => rowNames(it.page)).toContain('session-42')
  })

  test('the timeline belongs to the session on the page, not to the one before', async () => {
    await using it = await openConsole(browser, '/sessions', {}, { width: 1700, height: 800 })
    await it.page.getByRole('link', { name: 'notebook', exact: true }).click()
    await it.page.locator('ol.timeline').getByText('Asked for').waitFor()
    const other = it.world.sessions.find(({ name }) => name === 'train-resnet-50')!
    it.world.failures.set(`GET /api/v1/sessions/${other.id}/events`, { code: 'unavailable' })
    await it.page.getByRole('link', { name: 'train-resnet-50', exact: true }).click()
    await it.page
      .getByRole('complementary', { name: 'Session' })
      .getByText('Berth is not available right now')
      .waitFor()
    expect(await it.page.locator('ol.timeline').count()).toBe(0)
  })

  test.each([800, 1024])('it fits into %i pixels', async width => {
    await using it = await openConsole(browser, '/sessions', {}, { width, height: 700 })
    await it.page.getByText('train-resnet-50').waitFor()
    const overflow = await it.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect(overflow).toBeLessThanOrEqual(0)
    expect(await button(it.page, 'Terminate notebook').isVisible()).toBe(true)
    await it.page.screenshot({ path: `${OUTPUT}sessions-${width}.png` })
    await button(it.page, 'New session').click()
    await it.page.getByRole('heading', { name: 'Environment', exact: true }).waitFor()
    await it.page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState !== 'running'))
    await it.page.screenshot({ path: `${OUTPUT}launch-${width}.png` })
  })
})

test('the details of a running session open on the tab that was used last, those of an ended one on the timeline', async () => {
  await using it = await openConsole(browser, '/sessions')
  const running = it.world.sessions.find(({ status }) => status === 'RUNNING')!
  const ended = it.world.sessions.find(({ name }) => name === 'yesterday')!
  await it.page.goto(`${it.double.url}/#/sessions/${running.id}`)
  await it.page.getByRole('tab', { name: 'Timeline', selected: true }).waitFor()
  await it.page.getByRole('tab', { name: 'Details' }).click()
  await it.page.getByRole('tab', { name: 'Details', selected: true }).waitFor()

  const tab = await it.newTab(`/sessions/${running.id}`)
  await tab.getByRole('tab', { name: 'Details', selected: true }).waitFor()
  await tab.goto(`${it.double.url}/#/sessions/${ended.id}`)
  await tab.getByRole('tab', { name: 'Timeline', selected: true }).waitFor()
})
