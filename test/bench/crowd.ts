import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type ApiClient, type SessionId } from '#manager/contract'
import { SERVER_OPTIONS } from '../../cli/server-options.ts'
import { apiOf } from '../fixtures/manager.ts'
import { startManagers } from '../fixtures/managers.ts'
import { APP, CROWD_IMAGE } from './crowd-image.ts'
import { type Wanted } from './crowd-clients.ts'
import { processorSeconds } from './processor-time.ts'
import { benchEnvironment, residentBytes } from './servers.ts'
import { startPart } from './start-part.ts'
import { median, quantile, round } from './statistics.ts'

const AGENTS = 100
const SESSIONS = 2_000
/** Owners of the sessions: a single one may not have as many tunnels (`manager/tunnels/tunnel-limiter.ts`). */
const PEOPLE = 4
const PER_REQUEST = 50
const TUNNELS = 5_000
/** Agents send statistics every second; sent more often, the maximum that the manager keeps is reached sooner. */
const KEPT_FIGURES = 300
const QUICK_FIGURES_MS = 250
const SETTLE_MS = 20_000
const MB = 2 ** 20

/**
 * Measures a manager process as it runs in production, with 2,000 live sessions on a hundred simulated agents (connections and the agents'
 * half of tunnels for real, no containers) and 5,000 idle tunnels through it: its memory, its processor time at rest, and the speed of its
 * list of sessions.
 */
export async function benchCrowd(stack: AsyncDisposableStack) {
  const managers = stack.use(await startManagers())
  const manager = await managers.spawn({
    NODE_OPTIONS: [...SERVER_OPTIONS, benchEnvironment.NODE_OPTIONS].join(' '),
    BERTH_LOG: 'warn',
  })
  const { api } = await managers.admin(manager)
  const freshMB = await memoryMB(manager.pid)
  const service = await startPart(stack, './tunnel-service.ts', [])
  const joins: string[] = []
  for (let n = 0; n < AGENTS; n++) joins.push((await manager.createJoinToken()).join)
  const agents = await startPart(stack, './crowd-agents.ts', [manager.url, service.port, SESSIONS / AGENTS, ...joins])

  const launchStart = performance.now()
  const people = await addPeople(api, manager.url)
  await Promise.all(people.map(launch))
  await untilRunning(api)
  const launchPerSecond = SESSIONS / ((performance.now() - launchStart) / 1000)
  agents.child.send(QUICK_FIGURES_MS)
  await wait(KEPT_FIGURES * QUICK_FIGURES_MS)
  agents.child.send(1_000)
  const withSessionsMB = await memoryMB(manager.pid)

  const clients = await startPart(stack, './crowd-clients.ts', [manager.url])
  const doors = (await Promise.all(people.map(openDoors))).flat()
  const openStart = performance.now()
  clients.child.send({ doors, tunnels: TUNNELS } satisfies Wanted)
  const [opened] = (await once(clients.child, 'message')) as [{ open: number; lost: number }]
  const tunnelsPerSecond = TUNNELS / ((performance.now() - openStart) / 1000)
  if (opened.open !== TUNNELS || opened.lost > 0) throw new Error(`tunnels: ${JSON.stringify(opened)}`)
  await wait(SETTLE_MS)
  const busyBefore = await processorSeconds(manager.pid)
  const restStart = performance.now()
  await wait(SETTLE_MS)
  const processorShare = (await processorSeconds(manager.pid)) - busyBefore
  const restSeconds = (performance.now() - restStart) / 1000
  const residentMB = await memoryMB(manager.pid)
  const times = await listTimes(api)
  process.kill(manager.pid, 'SIGUSR2')
  await wait(3_000)
  return {
    crowd: {
      agents: AGENTS,
      sessions: SESSIONS,
      tunnels: TUNNELS,
      managerMB: {
        fresh: freshMB,
        withSessions: withSessionsMB,
        withTunnels: residentMB,
        collected: await memoryMB(manager.pid),
      },
      descriptors: (await readdir(`/proc/${manager.pid}/fd`)).length,
      processorPercentAtRest: round((processorShare / restSeconds) * 100, 0),
      launchPerSecond: round(launchPerSecond, 0),
      tunnelsPerSecond: round(tunnelsPerSecond, 0),
      listP50Ms: round(median(times), 1),
      listP99Ms: round(quantile(times, 0.99), 1),
    },
  }
}

async function addPeople(admin: ApiClient, url: string): Promise<ApiClient[]> {
  const password = 'Their-own-pass-1'
  const people: ApiClient[] = []
  for (let n = 0; n < PEOPLE; n++) {
    const email = `crowd-${n}@example.org`
    await admin.createUser({ body: { mustChangePassword: false, email, name: email, password } })
    const { token } = await apiOf(url).login({ body: { email, password, kind: 'token' } })
    if (token === null) throw new Error('no token')
    people.push(apiOf(url, token))
  }
  return people
}

async function launch(api: ApiClient): Promise<void> {
  const [image = ''] = CROWD_IMAGE.references
  for (let n = 0; n < SESSIONS / PEOPLE; n += PER_REQUEST) {
    const resources = { cpu: '1', mem: '512m' }
    await api.createSession({ body: { image, name: `crowd-${n}`, count: PER_REQUEST, resources } })
  }
}

async function untilRunning(api: ApiClient): Promise<void> {
  for (;;) {
    const { sessions } = await api.getResources()
    if (sessions.running >= SESSIONS) return
    await wait(500)
  }
}

async function listOwn(api: ApiClient): Promise<SessionId[]> {
  const ids: SessionId[] = []
  let cursor: string | undefined
  do {
    const page = await api.listSessions({ query: { status: 'live', limit: 500, ...(cursor ? { cursor } : {}) } })
    ids.push(...page.items.map(session => session.id))
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  return ids
}

async function openDoors(api: ApiClient): Promise<Wanted['doors']> {
  const ids = await listOwn(api)
  const doors: { sessionId: SessionId; grant: string }[] = []
  for (let n = 0; n < ids.length; n += PER_REQUEST) {
    const some = ids.slice(n, n + PER_REQUEST).map(async id => {
      const { grant } = await api.createGrant({ params: { id, app: APP } })
      return { sessionId: id, grant }
    })
    doors.push(...(await Promise.all(some)))
  }
  return doors
}

async function listTimes(api: ApiClient): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < 40; n++) {
    const start = performance.now()
    await api.listSessions({ query: { status: 'live', limit: 100 } })
    times.push(performance.now() - start)
  }
  return times
}

async function memoryMB(pid: number): Promise<number> {
  return round((await residentBytes(pid, 'all')) / MB, 0)
}
