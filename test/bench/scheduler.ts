import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentId, KernelId, type ResourceSlots, SessionId, UserId } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { readRights } from '../../manager/sessions/rights/read-rights.ts'
import { commitPlacements } from '../../manager/scheduler/commit.ts'
import {
  type AgentSnapshot,
  concentrated,
  drf,
  fifo,
  type GroupSnapshot,
  type PendingSession,
  plan,
  type Sequencer,
} from '../../manager/scheduler/plan/index.ts'
import { readGroup } from '../../manager/scheduler/snapshot.ts'
import { startScheduler } from '../../manager/scheduler/tick.ts'
import { saveJoinedAgent, saveReportedState } from '../../manager/store/agents/agents.ts'
import { replaceImages } from '../../manager/store/images/images.ts'
import { insertKernels } from '../../manager/store/sessions/kernels.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore, type Store } from '../../manager/store/open-store.ts'
import { findSession, insertSessions } from '../../manager/store/sessions/sessions.ts'
import { insertUser } from '../../manager/store/identity/users.ts'
import { gpus, PYTHON } from '../fixtures/scripted-agent.ts'
import { aSessionRow } from '../fixtures/session-rows.ts'
import { median, round } from './statistics.ts'

const GiB = 2 ** 30
const AGENTS = 1_000
const PENDING = 10_000
const USERS = 100
const CAPACITY: ResourceSlots = { cpu: 64_000, mem: 512 * GiB, 'cuda.device': 8 }
/** Thirty kinds of requests, most for one GPU. */
const KINDS: readonly ResourceSlots[] = Array.from({ length: 30 }, (_, n) => ({
  cpu: 1000 * (1 + (n % 4)),
  mem: (1 + (n % 7)) * 4 * GiB,
  ...(n % 3 === 2 ? {} : { 'cuda.device': n % 10 === 0 ? 2 : 1 }),
}))
const ROUNDS = 3
const presence = {
  isReady: () => true,
  orphans: () => [],
  engineIsDown: () => false,
  isUnfit: () => false,
  storage: () => new Set<string>(),
  architectures: () => undefined,
  clusterAddress: () => undefined,
  restricts: () => false,
}

/** The decision alone, the same committed to PostgreSQL, and how long a request that cannot start waits for its reason. */
export async function benchScheduler() {
  const planPerSecond = {
    fifo: planRate(AGENTS, fifo),
    drf: planRate(AGENTS, drf),
    fifoAllDifferent: planRate(AGENTS, fifo, different),
    drfAllDifferent: planRate(AGENTS, drf, different),
  }
  const growth = [100, 1_000, 10_000].map(agents => {
    return { agents, planPerSecond: planRate(agents, fifo), allDifferent: planRate(agents, fifo, different) }
  })
  const memoryMB = round(process.memoryUsage().rss / 2 ** 20, 0)
  return { scheduler: { planPerSecond, ...(await withDatabase()), growth, memoryMB, agents: AGENTS, pending: PENDING } }
}

/** Placements per second in the best of some rounds: other work on the machine can only slow a round down. */
function planRate(agentCount: number, sequencer: Sequencer, requestOf = kind): number {
  const snapshot = aGroup(agentCount, requestOf)
  let best = 0
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now()
    const { placements } = plan(snapshot, sequencer, concentrated)
    best = Math.max(best, (placements.length * 1000) / (performance.now() - start))
  }
  return round(best, 0)
}

function aGroup(agentCount: number, requestOf: (n: number) => ResourceSlots): GroupSnapshot {
  const images = new Set([PYTHON.id])
  const agents = Array.from({ length: agentCount }, (_, n): AgentSnapshot => {
    const devices = gpus(8).map(({ uuid }) => ({ uuid, slot: 'cuda.device' as const, total: 1, occupied: 0 }))
    const name = `agent-${n}`
    return {
      id: newId(AgentId),
      name,
      capacity: CAPACITY,
      occupied: {},
      devices,
      images,
      schedulable: true,
      connected: true,
    }
  })
  const pending = Array.from({ length: PENDING }, (_, n): PendingSession => ({
    id: newId(SessionId),
    ownerId: `user-${n % USERS}`,
    enqueuedAt: n,
    requested: requestOf(n),
    imageDigest: PYTHON.id,
    image: 'berth/python:3.13',
    failedAgents: [],
  }))
  return { agents, pending, now: PENDING }
}

