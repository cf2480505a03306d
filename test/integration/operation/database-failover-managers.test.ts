import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type SessionId } from '#manager/contract'
import { type Manager } from '../../../manager/manager.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startManagers } from '../../fixtures/managers.ts'
import { openCluster } from '../../../manager/cluster/cluster.ts'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { startPostgresPair } from '../../fixtures/postgres-pair.ts'

/** Within which every request is answered, whatever the database does. */
const LIMIT_MS = 10_000
const WORKERS = 4
/** Commits that wait for the standby. */
const WAITING = `select pid from pg_stat_activity where wait_event = 'SyncRep'`

interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface Reply {
  readonly status: number
  readonly text: string
}

/** Answers to a client that repeats its requests at the other manager. */
interface Seen {
  /** Ids that were acknowledged, by the name of the session. */
  readonly launched: Map<string, SessionId>
  /** Sessions whose end was acknowledged. */
  readonly ended: Set<SessionId>
  readonly statuses: Map<number, number>
  readonly causes: Set<string>
  lostAnswers: number
  slowestMs: number
}

/** @param text a problem as the API answers it */
const causeOf = (text: string): string => /database_\w+/.exec(text)?.[0] ?? 'none'

interface Client {
  readonly seen: Seen
  /** Asks one manager after the other until one of them does it. @param isDone by the answer */
  surely(path: string, init: Ask, isDone: (reply: Reply) => boolean): Promise<Reply>
}

function createTestClient(managers: readonly Manager[], token: string): Client {
  const seen: Seen = {
    launched: new Map(),
    ended: new Set(),
    statuses: new Map(),
    causes: new Set(),
    lostAnswers: 0,
    slowestMs: 0,
  }
  let turn = 0

  async function ask(path: string, init: Ask): Promise<Reply> {
    const { url } = managers[turn++ % managers.length] as Manager
    const asked = performance.now()
    const headers = { ...init.headers, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const reply = await fetch(`${url}/api/v1${path}`, { ...init, headers })
    const text = await reply.text()
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - asked)
    seen.statuses.set(reply.status, (seen.statuses.get(reply.status) ?? 0) + 1)
    if (reply.status === 503) seen.causes.add(causeOf(text))
    return { status: reply.status, text }
  }

  return {
    seen,
    async surely(path, init, isDone) {
      for (;;) {
        const reply = await ask(path, init)
        if (!isDone(reply)) {
          expect([reply.status, reply.text]).toEqual([expect.toBeOneOf([200, 409, 503]), reply.text])
          await pause(100)
          continue
        }
        // A part of the answers is lost on the way; the client repeats the request at the other manager.
        if (Math.random() > 0.2) return reply
        seen.lostAnswers++
      }
    },
  }
}

/** Launches sessions, waits until they run, and ends them, until it is told to stop. */
async function work({ seen, surely }: Client, isStopped: () => boolean): Promise<void> {
  while (!isStopped()) {
    const name = `s-${randomUUID()}`
    const body = JSON.stringify({ image: 'berth/python:3.13', name, resources: { cpu: '0.1', mem: '64m' } })
    const launch = { method: 'POST', headers: { 'idempotency-key': name }, body }
    const { text } = await surely('/sessions', launch, ({ status }) => status === 201)
    const { id } = (JSON.parse(text) as { items: [{ id: SessionId }] }).items[0]
    expect(seen.launched.get(name) ?? id).toBe(id)
    seen.launched.set(name, id)
    await surely(
      `/sessions/${id}`,
      {},
      reply => (reply.status === 200 && /"status":"RUNNING"/.test(reply.text)) || isStopped(),
    )
    await surely(`/sessions/${id}`, { method: 'DELETE' }, ({ status }) => status < 300)
    seen.ended.add(id)
  }
}

