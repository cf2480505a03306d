import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, createClient, isFinished, type Session, type SessionId } from '#manager/contract'
import { type AgentProcess, spawnAgent } from '../fixtures/agent-process.ts'
import { fetchThrough } from '../fixtures/chaos-world.ts'
import { type Door, type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { TINY_IMAGE, tinyImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { ADMIN } from '../fixtures/manager.ts'
import { type ManagerProcess, type Managers, startManagers } from '../fixtures/managers.ts'
import { removeData } from '../fixtures/unmount-below.ts'

/**
 * Three managers on one database, an agent and a Docker Engine. Under a steady load of sessions that are requested and ended at any of
 * them, a random one of the five is killed (or stopped for a while) every one or two seconds, for BERTH_CHAOS_SECONDS. Afterwards nothing
 * may be lost, doubled or held twice. BERTH_CHAOS_SEED repeats a run's choices.
 */
const SECONDS = Number(process.env.BERTH_CHAOS_SECONDS ?? 60)
const SEED = Number(process.env.BERTH_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const COUNT = 3
const MOST_LIVE = 16
const LOADERS = 6
const GPUS = ['SIM-0', 'SIM-1']

const random = mulberry32(SEED)
const between = (low: number, high: number) => low + random() * (high - low)
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T

const stack = new AsyncDisposableStack()
let engine: Engine
let managers: Managers
let agent: AgentProcess
let token = ''
let directory: string
const doors: Door[] = []
const running: (ManagerProcess | undefined)[] = []

beforeAll(async () => {
  await tinyImage()
  engine = stack.use(await startEngine())
  await Promise.all([TOOLBOX_IMAGE, TINY_IMAGE].map(image => engine.load(image)))
  directory = await mkdtemp(join(tmpdir(), 'berth-test-chaos-'))
  stack.defer(() => removeData(directory))
  await writeFile(
    join(directory, 'gpus.toml'),
    GPUS.map(uuid => `[[gpu]]\nuuid = "${uuid}"\nmode = "shared"\n`).join('\n'),
  )
  managers = stack.use(await startManagers())
  for (let index = 0; index < COUNT; index++) {
    const manager = await managers.spawn({}, engine.prefix)
    running.push(manager)
    doors.push(stack.use(await engine.door(portOf(manager))))
  }
  const { token: given } = await clientOf(0).login({ body: { ...ADMIN, kind: 'token' } })
  token = given ?? ''
  const { join: invitation } = await (running[0] as ManagerProcess).createJoinToken()
  await startAgent({ BERTH_JOIN: invitation })
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
}, 300_000)
afterAll(async () => {
  await (agent as AgentProcess | undefined)?.[Symbol.asyncDispose]()
  await stack.disposeAsync()
}, 120_000)

const portOf = ({ url }: { url: string }) => Number(new URL(url).port)
const addresses: string[] = []

function clientOf(index: number): ApiClient {
  const manager = running[index]
  if (manager) addresses[index] = manager.url
  return createClient({
    baseUrl: addresses[index] ?? '',
    headers: (): Record<string, string> => (token === '' ? {} : { authorization: `Bearer ${token}` }),
    fetch: fetchThrough(doors[index]?.path ?? ''),
  })
}

async function startAgent(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  agent = await spawnAgent(
    {
      data: join(directory, 'agent'),
      claimVolume: 'berth-agent',
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    { DOCKER_HOST: engine.host, BERTH_SIMULATED_GPUS: join(directory, 'gpus.toml'), ...environment },
    engine.prefix,
  )
  agent.firstLine.then(
    line => note(`agent: ${JSON.stringify(line)}`),
    (error: unknown) => note(`agent: ${String(error)}`),
  )
}

// --- attacks on the processes

const log: string[] = []
const startedAt = Date.now()
const note = (text: string) => log.push(`${((Date.now() - startedAt) / 1000).toFixed(1)} ${text}`)
const busy = new Set<string>()
const work = new Set<Promise<void>>()

/** Each of the five processes suffers one action at a time. */
function begin(what: string, act: () => Promise<void>): void {
  if (busy.has(what)) return
  busy.add(what)
  const task = act()
    .catch((error: unknown) => void note(`${what} failed: ${String(error)}`))
    .finally(() => {
      busy.delete(what)
      work.delete(task)
    })
  work.add(task)
}

function killManager(index: number): void {
  begin(`manager ${index}`, async () => {
    const manager = running[index]
    if (!manager) return
    note(`kill manager ${index}`)
    running[index] = undefined
    await manager.kill('SIGKILL')
    await pause(between(0, 4_000))
    running[index] = await managers.spawn({ BERTH_PORT: String(portOf(manager)) }, engine.prefix)
    note(`manager ${index} is back`)
  })
}

function stopManager(index: number): void {
  begin(`manager ${index}`, async () => {
    note(`stop manager ${index}`)
    await running[index]?.kill('SIGSTOP')
    await pause(between(1_000, 6_000))
    await running[index]?.kill('SIGCONT')
  })
}

function killAgent(): void {
  begin('agent', async () => {
    note('kill agent')
    agent.kill('SIGKILL')
    await agent.exited
    await pause(between(0, 3_000))
    await startAgent()
  })
}

function killEngine(): void {
  begin('engine', async () => {
    note('kill engine')
    await engine.kill()
    await pause(between(0, 1_500))
    await engine.start()
  })
}

async function wreak(until: number): Promise<void> {
  const acts = [
    ...Array.from({ length: COUNT }, (_, index) => () => killManager(index)),
    ...Array.from({ length: COUNT }, (_, index) => () => stopManager(index)),
    killAgent,
    killAgent,
    killEngine,
  ]
  while (Date.now() < until) {
    pick(acts)()
    await pause(between(1_000, 2_500))
  }
  await Promise.all(work)
}

// --- the load

const ended = new Set<SessionId>()
let asked = 0

async function load(until: number): Promise<void> {
  while (Date.now() < until) {
    await pause(between(100, 500))
    const api = clientOf(Math.floor(random() * COUNT))
    try {
      const { items } = await timed(api.listSessions({ query: { status: 'live', limit: 100 } }))
      if (items.length > between(0, MOST_LIVE)) {
        const { id } = pick(items)
        await timed(api.deleteSession({ params: { id } }))
        ended.add(id)
      } else {
        const resources = { cpu: '0.05', mem: '32m', 'cuda.shares': pick(['0.1', '0.2', '0.3']) }
        const { items: made } = await timed(api.createSession({ body: { image: TINY_IMAGE, resources, count: 2 } }))
        asked += made.length
      }
    } catch {
      // The manager is down. It may or may not have received the request; its writes are checked at the end.
    }
  }
}

function timed<T>(call: Promise<T>): Promise<T> {
  return Promise.race([call, pause(3_000, undefined, { ref: false }).then(() => Promise.reject(new Error('late')))])
}

// --- conditions that must hold at the end

async function all(api: ApiClient): Promise<Session[]> {
  const sessions: Session[] = []
  let cursor: string | undefined
  do {
    const page = await api.listSessions({ query: { limit: 500, ...defined({ cursor }) } })
    sessions.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return sessions
}

interface Label {
  readonly kernelId: string
  readonly devices: readonly { readonly uuid: string; readonly amount: number }[]
}

async function containers(): Promise<{ state: string; label: Label }[]> {
  const lines = await engine.docker(
    ...['ps', '-a', '--filter', 'label=berth.kernel', '--format', '{{.State}} {{.Label "berth.kernel"}}'],
  )
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => ({ state: line.split(' ')[0] ?? '', label: JSON.parse(line.slice(line.indexOf(' ') + 1)) as Label }))
}

function sumByDevice(devices: readonly { readonly uuid: string; readonly amount: number }[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { uuid, amount } of devices) sums[uuid] = (sums[uuid] ?? 0) + amount
  return sums
}

async function heldInDatabase(): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: managers.databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ uuid: string; amount: number }>(
      `select d.uuid, sum(d.amount)::int as amount from kernel_devices d join kernels k on k.id = d.kernel_id
       where k.status in ('SCHEDULED', 'PREPARING', 'PULLING', 'RUNNING', 'TERMINATING') group by d.uuid`,
    )
    return sumByDevice(rows)
  } finally {
    await client.end()
  }
}

test(
  'whatever is killed, in any order: no session is lost or duplicated, no device is given twice, usage equals reality',
  { timeout: SECONDS * 1000 + 300_000 },
  async () => {
    console.log(`BERTH_CHAOS_SEED=${SEED}`)
    const until = Date.now() + SECONDS * 1000
    await Promise.all([wreak(until), ...Array.from({ length: LOADERS }, () => load(until))])
    const api = clientOf(0)
    try {
      const settled = async () => (await all(api)).map(({ status }) => status).filter(isPassing)
      await expect.poll(settled, { timeout: 120_000, interval: 250 }).toEqual([])

      const sessions = await all(api)
      const live = sessions.filter(({ status }) => !isFinished(status))
      const failed = sessions.filter(({ status }) => status === 'ERROR')
      console.log(
        `asked for ${asked}, there are ${sessions.length}: ${live.length} run, ${failed.length} could not be started, ` +
          `${log.filter(line => /kill|stop/.test(line)).length} blows`,
      )
      expect(sessions.length).toBeGreaterThanOrEqual(asked)
      // Sessions ended only on request; those that could not start were tried three times.
      const strange = sessions.filter(
        ({ id, status, reason }) =>
          (status === 'TERMINATED' || status === 'CANCELLED') && !ended.has(id) && reason.code !== 'user_terminated',
      )
      expect(strange.map(({ id, reason }) => ({ id, reason }))).toEqual([])
      for (const { id } of failed) {
        const { items } = await api.listSessionEvents({ params: { id } })
        expect(items.filter(({ to }) => to === 'PENDING').length).toBeGreaterThanOrEqual(3)
      }

      const kernels = live.flatMap(session => session.kernels.map(kernel => kernel.id as string)).toSorted()
      const onEngine = async () => (await containers()).map(({ label }) => label.kernelId).toSorted()
      await expect.poll(onEngine, { timeout: 30_000 }).toEqual(kernels)
      const found = await containers()
      expect(new Set(found.map(({ state }) => state))).toEqual(new Set(found.length > 0 ? ['running'] : []))
      const held = sumByDevice(found.flatMap(({ label }) => label.devices))
      for (const amount of Object.values(held)) expect(amount).toBeLessThanOrEqual(100)
      expect(await heldInDatabase()).toEqual(held)
      expect((await api.recalculateUsage()).findings).toEqual([])
      for (let index = 0; index < COUNT; index++) {
        expect((await all(clientOf(index))).map(({ id, status }) => [id, status])).toEqual(
          sessions.map(({ id, status }) => [id, status]),
        )
      }
      for (const { id } of live) await api.deleteSession({ params: { id } })
      await expect.poll(onEngine, { timeout: 60_000 }).toEqual([])
    } catch (error) {
      console.log(log.join('\n'))
      const agentLog = await readFile(join(directory, 'agent', 'agent.log'), 'utf8').catch(String)
      console.log(agentLog.slice(-8_000))
      throw error
    }
  },
)

function isPassing(status: Session['status']): boolean {
  return status !== 'RUNNING' && !isFinished(status)
}

/** A small pseudo-random generator with a seed. */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
