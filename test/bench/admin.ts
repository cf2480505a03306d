import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Page } from 'playwright-core'
import { type ApiClient } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { openStore } from '../../manager/store/open-store.ts'
import { sumEndedSessions } from '../../manager/store/quotas/usage-days.ts'
import { ADMIN_PARTS } from '../../renderer/features/admin/pages.ts'
import { signIn } from '../e2e/console-steps.ts'
import { BROWSER, launchBrowser, visit } from '../fixtures/browser.ts'
import { ADMIN, apiOf, startTestManager, temporaryDirectory } from '../fixtures/manager.ts'
import {
  AGENTS,
  IMAGES,
  PROJECTS,
  type RunningKernel,
  seedInstallation,
  SESSIONS,
  USERS,
  WAITING,
} from './admin-seed.ts'
import { median, round } from './statistics.ts'

const ROUNDS = 3
/** Views of the list of sessions besides its first one: each order, and common filters and searches. */
const ORDERS = ['-created', 'name', '-name', 'status', 'owner', '-owner', 'image', 'resourceGroup', 'ended', '-ended']
const VIEWS = [
  ...ORDERS.map(sort => `/admin/sessions?state=finished&sort=${sort}`),
  '/admin/sessions?state=all&q=session-77',
  '/admin/users?sort=name',
  '/admin/users?q=user-77',
  '/admin/audit?sort=at',
  '/admin/queue?group=default',
  '/admin/queue?sort=-created&q=session-77',
  '/admin/credentials?sort=email',
]

/**
 * How long each page of administration takes in a large installation: from the change of the address until all its requests are
 * answered and it is drawn, in Chromium, through the console and the manager, on a PostgreSQL. Needs `npm run build` before.
 */
export async function benchAdmin(stack: AsyncDisposableStack) {
  const dataDir = stack.use(await temporaryDirectory()).path
  const { port, child } = await joinAgents(stack, dataDir)
  let running: RunningKernel[]
  {
    await using store = await openStore({ dataDir, log: silentLog, isPatient: true })
    running = await seedInstallation(store.db)
    // Like a manager in its first minutes.
    while (await store.transaction(trx => sumEndedSessions(trx)));
    await sql`vacuum analyze`.execute(store.db)
  }
  const managerUrl = await startServer(stack, 'manager', dataDir, String(port))
  const { token } = await apiOf(managerUrl).login({ body: { ...ADMIN, kind: 'token' } })
  const api = apiOf(managerUrl, token ?? '')
  const connected = once(child, 'message')
  child.send(running)
  await connected
  await untilSettled(api)
  const webUrl = await startServer(stack, 'console', stack.use(await temporaryDirectory()).path, managerUrl)
  const browser = stack.adopt(await launchBrowser({ program: BROWSER }), started => started.close())
  const visitor = stack.use(await visit(browser, webUrl))
  await visitor.context.addInitScript(countRequests)
  const page = await visitor.openTab('/admin/domains')
  await signIn(page, ADMIN.email, ADMIN.password)
  await page.getByRole('heading', { name: 'Domains', level: 1 }).waitFor()

  const paths = ADMIN_PARTS.flatMap(({ pages }) => pages.map(({ path }) => `/admin${path}`))
  const [agent] = (await api.listAgents()).items
  const [user] = (await api.listUsers({ query: { limit: 1, role: 'user' } })).items
  const one: Readonly<Record<string, string>> = {
    '/admin/agents/:id': `/admin/agents/${agent?.id}`,
    '/admin/users/:id': `/admin/users/${user?.id}`,
  }
  const figures: Record<string, { medianMs: number; slowestMs: number }> = {}
  const unloaded: string[] = []
  let leastConnected = AGENTS
  for (const path of [...paths, ...VIEWS]) {
    const times: number[] = []
    for (let time = 0; time <= ROUNDS; time++) {
      await show(page, path === '/admin/domains' ? '/admin/presets' : '/admin/domains')
      const ms = await show(page, one[path] ?? path)
      // The first time, its files are loaded.
      if (time > 0) times.push(ms)
    }
    const failed = await page.getByRole('main').getByRole('button', { name: 'Try again' }).count()
    figures[path] = { medianMs: round(median(times), 0), slowestMs: round(Math.max(...times), 0) }
    if (failed > 0) unloaded.push(path)
    const { agents } = await api.getResources()
    leastConnected = Math.min(leastConnected, agents.connected)
    console.error(path, figures[path])
  }
  const slow = Object.entries(figures).filter(([, { medianMs }]) => medianMs > 300)
  const over300Ms = slow.map(([path]) => path)
  const { sessions } = await api.getResources()
  const size = { agents: AGENTS, leastConnected, users: USERS, keypairs: USERS, projects: PROJECTS, images: IMAGES }
  return { admin: { ...size, live: sessions, ended: SESSIONS, unloaded, over300Ms, pages: figures } }
}

