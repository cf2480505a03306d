import { readFile } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openConsole, startBrowser } from './console-open.ts'
import { ago, aSession, figuresOf, statsOf } from './console-world.ts'

/** Tabs, columns and files of the list of sessions, and the charts of one. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const rowNames = (page: Page) => page.locator('tr.row .name').allTextContents()

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
    // Logs of sessions that have ended are compared too; they cannot be terminated.
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
  const asked: string[] = []
  it.page.on('request', request => asked.push(request.url()))
  await it.page.reload()
  await it.page.getByRole('tab', { name: 'Failed 3' }).waitFor()
  await it.page.getByRole('tab', { name: 'Finished 523' }).waitFor()
  // They are counted; only their tab loads them.
  const failed = () =>
    asked.filter(url => url.includes('status=failed')).map(url => new URL(url).searchParams.get('limit'))
  expect(failed()).toEqual(['1'])
  await it.page.getByRole('tab', { name: 'Failed 3' }).click()
  await expect.poll(() => rowNames(it.page)).toEqual(['broken-0', 'broken-1', 'broken-2'])
  expect(failed()).toEqual(['1', '500'])
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
  // Figures are those of all containers, and so is what they are a part of.
  expect(await it.page.locator('tr.row').getByRole('meter', { name: 'CPU' }).getAttribute('aria-valuenow')).toBe('50')
  const request = it.page.locator('tr.row .col-resources .figures')
  expect(await request.textContent()).toBe('3 × 2 CPU · 4 GiB')
  for (const line of [...(await lines.all()), request]) {
    await line.waitFor()
    expect(await line.evaluate(({ clientWidth, scrollWidth }) => scrollWidth - clientWidth)).toBeLessThanOrEqual(0)
  }
  expect(await it.page.locator('tr.row .name').evaluate(({ clientWidth }) => clientWidth)).toBeGreaterThan(140)
})

/** Sessions whose cells are as high as they become, and the resource groups of two hosts. */
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
  ['comfortable', 62],
  ['compact', 46],
] as const)('every row of a %s list is as high as the list assumes, at any width', async ([density, height]) => {
  const change = { sessions: full, role: 'superadmin' } as const
  await using it = await openConsole(browser, '/sessions', change, { width: 1900, height: 800 })
  await it.page.evaluate(value => localStorage.setItem('berth.density', value), density)
  await it.page.reload()
  await it.page.getByText('all-gauges').waitFor()
  for (const width of [1980, 1400, 1180, 1000]) {
    await it.page.setViewportSize({ width, height: 800 })
    const heights = () =>
      it.page.locator('tr.row').evaluateAll(rows => rows.map(row => row.getBoundingClientRect().height))
    await expect.poll(heights).toEqual([height, height, height])
    // What a cell holds keeps a distance from its borders.
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
  // Without a pointer the legend has the last figures, not dashes.
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

test('rows are short while the list jumps, and whole once it rests', async () => {
  const many = Array.from({ length: 2_000 }, (_, index) => aSession(index))
  await using it = await openConsole(browser, '/sessions', { sessions: many })
  await it.page.locator('table[aria-rowcount="2001"]').waitFor()
  const seen = await it.page.evaluate(async () => {
    const scroller = document.querySelector('.table-scroller')
    const kinds: (readonly [short: number, whole: number])[] = []
    for (let step = 1; scroller && step <= 10; step++) {
      scroller.scrollTop = (scroller.scrollHeight / 20) * step
      await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))
      const short = document.querySelectorAll('tr.skimmed').length
      kinds.push([short, document.querySelectorAll('tr.row').length - short])
    }
    return kinds
  })
  // Each jump is longer than the window: only short rows, and some of them in each frame.
  expect(seen.filter(([short, whole]) => short === 0 || whole > 0).length).toBeLessThanOrEqual(1)
  await it.page.locator('tr.skimmed').first().waitFor({ state: 'detached' })
  expect(await it.page.locator('tr.row .controls').count()).toBe(await it.page.locator('tr.row').count())
  // By keys and wheel, rows stay whole.
  await it.page.locator('.table-scroller').evaluate(element => element.scrollBy({ top: 300 }))
  await it.page.waitForTimeout(30)
  expect(await it.page.locator('tr.skimmed').count()).toBe(0)
})
