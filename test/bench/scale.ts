import { loadavg } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { type ApiClient, isAppError, type SessionId } from '#manager/contract'
import { SERVER_OPTIONS } from '../../cli/server-options.ts'
import { silentLog } from '../../manager/log.ts'
import { openStore } from '../../manager/store/open-store.ts'
import { sumEndedSessions } from '../../manager/store/quotas/usage-days.ts'
import { apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { type ManagerProcess, type Managers, startManagers } from '../fixtures/managers.ts'
import { startPostgresPair } from '../fixtures/postgres-pair.ts'
import { seedInstallation } from './admin-seed.ts'
import { CROWD_IMAGE } from './crowd-image.ts'
import { processorSeconds } from './processor-time.ts'
import { scaleTunnels } from './scale-tunnels.ts'
import { slowestPages, slowestStatements } from './scale-pages.ts'
import { residentBytes } from './servers.ts'
import { startPart } from './start-part.ts'
import { median, quantile, round } from './statistics.ts'

/** Number of agents, and of ended sessions in the database. */
const AGENTS = Number(process.env.BERTH_BENCH_AGENTS ?? 1_000)
const HISTORY = Number(process.env.BERTH_BENCH_SESSIONS ?? 100_000)
/** Sessions of each measured crowd of launches. */
const LAUNCHES = Number(process.env.BERTH_BENCH_LAUNCHES ?? Math.min(1_000, AGENTS))
/** Each group is scheduled by one manager at a time. */
const GROUPS = ['scale-one', 'scale-two', 'scale-three'] as const
const PROCESSES = 2
/** People, each with one request in flight. */
const CLIENTS = 12
const LIST_SECONDS = 8
const REST_SECONDS = 10
const MOST_MANAGERS = 3
const MB = 2 ** 20
const ROOM = `
shared_preload_libraries = 'pg_stat_statements'
shared_buffers = 256MB
max_connections = 200
max_wal_size = 2GB
`

/** A manager process, and its administrator's client. */
export interface Server {
  readonly process: ManagerProcess
  readonly api: ApiClient
  readonly token: string
}

/**
 * Gain by a second and a third manager: agents that are connected to all of them, on one PostgreSQL with a streaming standby. Rates of
 * launches and of lists, what reports cost, memory, the slowest pages and statements with a long history, a tunnel to an agent that hangs
 * on another manager, and the restart of all managers at once.
 *
 * All run on this machine, with their clients: a rate that does not grow may be the machine's. The processor time for each session or
 * request, by manager and database, says where it goes.
 */
export async function benchScale(stack: AsyncDisposableStack) {
  const pair = stack.use(await startPostgresPair(ROOM))
  const [primary] = pair.servers
  await pair.query(primary, 'create extension pg_stat_statements')
  const managers = stack.use(await startManagers(undefined, primary.url))
  const servers = [await startServer(managers)]
  const first = servers[0]
  if (!first) throw new Error('no manager')
  const people = await addPeople(first)
  for (const name of GROUPS) await first.api.createResourceGroup({ body: { name } })
  const service = await startPart(stack, './tunnel-service.ts', [])
  const home = stack.use(await temporaryDirectory()).path
  const joinStart = performance.now()
  await Promise.all(
    Array.from({ length: PROCESSES }, async (_, index) => {
      const joins = await inviteSome(first.api, Math.ceil((AGENTS - index) / PROCESSES))
      await startPart(stack, './scale-agents.ts', [service.port, home, '', ...joins])
    }),
  )
  await untilBack(servers)
  const joinSeconds = (performance.now() - joinStart) / 1000
  await writeHistory(primary.url, home)
  await pair.query(primary, 'select pg_stat_statements_reset()')
  console.error(`${AGENTS} agents, ${HISTORY} sessions`)

  const database = async () => await secondsOf(await primary.processes())
  const measured: Awaited<ReturnType<typeof measure>>[] = []
  for (let count = 1; count <= MOST_MANAGERS; count++) {
    while (servers.length < count) servers.push(await startServer(managers))
    await untilBack(servers)
    measured.push(await measure({ servers, people }, database))
    console.error(`${count} managers`, JSON.stringify(measured.at(-1)))
  }
  const statements = await slowestStatements(text => pair.query(primary, text))
  await pair.query(primary, 'select pg_stat_statements_reset()')
  const pages = await slowestPages(first)
  const statementsOfPages = await slowestStatements(text => pair.query(primary, text))
  console.error(JSON.stringify({ statements, pages, statementsOfPages }))
  const restart = await restartAll(servers, managers)
  const tunnels = await scaleTunnels(stack, { servers: restart.servers, service: service.port, home })
  const [one, , three] = measured
  return {
    scale: {
      agents: AGENTS,
      history: HISTORY,
      load: loadavg()[0],
      joinPerSecond: round(AGENTS / joinSeconds, 0),
      managers: measured,
      ratios: one &&
        three && {
          launches: round(three.launchesPerSecond / one.launchesPerSecond),
          lists: round(three.listsPerSecond / one.listsPerSecond),
          managerMsPerLaunch: round(three.launchMs.managers / one.launchMs.managers),
          busiestManagerMsPerLaunch: round(three.launchMs.busiest / one.launchMs.busiest),
        },
      pages,
      statements,
      statementsOfPages,
      restart: restart.figures,
      tunnels,
    },
  }
}

async function startServer(managers: Managers, port?: string): Promise<Server> {
  const process = await managers.spawn({
    NODE_OPTIONS: [...SERVER_OPTIONS, processEnvironment()].join(' '),
    BERTH_LOG: 'warn',
    ...(port === undefined ? {} : { BERTH_PORT: port }),
  })
  return { process, ...(await managers.admin(process)) }
}
const processEnvironment = () => process.env.BERTH_BENCH_NODE ?? ''

/** Join strings, for the groups in turn. */
async function inviteSome(api: ApiClient, count: number): Promise<string[]> {
  const joins: string[] = []
  while (joins.length < count) {
    const some = Array.from({ length: Math.min(25, count - joins.length) }, async (_, index) => {
      const resourceGroup = GROUPS[index % GROUPS.length] ?? GROUPS[0]
      return (await api.createJoinToken({ body: { resourceGroup } })).join
    })
    joins.push(...(await Promise.all(some)))
  }
  return joins
}

/** Waits until all agents are connected to each manager, and their reports are taken up. */
export async function untilBack(servers: readonly Server[], count = AGENTS): Promise<void> {
  async function hasAll({ api, process }: Server): Promise<boolean> {
    const { items } = await api.listManagers()
    const { agents, capacity } = await api.getResources()
    const ready = Number(capacity.cpu ?? 0) / 64
    const own = items.find(({ url }) => url === process.url)?.agents
    return own === count && agents.connected === count && ready === count
  }
  // A manager to which all agents come back at once may have too much to do to answer.
  const unlessRefused = (error: unknown) => {
    if (!isAppError(error) || error.code !== 'unavailable') throw error
    return false
  }
  for (;;) {
    const found = await Promise.all(servers.map(server => hasAll(server).catch(unlessRefused)))
    if (found.every(Boolean)) return
    await wait(250)
  }
}

async function writeHistory(databaseUrl: string, dataDir: string): Promise<void> {
  await using store = await openStore({ databaseUrl, dataDir, log: silentLog, isPatient: true })
  await seedInstallation(store.db, { agents: AGENTS, ended: HISTORY, live: 0, waiting: 0 })
  while (await store.transaction(trx => sumEndedSessions(trx)));
}

async function secondsOf(pids: readonly number[]): Promise<number> {
  const all = await Promise.all(pids.map(pid => processorSeconds(pid).catch(() => 0)))
  return all.reduce((sum, seconds) => sum + seconds, 0)
}

/** Processor time, in ms for each of `count`, of all managers, of the busiest of them, and of the database with its standby's sender. */
async function costOf(servers: readonly Server[], database: () => Promise<number>) {
  const now = async () => ({
    each: await Promise.all(servers.map(({ process }) => processorSeconds(process.pid))),
    database: await database(),
  })
  const before = await now()
  return async (count: number) => {
    const after = await now()
    const used = after.each.map((seconds, index) => seconds - (before.each[index] ?? 0))
    const perItem = (seconds: number) => round((seconds * 1000) / count)
    return {
      managers: perItem(used.reduce((sum, seconds) => sum + seconds, 0)),
      busiest: perItem(Math.max(...used)),
      database: perItem(after.database - before.database),
    }
  }
}

async function measure({ servers, people }: Crowd, database: () => Promise<number>) {
  const clients = clientsOf({ servers, people })
  const [first] = servers
  if (!first) throw new Error('no manager')
  const idleCost = await costOf(servers, database)
  await wait(REST_SECONDS * 1000)
  const idleMsPerSecond = await idleCost(REST_SECONDS)
  const launchCost = await costOf(servers, database)
  const launchStart = performance.now()
  const { launched, refusals } = await launch(clients, LAUNCHES)
  await untilRunning(first.api, LAUNCHES)
  const launchSeconds = (performance.now() - launchStart) / 1000
  const whole = await launchCost(LAUNCHES)
  // The cost of agents that send nothing but heartbeats is no part of a launch.
  const net = (part: keyof typeof whole) => round(whole[part] - (idleMsPerSecond[part] * launchSeconds) / LAUNCHES)
  const launchMs = { managers: net('managers'), busiest: net('busiest'), database: net('database') }

  const restCost = await costOf(servers, database)
  await wait(REST_SECONDS * 1000)
  // Each agent sends its figures to each manager once a second.
  const reportMs = await restCost(REST_SECONDS * Math.min(AGENTS, LAUNCHES) * servers.length)

  const times: number[] = []
  const listCost = await costOf(servers, database)
  const until = performance.now() + LIST_SECONDS * 1000
  await share(
    clients,
    () => performance.now() < until || undefined,
    async api => {
      const start = performance.now()
      await api.listSessions({ query: { limit: 20 } })
      times.push(performance.now() - start)
    },
  )
  const listMs = await listCost(times.length)
  const memoryMB = await Promise.all(
    servers.map(async ({ process }) => round((await residentBytes(process.pid, 'all')) / MB, 0)),
  )

  const endStart = performance.now()
  await end(clients, launched)
  await untilRunning(first.api, 0)
  return {
    count: servers.length,
    idleMsPerSecond,
    launchesPerSecond: round(LAUNCHES / launchSeconds, 1),
    launchMs,
    launchesRefused: refusals,
    reportMs,
    listsPerSecond: round(times.length / LIST_SECONDS, 0),
    listP50Ms: round(median(times), 1),
    listP99Ms: round(quantile(times, 0.99), 1),
    listMs,
    endsPerSecond: round((LAUNCHES * 1000) / (performance.now() - endStart), 1),
    memoryMB,
  }
}

interface Crowd {
  readonly servers: readonly Server[]
  /** Tokens of people. */
  readonly people: readonly string[]
}

/** A person for each client: launches of one person take turns. */
async function addPeople({ api, process }: Server): Promise<string[]> {
  const password = 'Their-own-pass-1'
  return Promise.all(
    Array.from({ length: CLIENTS }, async (_, index) => {
      const email = `scale-${index}@example.org`
      await api.createUser({ body: { mustChangePassword: false, email, name: email, password } })
      const { token } = await apiOf(process.url).login({ body: { email, password, kind: 'token' } })
      if (token === null) throw new Error('no token')
      return token
    }),
  )
}

/** Clients of all people, at the managers in turn. */
const clientsOf = ({ servers, people }: Crowd): ApiClient[] =>
  people.flatMap((token, index) => {
    const server = servers[index % servers.length]
    return server ? [apiOf(server.process.url, token)] : []
  })

/** Pause of a client that was refused for too much load. */
const REFUSED_MS = 200

/** All clients at once, while there is a next item. @returns how often a manager had too much to do: the client tries again then */
async function share<T>(
  clients: readonly ApiClient[],
  next: () => T | undefined,
  act: (api: ApiClient, item: T) => Promise<void>,
): Promise<number> {
  let refusals = 0
  async function untilDone(api: ApiClient, item: T): Promise<void> {
    try {
      await act(api, item)
    } catch (error) {
      if (!isAppError(error) || error.code !== 'unavailable') throw error
      refusals++
      await wait(REFUSED_MS)
      await untilDone(api, item)
    }
  }
  await Promise.all(
    clients.map(async api => {
      for (let item = next(); item !== undefined; item = next()) await untilDone(api, item)
    }),
  )
  return refusals
}

interface Launched {
  readonly id: SessionId
  /** The client that has launched it. */
  readonly api: ApiClient
}

async function launch(
  clients: readonly ApiClient[],
  count: number,
): Promise<{ readonly launched: readonly Launched[]; readonly refusals: number }> {
  const [image = ''] = CROWD_IMAGE.references
  const left = Array.from({ length: count }, (_, index) => GROUPS[index % GROUPS.length] ?? '')
  const launched: Launched[] = []
  const resources = { cpu: '1', mem: '512m' }
  const refusals = await share(
    clients,
    () => left.pop(),
    async (api, resourceGroup) => {
      const { items } = await api.createSession({ body: { image, resourceGroup, resources } })
      launched.push(...items.map(({ id }) => ({ id, api })))
    },
  )
  return { launched, refusals }
}

async function end(clients: readonly ApiClient[], launched: readonly Launched[]): Promise<void> {
  const left = [...launched]
  // Each by its owner, at the manager of the launch.
  await share(
    clients,
    () => left.pop(),
    async (_, { api, id }) => void (await api.deleteSession({ params: { id } })),
  )
}

async function untilRunning(api: ApiClient, count: number): Promise<void> {
  for (;;) {
    const { sessions } = await api.getResources()
    if (sessions.running === count && (count > 0 || sessions.pending === 0)) return
    await wait(100)
  }
}

/** All managers are killed in one moment and started again at their ports. Seconds until the last agent is back at each. */
async function restartAll(servers: readonly Server[], managers: Managers) {
  const ports = servers.map(({ process }) => new URL(process.url).port)
  const start = performance.now()
  await Promise.all(servers.map(({ process }) => process.kill('SIGKILL')))
  const again = await Promise.all(ports.map(port => startServer(managers, port)))
  const upSeconds = (performance.now() - start) / 1000
  await untilBack(again)
  const seconds = (performance.now() - start) / 1000
  const figures = { upSeconds: round(upSeconds), afterUpSeconds: round(seconds - upSeconds), seconds: round(seconds) }
  return { servers: again, figures }
}