const kind = (n: number): ResourceSlots => KINDS[n % KINDS.length] ?? {}
/** No two requests are equal, so no cached result of one helps another. */
const different = (n: number): ResourceSlots => ({ ...kind(n), mem: 4 * GiB + n })

async function withDatabase(): Promise<{ commitPerSecond: number; reasonMs: number }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-bench-'))
  try {
    await using store = await openStore({ dataDir, log: silentLog })
    const ownerId = newId(UserId)
    await insertUser(store.db, { id: ownerId, email: 'a@b.c', name: 'A', role: 'user', password_hash: 'x' })
    await joinAgents(store)
    await enqueue(store, ownerId, PENDING, kind)
    const { snapshot, sequencer, selector } = await readGroup(store.db, 'default', presence)
    const { placements } = plan(snapshot, sequencer, selector)
    const start = performance.now()
    const committed = await commitPlacements(store, 'default', placements, { presence, rights: readRights })
    const seconds = (performance.now() - start) / 1000
    return { commitPerSecond: round(committed.length / seconds, 0), reasonMs: await reasonTime(store, ownerId) }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function joinAgents(store: Store): Promise<void> {
  const state = { networkIsolation: 'full', networkIsolationReason: null, version: '1', engineVersion: '29' } as const
  for (let n = 0; n < AGENTS; n++) {
    const id = newId(AgentId)
    await saveJoinedAgent(store.db, { id, name: `agent-${n}`, publicKey: `key-${n}`, resourceGroup: 'default' })
    await saveReportedState(store.db, id, { capacity: CAPACITY, devices: gpus(8), ...state })
    await replaceImages(store.db, id, [PYTHON])
  }
}

async function enqueue(
  store: Store,
  ownerId: UserId,
  count: number,
  requestOf: (n: number) => ResourceSlots,
  prefix = 'session',
): Promise<SessionId[]> {
  const ids = Array.from({ length: count }, () => newId(SessionId))
  for (let start = 0; start < count; start += 500) {
    const batch = ids.slice(start, start + 500)
    await insertSessions(
      store.db,
      batch.map((id, index) =>
        aSessionRow(ownerId, {
          id,
          name: `${prefix}-${start + index}`,
          status: 'PENDING',
          reason: { code: 'requested', message: 'It was asked for.' },
          image: 'berth/python:3.13',
          imageDigest: PYTHON.id,
          requested: requestOf(start + index),
        }),
      ),
    )
    await insertKernels(
      store.db,
      batch.map((sessionId, index) => {
        return { id: newId(KernelId), sessionId, status: 'PENDING', slots: requestOf(start + index) }
      }),
    )
  }
  return ids
}

/** Time from the request to its reason in the database, while all sessions that were not placed keep waiting. */
async function reasonTime(store: Store, ownerId: UserId): Promise<number> {
  await using scheduler = startScheduler({
    store,
    presence,
    rights: readRights,
    start: () => undefined,
    cancel: () => Promise.resolve(),
    hint: () => undefined,
    log: silentLog,
    slowTickMs: 3_600_000,
  })
  await scheduler.settled()
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const start = performance.now()
    const [id] = await enqueue(store, ownerId, 1, () => ({ cpu: 64_000, mem: GiB, 'cuda.device': 8 }), `late-${i}`)
    scheduler.trigger()
    await scheduler.settled()
    const session = id && (await findSession(store.db, id))
    if (!session || session.reason.code === 'requested') throw new Error('no reason was written')
    times.push(performance.now() - start)
  }
  return round(median(times), 0)
}
