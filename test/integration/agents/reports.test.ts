import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Report } from '#agent/contract'
import { type AgentId, because, type Because } from '#manager/contract'
import { createLiveStats } from '../../../manager/stats/live.ts'
import { createReports, type ReportsDeps } from '../../../manager/agents/reports.ts'
import { type FaultMemory } from '../../../manager/agents/agent-memory.ts'
import { createFaultTeller, type HostNews } from '../../../manager/agents/tell-faults.ts'
import { silentLog } from '../../../manager/log.ts'
import { findAgent } from '../../../manager/store/agents/agents.ts'
import { readImageDigests, replaceImages } from '../../../manager/store/images/images.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

const stack = new AsyncDisposableStack()
let store: Store
let agentId: AgentId

beforeAll(async () => {
  ;({ store } = stack.use(await openTestStore()))
  agentId = await insertAgent(store.db)
})
afterAll(() => stack.disposeAsync())

const nothing = () => undefined

const aReport = (more: Partial<Report> = {}): Report => ({
  type: 'report',
  sequence: 1,
  version: '1',
  engine: { version: '29', reachable: true },
  capacity: { cpu: 1000, mem: 1 },
  devices: [],
  kernels: [],
  network: { isolation: 'full', reason: null },
  clockMs: Date.now(),
  ...more,
})

test('images whose write failed are written with the next report', async () => {
  let failures = 1
  const transaction: Store['transaction'] = work =>
    failures-- > 0 ? Promise.reject(new Error('Connection terminated unexpectedly')) : store.transaction(work)
  const reports = createReports({
    store: { db: store.db, now: store.now, transaction },
    events: { publish: nothing, publishStats: nothing },
    changes: { onApplied: nothing, hint: nothing },
    live: createLiveStats(store.now),
    isRestored: () => Promise.resolve(false),
    log: silentLog,
    onAgentChanged: nothing,
  } as unknown as ReportsDeps)
  const tell = (report: Report) => reports.message(agentId, report, performance.now(), [])
  await tell(aReport({ images: [PYTHON] }))
  expect((await findAgent(store.db, agentId))?.problem).toContain('list of its images could not be saved')
  await tell(aReport())
  expect((await findAgent(store.db, agentId))?.problem).toBeNull()
  expect([...((await readImageDigests(store.db, [agentId])).get(agentId) ?? [])]).toContain(PYTHON.id)
})

test('an agent may hold more images than a statement may have parameters', async () => {
  const images = Array.from({ length: 22_000 }, (_, i) => ({ ...PYTHON, id: `sha256:${i}` }))
  await replaceImages(store.db, agentId, images)
  expect((await readImageDigests(store.db, [agentId])).get(agentId)?.size).toBe(22_000)
})

test('a fault of a host and its end are told once, whichever manager sees them, and not while they only flicker', async () => {
  const told: HostNews[] = []
  const tell = (news: HostNews) => Promise.resolve(void told.push(news))
  const fault = because('host_disk_short')
  const aManager = (timings = { faultMs: 0, wellMs: 0 }) => {
    const note = createFaultTeller({ store, tell, log: silentLog, timings })
    const memory: { fault: FaultMemory | undefined } = { fault: undefined }
    return (now: Because | null) => note(agentId, memory, now)
  }
  const patient = aManager({ faultMs: 60_000, wellMs: 60_000 })
  for (const now of [fault, null, fault]) await patient(now)
  expect(told).toEqual([])
  const one = aManager()
  for (const now of [null, fault, fault]) await one(now)
  // After a restart, or at another manager.
  await aManager()(fault)
  expect(told).toEqual([{ host: expect.any(String) as string, fault }])
  await patient(null)
  expect(told).toHaveLength(1)
  await one(null)
  await aManager()(null)
  expect(told.slice(1)).toEqual([{ host: told[0]?.host, fault: null }])
})

test('a host without an answer of Docker is one that superadmins are told about', async () => {
  const told: HostNews[] = []
  const reports = createReports({
    store,
    events: { publish: nothing, publishStats: nothing },
    changes: { onApplied: nothing, hint: nothing },
    live: createLiveStats(store.now),
    isRestored: () => Promise.resolve(false),
    log: silentLog,
    onAgentChanged: nothing,
    tellHost: (news: HostNews) => Promise.resolve(void told.push(news)),
    faultTimings: { faultMs: 0 },
  } as unknown as ReportsDeps)
  const engine = { ...aReport().engine, reachable: false }
  await reports.message(agentId, aReport({ engine }), performance.now(), [])
  expect(told).toMatchObject([{ fault: { cause: 'docker_silent' } }])
})
