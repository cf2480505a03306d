import { type Browser, type Page } from 'playwright-core'
import { isFinished } from '#manager/contract'
import { openConsole, type Opened } from './console-open.ts'
import { aSession } from './console-world.ts'

export const LIVE = 2_000
export const FINISHED = 10_000

/** A superadmin's lists in a large installation; live sessions are the newest. */
const manySessions = () => [
  ...Array.from({ length: LIVE }, (_, index) => aSession(FINISHED + index, { name: `live-${index}` })),
  ...Array.from({ length: FINISHED }, (_, index) => aSession(index, { name: `old-${index}`, status: 'TERMINATED' })),
]

/** The console of a superadmin after both lists are loaded: all live sessions and the first page of finished ones. */
export async function openMany(browser: Browser): Promise<Opened> {
  const it = await openConsole(browser, '/sessions', { role: 'superadmin', sessions: manySessions() })
  const pages = LIVE / 500 + 1
  await it.page.waitForFunction(expected => {
    const lists = performance
      .getEntriesByType('resource')
      .filter(({ name }) => /\/sessions\?status=.*limit=500/.test(name))
    return lists.length === expected
  }, pages)
  await it.page.locator('tr.row').first().waitFor()
  return it
}

export interface StormMeasurements {
  /** API requests by their parameters. */
  readonly requests: Readonly<Record<string, number>>
  /** The most requests for sessions at the same time. */
  readonly inFlight: number
  /** Failed in the browser, as with `ERR_INSUFFICIENT_RESOURCES`. */
  readonly failed: number
  /** Time from the last change until the page shows the correct state. */
  readonly truthMs: number
  readonly longestTaskMs: number
}

/** The number beside the name of a list. */
export async function tabCount(page: Page, name: 'Active' | 'Finished'): Promise<number> {
  const text = await page.getByRole('tab', { name }).innerText()
  return Number(text.replaceAll(/\D/g, ''))
}

/** Runs `storm` and counts what the page does meanwhile, until `isTrue`. */
async function watching(
  page: Page,
  storm: () => Promise<void>,
  isTrue: () => Promise<boolean>,
): Promise<StormMeasurements> {
  const requests: Record<string, number> = {}
  let now = 0
  let inFlight = 0
  let failed = 0
  const kindOf = (address: string) => {
    const url = new URL(address)
    if (!url.pathname.startsWith('/api/') || url.pathname.endsWith('/events')) return undefined
    if (url.searchParams.has('ids')) return 'ids'
    return url.pathname.replace('/api/v1/', '').replace(/[0-9a-f-]{36}/, ':id')
  }
  const isOfSessions = (kind: string | undefined) => kind === 'ids' || kind === 'sessions' || kind === 'sessions/:id'
  page.on('request', request => {
    const kind = kindOf(request.url())
    if (kind === undefined) return
    requests[kind] = (requests[kind] ?? 0) + 1
    if (isOfSessions(kind)) inFlight = Math.max(inFlight, (now += 1))
  })
  page.on('requestfinished', request => {
    if (isOfSessions(kindOf(request.url()))) now -= 1
  })
  page.on('requestfailed', request => {
    const kind = kindOf(request.url())
    if (isOfSessions(kind)) now -= 1
    if (kind !== undefined) failed += 1
  })
  await page.evaluate(() => {
    const seen = globalThis as { longestTask?: number }
    seen.longestTask = 0
    new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) seen.longestTask = Math.max(seen.longestTask ?? 0, duration)
    }).observe({ type: 'longtask' })
  })
  await storm()
  const ended = performance.now()
  while (!(await isTrue()) && performance.now() - ended < 30_000) await page.waitForTimeout(50)
  const truthMs = performance.now() - ended
  const longestTaskMs = await page.evaluate(() => (globalThis as { longestTask?: number }).longestTask ?? 0)
  page.removeAllListeners('request')
  page.removeAllListeners('requestfinished')
  page.removeAllListeners('requestfailed')
  return { requests, inFlight, failed, truthMs: Math.round(truthMs), longestTaskMs: Math.round(longestTaskMs) }
}

/** 1,500 of the 2,000 live sessions end at once, as with a host that is lost. */
export async function massEnd({ page, double, world }: Opened): Promise<StormMeasurements> {
  const before = await tabCount(page, 'Finished')
  return await watching(
    page,
    async () => {
      for (const session of world.sessions.slice(0, 1_500)) {
        session.status = 'TERMINATED'
        session.endedAt = new Date().toISOString()
        session.version += 1
        double.emit('hint', { topic: 'session', id: session.id, version: session.version })
      }
      await Promise.resolve()
    },
    async () =>
      (await tabCount(page, 'Active')) === LIVE - 1_500 && (await tabCount(page, 'Finished')) === before + 1_500,
  )
}

/** 500 changes of live sessions a second: new names, of which the page shows the newest. */
export async function changesForSeconds({ page, double, world }: Opened, seconds: number): Promise<StormMeasurements> {
  const live = world.sessions.filter(({ status }) => !isFinished(status))
  const shown = page.locator('tr.row .name')
  let changes = 0
  const change = () => {
    const session = live[changes % live.length]
    if (!session) throw new Error('no session is live')
    session.name = `changed-${changes}`
    session.version += 1
    double.emit('hint', { topic: 'session', id: session.id, version: session.version })
    changes += 1
  }
  return await watching(
    page,
    async () => {
      const start = performance.now()
      while (performance.now() - start < seconds * 1000) {
        const due = Math.round((performance.now() - start) / 2)
        while (changes < due) change()
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
    async () => {
      const newest = live.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, 5)
      const names = await shown.allTextContents()
      return newest.every(({ name }, index) => names[index] === name)
    },
  )
}