/** Starts a process of `admin-server.ts`. @returns its URL */
async function startServer(stack: AsyncDisposableStack, ...args: readonly string[]): Promise<string> {
  const child = fork(new URL('admin-server.ts', import.meta.url), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  stack.defer(async () => {
    if (child.connected) child.disconnect()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const [url] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  if (typeof url !== 'string') throw new Error(`${args[0]} did not start`)
  return url
}

/**
 * Agents join a first manager, which then ends; they return to the next one at the same address, after being told which containers run
 * there.
 */
async function joinAgents(
  stack: AsyncDisposableStack,
  dataDir: string,
): Promise<{ port: number; child: ChildProcess }> {
  await using manager = await startTestManager({ dataDir })
  const { token } = await manager.signIn()
  const args = [manager.url, token, String(AGENTS), String(IMAGES)]
  const child = fork(new URL('admin-agents.ts', import.meta.url), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  stack.defer(() => {
    if (child.connected) child.disconnect()
  })
  await once(child, 'message')
  return { port: Number(new URL(manager.url).port), child }
}

/** Waits until all agents are reconciled, and the queue has been planned. */
async function untilSettled(api: ApiClient): Promise<void> {
  for (;;) {
    const { agents } = await api.getResources()
    const { items, total } = await api.listQueue({ query: { limit: 1 } })
    if (agents.connected === AGENTS && total === WAITING && items[0]?.queuePosition === 1) return
    await wait(1_000)
  }
}

/** Counts the requests of the page that are not completely answered yet; the stream of events never ends. */
function countRequests(): void {
  const counted = globalThis as unknown as { berthOpen: number }
  counted.berthOpen = 0
  const plain = globalThis.fetch
  globalThis.fetch = async (...args) => {
    const [target] = args
    const url = target instanceof Request ? target.url : String(target)
    if (url.includes('/events')) return plain(...args)
    counted.berthOpen++
    try {
      const reply = await plain(...args)
      const body = await reply.blob()
      return new Response(body.size === 0 ? null : body, reply)
    } finally {
      counted.berthOpen--
    }
  }
}

/** Milliseconds from the change of the address to the frame that shows the page with its data. */
async function show(page: Page, path: string): Promise<number> {
  // The page is idle, as before a person's click.
  await page.waitForTimeout(150)
  return page.evaluate(async to => {
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
    const open = () => (globalThis as unknown as { berthOpen: number }).berthOpen
    const before = document.querySelector('main h1')
    const start = performance.now()
    location.hash = to
    let quiet = 0
    let end = start
    // Drawn means: another heading, and nothing loads for three frames; the time is that of the first of them.
    while (quiet < 3) {
      await frame()
      const heading = document.querySelector('main h1')
      const isDrawn =
        heading !== null &&
        heading !== before &&
        open() === 0 &&
        !document.querySelector('main :is(.skeleton, .v-skeleton-loader)')
      if (isDrawn && quiet === 0) end = performance.now()
      quiet = isDrawn ? quiet + 1 : 0
      if (performance.now() - start > 30_000) return Number.NaN
    }
    return end - start
  }, path)
}