test('two managers lose and double nothing while the database fails over, comes back, and waits for a frozen standby', async () => {
  await using stack = new AsyncDisposableStack()
  const pair = stack.use(await startPostgresPair())
  const [one, two] = pair.servers
  const managers = stack.use(await startManagers())
  const a = await managers.start({ databaseUrl: pair.url })
  const b = await managers.start({ databaseUrl: pair.url })
  const { path: home } = stack.use(await temporaryDirectory())
  const engine = scriptedEngine()
  const agent = stack.use(await startMeshAgent({ home, engine, join: (await a.createJoinToken()).join }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const { token } = await managers.admin(a)
  await pair.setSynchronous(one, true)

  const client = createTestClient([a, b], token)
  const { seen } = client
  let isStopped = false
  const working = Promise.all(Array.from({ length: WORKERS }, () => work(client, () => isStopped)))
  working.catch(() => (isStopped = true))
  const more = async (count: number) => {
    const before = seen.ended.size
    await expect.poll(() => isStopped || seen.ended.size > before + count).toBe(true)
  }
  const readiness = async () => {
    const texts = await Promise.all([a, b].map(async ({ url }) => (await fetch(`${url}/readyz`)).text()))
    return texts.map(causeOf)
  }
  try {
    await more(5)
    await one.kill()
    await two.promote()
    await pair.setSynchronous(two, false)
    await more(5)
    await one.followOther()
    await pair.setSynchronous(two, true)
    await more(3)
    {
      using _thawed = { [Symbol.dispose]: await one.freeze() }
      await expect.poll(readiness).toEqual(['database_standby_silent', 'database_standby_silent'])
    }
    await more(5)
    // The primary dies while commits wait for the frozen standby: what was not acknowledged may be gone.
    {
      using _thawed = { [Symbol.dispose]: await one.freeze() }
      await expect.poll(() => pair.query(two, WAITING)).not.toEqual([])
      await two.kill()
    }
    await one.promote()
    await pair.setSynchronous(one, false)
    await more(5)
  } finally {
    isStopped = true
    await working
  }
  const rows = await pair.query(one, 'select id, name, status from sessions')
  const kept = new Map(rows.map(row => [String(row.name), String(row.id)]))
  expect(kept.size).toBe(rows.length)
  expect(rows.length).toBe(seen.launched.size)
  for (const [name, id] of seen.launched) expect(kept.get(name)).toBe(id)
  const open = () => pair.query(one, `select id, status from sessions where status not in ('TERMINATED', 'CANCELLED')`)
  await expect.poll(open).toEqual([])
  const failed = await pair.query(one, `select id, status, reason from sessions where status = 'ERROR'`)
  expect(failed).toEqual([])
  await expect.poll(() => engine.containers.size).toBe(0)
  expect(seen.slowestMs).toBeLessThan(LIMIT_MS)
  expect(seen.lostAnswers).toBeGreaterThan(0)
  expect([...seen.causes]).toContain('database_standby_silent')
})

const JOB = 'schedule:default'

/** Two managers that want the same job all the time. */
async function startRivals(databaseUrl: string) {
  await using stack = new AsyncDisposableStack()
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const options = { databaseUrl, log: silentLog }
  const store = stack.use(await openStore({ ...options, dataDir }))
  const rivals = [
    stack.use(await openCluster({ ...options, store, version: '0.1.0' })),
    stack.use(await openCluster({ ...options, store, version: '0.1.0' })),
  ] as const
  const gaps = [0, 0]
  const heard: string[] = []
  for (const [index, { peers }] of rivals.entries()) peers.onGap(() => void gaps[index]!++)
  rivals[1].peers.topic<string>('test').on(message => heard.push(message))
  let both = 0
  const leaders = () => rivals.filter(({ jobLocks }) => jobLocks.holds(JOB)).length
  const wanting = setInterval(() => {
    for (const { jobLocks } of rivals) void jobLocks.take(JOB)
    if (leaders() > 1) both++
  }, 10)
  stack.defer(() => clearInterval(wanting))
  const opened = stack.move()
  return {
    gaps,
    heard,
    leaders,
    tell: (text: string) => rivals[0].peers.topic<string>('test').tell(text),
    timesWithTwo: () => both,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const MOVE = { timeout: 120_000, interval: 20 }

test('there is at most one leader while the primary hangs and is replaced, and nobody follows the old primary when it goes on', async () => {
  await using pair = await startPostgresPair()
  const [one, two] = pair.servers
  await using rivals = await startRivals(pair.url)
  await expect.poll(rivals.leaders, MOVE).toBe(1)
  {
    // A machine that hangs keeps the connections open.
    using _thawed = { [Symbol.dispose]: await one.freeze() }
    await two.promote()
    await expect.poll(rivals.leaders, MOVE).toBe(0)
    await expect.poll(rivals.leaders, MOVE).toBe(1)
    await expect.poll(() => rivals.gaps.every(count => count > 0), MOVE).toBe(true)
    rivals.tell('after the promotion')
    await expect.poll(() => rivals.heard, MOVE).toContain('after the promotion')
  }
  // The old primary goes on, and takes writes: nobody returns to it.
  expect(await pair.query(one, 'select pg_is_in_recovery() as standby')).toEqual([{ standby: false }])
  await two.kill()
  await expect.poll(rivals.leaders, MOVE).toBe(0)
  await pause(2_000)
  expect(rivals.leaders()).toBe(0)
  expect(rivals.timesWithTwo()).toBe(0)
})
