import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type AgentId, KernelId, SessionId, type UserId } from '#manager/contract'
import { createLiveStats } from '../../../manager/stats/live.ts'
import { silentLog } from '../../../manager/log.ts'
import { createSessionChanges } from '../../../manager/sessions/changes.ts'
import { type Termination } from '../../../manager/sessions/lifecycle/lifecycle.ts'
import { startLifetimes } from '../../../manager/sessions/lifetime/start-lifetimes.ts'
import { toSessions } from '../../../manager/sessions/views.ts'
import { insertKernelDevices, insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { isPromised } from '../../../manager/store/sessions/lifetime.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { saveReservation } from '../../../manager/store/quotas/resource-groups.ts'
import { findSession, insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { NO_ACTIVITY, type SessionActivity } from '../../../manager/tunnels/activity.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, insertWaiting, openTestStore, reportCapacity } from '../../fixtures/test-store.ts'

const IDLE = { seconds: 60, cpuMilli: 0, gpuUtilization: 0, diskBytes: 0, netBytes: 0 }
const TIMINGS = { lifetimeSweepMs: 20, idleSeenEveryMs: 60, idleGapMs: 60_000 }

describe('lifetimes', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId
  let agentId: AgentId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
    agentId = await insertAgent(store.db)
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(async () => {
    await store.db.deleteFrom('sessions').execute()
  })

  /** A running session that has been idle for so long. */
  async function anIdleSession(idleSeconds: number, idleTimeoutSeconds: number): Promise<SessionId> {
    const [id, kernelId] = [newId(SessionId), newId(KernelId)]
    const name = `session-${id.slice(-8)}`
    await insertSessions(store.db, [aSessionRow(ownerId, { id, name, idleTimeoutSeconds })])
    await insertKernels(store.db, [{ id: kernelId, sessionId: id, status: 'RUNNING', slots: {}, agentId, attempt: 1 }])
    await sql`update sessions set idle_since = now() - ${idleSeconds} * interval '1 second', idle_seen_at = now()
      where id = ${id}`.execute(store.db)
    return id
  }

  function look(options: { activityOf?: (id: SessionId) => SessionActivity; refused?: SessionId } = {}) {
    const hints: string[] = []
    const ended: { id: SessionId; code: string }[] = []
    const events = { publish: (hint: { id: string }) => void hints.push(hint.id), publishStats: () => undefined }
    const lifecycle = {
      terminate: (id: SessionId, { reason }: Termination) => {
        if (id === options.refused) return Promise.reject(new Error('the database is away'))
        ended.push({ id, code: reason.code })
        return Promise.resolve()
      },
    }
    const running = startLifetimes({
      store,
      presence: { isReady: () => true },
      lifecycle,
      changes: createSessionChanges({ store, events }),
      windowOf: () => IDLE,
      activityOf: options.activityOf ?? (() => NO_ACTIVITY),
      log: silentLog,
      timings: TIMINGS,
    })
    return { hints, ended, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
  }

  const setIdle = (id: SessionId, seconds: number) =>
    sql`update sessions set idle_since = now() - ${seconds} * interval '1 second' where id = ${id}`.execute(store.db)

  test('warnings are sent once each at 15, 5 and 1 minutes before the end', async () => {
    const id = await anIdleSession(60, 3600)
    await using watch = look()
    for (const [minutes, hints] of [
      [46, 1],
      [56, 2],
      [59.5, 3],
    ] as const) {
      await setIdle(id, minutes * 60)
      await expect.poll(() => watch.hints).toHaveLength(hints)
    }
    expect(watch.ended).toEqual([])
    await setIdle(id, 3600)
    await expect.poll(() => watch.ended[0]).toEqual({ id, code: 'idle_timeout' })
    expect(watch.hints).toEqual([id, id, id])
  })

  test('activity withdraws a warning, and the change is published', async () => {
    const id = await anIdleSession(50 * 60, 3600)
    let bytesDown = 0
    await using watch = look({ activityOf: () => ({ ...NO_ACTIVITY, tunnels: 1, bytesDown }) })
    await expect.poll(() => watch.hints).toHaveLength(1)
    bytesDown = 1_000_000
    await expect.poll(() => watch.hints).toHaveLength(2)
    const row = await store.db.selectFrom('sessions').select('idle_since').where('id', '=', id).executeTakeFirst()
    expect(row?.idle_since).toBeNull()
  })

  test('a session that cannot be ended does not delay the ends and warnings of others', async () => {
    const refused = await anIdleSession(7200, 3600)
    const due = await anIdleSession(3600, 3600)
    const warned = await anIdleSession(46 * 60, 3600)
    await using watch = look({ refused })
    await expect.poll(() => watch.ended).toContainEqual({ id: due, code: 'idle_timeout' })
    await expect.poll(() => watch.hints).toEqual([warned])
  })

  test('the remaining time of a session comes from the clock of the database, not from this process', async () => {
    const id = await anIdleSession(1800, 3600)
    const live = createLiveStats(store.now)
    const account = { userId: ownerId, email: 'a@localhost', role: 'user' as const, domain: 'default' }
    const caller = { ...account, scopes: null, loginId: null }
    const deps = { live, presence: { isReady: () => true, mounts: () => undefined }, positionOf: () => null, caller }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3600_000 })
    try {
      const row = await findSession(store.db, id)
      const [session] = await toSessions(store.db, row ? [row] : [], deps)
      expect(session?.ends).toMatchObject({ why: 'idle_timeout', warnedAt: null })
    } finally {
      vi.useRealTimers()
    }
  })

  test('output of a terminal that one manager sees counts as activity for all', async () => {
    const id = await anIdleSession(0, 3)
    let terminalBytesDown = 0
    const timer = setInterval(() => (terminalBytesDown += 10_000), 10)
    await using one = look()
    await using other = look({
      activityOf: of =>
        of === id
          ? { ...NO_ACTIVITY, tunnels: 1, terminals: 1, bytesDown: terminalBytesDown, terminalBytesDown }
          : NO_ACTIVITY,
    })
    const idle = await anIdleSession(0, 4)
    await expect.poll(() => [...one.ended, ...other.ended].map(end => end.id)).toContain(idle)
    clearInterval(timer)
    expect([...one.ended, ...other.ended].map(end => end.id)).not.toContain(id)
  })

  describe('whether a reservation relies on the end of a session', () => {
    const GiB = 2 ** 30
    const gpu = (n: number) => ({ uuid: `GPU-${n}`, slot: 'cuda.device', amount: 1 }) as const

    /** On an agent with 8 CPU and two GPUs; a reservation of the second GPU and so much CPU. */
    async function running(slots: { cpu: number }, device: number, neededCpu: number): Promise<SessionId> {
      await reportCapacity(store.db, agentId, { cpu: 8000, mem: 8 * GiB, 'cuda.device': 2 })
      const [id, kernelId] = [newId(SessionId), newId(KernelId)]
      await insertSessions(store.db, [aSessionRow(ownerId, { id })])
      await insertKernels(store.db, [{ id: kernelId, sessionId: id, status: 'RUNNING', slots, agentId }])
      await insertKernelDevices(store.db, [{ kernel_id: kernelId, agent_id: agentId, ...gpu(device) }])
      const requested = { cpu: neededCpu, 'cuda.device': 1 }
      const [sessionId] = await insertWaiting(store.db, ownerId, [{ name: 'waits', requested, clusterSize: 2 }])
      if (sessionId) await saveReservation(store.db, 'default', { sessionId, agentId, devices: [gpu(1)] })
      return id
    }

    test.each([
      ['the session holds the reserved device', 1, 1000, true],
      ['the agent has too little CPU left without the session', 0, 3500, true],
      ['nothing that the session holds is needed', 0, 3000, false],
    ])('%s', async (_where, device, neededCpu, promised) => {
      expect(await isPromised(store.db, await running({ cpu: 2000 }, device, neededCpu))).toBe(promised)
    })

    test.each([
      ['in the part of its own agent', 2, true],
      ['not in that of another one', 1, false],
    ])('a reservation on several agents counts what each is to hold: %s', async (_where, kernels, promised) => {
      const id = await running({ cpu: 2000 }, 0, 3500)
      const other = await insertAgent(store.db, 'another')
      const [{ session_id: sessionId } = { session_id: undefined }] = await store.db
        .selectFrom('reservations')
        .select('session_id')
        .execute()
      if (!sessionId) throw new Error('no reservation')
      const parts = [
        { agentId: other, kernels: 3 - kernels, devices: [] },
        { agentId, kernels, devices: [] },
      ]
      await saveReservation(store.db, 'default', { sessionId, agentId: other, devices: [], parts })
      expect(await isPromised(store.db, id)).toBe(promised)
    })

    test('no reservation relies on a session that no longer holds anything on the agent', async () => {
      const id = await running({ cpu: 2000 }, 1, 3500)
      await store.db.updateTable('kernels').set({ status: 'TERMINATED' }).where('session_id', '=', id).execute()
      expect(await isPromised(store.db, id)).toBe(false)
    })
  })
})
