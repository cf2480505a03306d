import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Report } from '#agent/contract'
import { type AgentId } from '#manager/contract'
import { createLiveFigures } from '../../../manager/stats/live.ts'
import { createReports, type ReportsDeps } from '../../../manager/agents/reports.ts'
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
  const nothing = () => undefined
  const reports = createReports({
    store: { db: store.db, now: store.now, transaction },
    events: { publish: nothing, publishStats: nothing },
    changes: { onApplied: nothing, hint: nothing },
    live: createLiveFigures(store.now),
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
