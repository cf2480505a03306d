import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { KernelId, SessionId, type UserId } from '#manager/contract'
import { createLiveStats } from '../../../manager/stats/live.ts'
import { silentLog } from '../../../manager/log.ts'
import { readHistory } from '../../../manager/stats/history.ts'
import { startStatsRecorder } from '../../../manager/stats/recorder.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { deleteOutdated } from '../../../manager/store/operation/retention.ts'
import { insertMinutes, listMinutes, readLastMinutes } from '../../../manager/store/sessions/session-stats.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { type StatsMinute } from '../../../manager/store/tables/operation.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { pulse, STILL } from '../../fixtures/pulse.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

const MINUTE = 60_000
const SOON = { timeout: 120_000 }
const EVER = [new Date(0), new Date(Date.UTC(2200, 0))] as const

describe('minutes of statistics', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
  })
  afterAll(() => stack.disposeAsync())

  async function sessions(count: number): Promise<SessionId[]> {
    const ids = Array.from({ length: count }, () => newId(SessionId))
    // A statement has 65,535 parameters at most.
    for (let at = 0; at < count; at += 500) {
      await insertSessions(
        store.db,
        ids.slice(at, at + 500).map(id => aSessionRow(ownerId, { id })),
      )
    }
    return ids
  }
  const minute = (change: Partial<StatsMinute> = {}): StatsMinute => {
    const { cpuSeconds = 0, ...still } = STILL
    return { ...still, cpuSeconds, samples: 60, ...change }
  }
  const write = (sessionId: SessionId, ageMinutes: number, change: Partial<StatsMinute> = {}) =>
    insertMinutes(store.db, [{ sessionId, stats: minute(change) }], ageMinutes * MINUTE)

  test('of two records of one minute the fuller one is kept, with the larger totals', async () => {
    const [id] = await sessions(1)
    if (!id) throw new Error('no session')
    await write(id, 3, { samples: 40, cpuMilli: 100, cpuSeconds: 5 })
    await write(id, 3, { samples: 15, cpuMilli: 999, cpuSeconds: 9 })
    const [row] = await listMinutes(store.db, { id }, ...EVER)
    expect(row?.stats).toMatchObject({ samples: 40, cpuMilli: 100, cpuSeconds: 9 })
    await write(id, 3, { samples: 60, cpuMilli: 50, cpuSeconds: 7 })
    const rows = await listMinutes(store.db, { id }, ...EVER)
    expect(rows.map(one => one.stats)).toMatchObject([{ samples: 60, cpuMilli: 50, cpuSeconds: 9 }])
  })

  test('minutes older than 7 days are deleted, except the last one of each session, which holds its totals', async () => {
    const [long = newId(SessionId), old = newId(SessionId)] = await sessions(2)
    const day = 24 * 60
    for (const age of [9 * day, 8 * day, 6 * day]) await write(long, age, { cpuSeconds: 10 * day - age })
    for (const age of [30 * day, 20 * day]) await write(old, age, { cpuSeconds: 30 * day - age })
    expect(await deleteOutdated(store.db, 'session_stats_minutes', 1000)).toBe(3)
    expect(await listMinutes(store.db, { id: long }, ...EVER)).toHaveLength(1)
    expect((await readLastMinutes(store.db, [long, old])).get(old)?.cpuSeconds).toBe(10 * day)
  })

  test('figures of an ended session are available by the minute and by the hour', async () => {
    const [id = newId(SessionId)] = await sessions(1)
    for (let age = 120; age > 0; age--) await write(id, age, { cpuMilli: age > 60 ? 100 : 300, netRxBytes: 1000 - age })
    const live = createLiveStats(store.now)
    const from = new Date(Date.now() - 3 * 60 * MINUTE).toISOString()
    const minutes = await readHistory({ store, live }, { id, kernels: [] }, { from })
    expect(minutes).toMatchObject({ step: 60 })
    expect(minutes.items).toHaveLength(120)
    const hours = await readHistory({ store, live }, { id, kernels: [] }, { from, step: 3600 })
    expect(hours.items.length).toBeLessThanOrEqual(3)
    expect(hours.items.at(-1)?.netRxBytes).toBe(999)
  })

  test('the clock of the manager process has no influence', async () => {
    const [id = newId(SessionId)] = await sessions(1)
    await write(id, 2, { cpuMilli: 100 })
    const kernelId = newId(KernelId)
    const before = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now: before + 60 * MINUTE })
    try {
      const live = createLiveStats(store.now)
      live.addStats(kernelId, { ...STILL, at: '2001-01-01T00:00:00.000Z', cpuMilli: 7 })
      const ask = (ageMs: number) =>
        readHistory({ store, live }, { id, kernels: [kernelId] }, { from: new Date(before - ageMs).toISOString() })
      const seconds = await ask(4 * MINUTE)
      expect(seconds).toMatchObject({ step: 1, items: [{ cpuMilli: 7 }] })
      const minutes = await ask(30 * MINUTE)
      expect(minutes).toMatchObject({ step: 60, items: [{ cpuMilli: 100 }, { cpuMilli: 7 }] })
      const apart = Date.parse(minutes.items[1]?.at ?? '') - Date.parse(minutes.items[0]?.at ?? '')
      expect(apart).toBe(2 * MINUTE)
    } finally {
      vi.useRealTimers()
    }
  })

  test('minutes of 2,000 sessions are one statement, and their memory is bounded', async () => {
    const ids = await sessions(2000)
    const live = createLiveStats(store.now)
    const recorder = startStatsRecorder({ store, log: silentLog })
    const kernels = ids.map(() => newId(KernelId))
    const before = process.memoryUsage().arrayBuffers
    for (let second = 0; second < 400; second++) {
      const stats = { ...STILL, at: new Date().toISOString(), cpuMilli: second }
      ids.forEach((id, index) => {
        const kernel = kernels[index] ?? newId(KernelId)
        live.addStats(kernel, stats)
        if (second >= 340) recorder.add({ sessionId: id, siblings: [kernel], slots: {} }, kernel, stats)
      })
    }
    const perSession = (process.memoryUsage().arrayBuffers - before) / ids.length
    expect(perSession).toBeLessThan(32 * 1024)
    expect(live.recentStats(kernels[0] ?? newId(KernelId))).toHaveLength(300)
    const started = performance.now()
    await recorder[Symbol.asyncDispose]()
    const took = performance.now() - started
    console.log(`2,000 minutes written in ${Math.round(took)} ms; ${Math.round(perSession / 1024)} KiB per session`)
    expect(took).toBeLessThan(5_000)
    const { rows } = await sql<{ count: number }>`
      select count(*) from session_stats_minutes where session_id = any(${ids}::uuid[])`.execute(store.db)
    expect(rows[0]?.count).toBe(2000)
  })

  test('an ended kernel counts towards its session until the session ends', async () => {
    const [id = newId(SessionId)] = await sessions(1)
    const siblings = [newId(KernelId), newId(KernelId)] as const
    const [main, sub] = siblings
    const usedInAll = async () => (await readLastMinutes(store.db, [id])).get(id)?.cpuSeconds
    await using recorder = startStatsRecorder({ store, log: silentLog, minuteMs: 2_000 })
    const add = (kernel: KernelId, cpuSeconds: number) =>
      recorder.add({ sessionId: id, siblings, slots: {} }, kernel, {
        ...STILL,
        at: new Date().toISOString(),
        cpuSeconds,
      })
    add(main, 1)
    add(sub, 100)
    await expect.poll(usedInAll, SOON).toBe(101)
    add(main, 5)
    recorder.end(id)
    await expect.poll(usedInAll, SOON).toBe(105)
  })

  test('an ended kernel still counts after restarts', async () => {
    const [id = newId(SessionId)] = await sessions(1)
    const siblings = [newId(KernelId), newId(KernelId), newId(KernelId)]
    /** Usage of each session at the end of one run of the manager; each run has its own minute. */
    async function run(...used: (number | undefined)[]) {
      // Moves rows far away and back: rows two minutes apart would collide, in whatever order PostgreSQL updates them.
      for (const by of ['-1000 days', '1000 days -2 minutes'])
        await sql`update session_stats_minutes set minute = minute + ${by}::interval`.execute(store.db)
      await using recorder = startStatsRecorder({ store, log: silentLog })
      siblings.forEach((kernel, index) => {
        const cpuSeconds = used[index]
        if (cpuSeconds === undefined) return
        const stats = { ...STILL, at: new Date().toISOString(), cpuSeconds, memPeakBytes: 10 }
        recorder.add({ sessionId: id, siblings, slots: {} }, kernel, stats)
      })
    }
    const usedInAll = async () => (await readLastMinutes(store.db, [id])).get(id)
    await run(1, 100, 200)
    await run(5, undefined, 300)
    expect(await usedInAll()).toMatchObject({ cpuSeconds: 405, memPeakBytes: 30 })
    await run(7)
    expect(await usedInAll()).toMatchObject({ cpuSeconds: 407, memPeakBytes: 30 })
  })

  test('each kernel of a session has figures of its own, whichever managers measured them', async () => {
    const [id = newId(SessionId)] = await sessions(1)
    const siblings = [newId(KernelId), newId(KernelId)] as const
    const [main, sub] = siblings
    const gpus = [{ uuid: 'GPU-a', utilization: null, memBytes: 5 }]
    const measure = async (kernels: readonly KernelId[], cpuMilli: number) => {
      await using recorder = startStatsRecorder({ store, log: silentLog })
      for (const kernel of kernels)
        recorder.add({ sessionId: id, siblings, slots: {} }, kernel, {
          ...STILL,
          at: new Date().toISOString(),
          cpuMilli: kernel === main ? cpuMilli : cpuMilli * 10,
          gpus,
        })
    }
    const figuresOf = async (kernel: KernelId) =>
      (await listMinutes(store.db, { id, kernel }, ...EVER)).map(({ stats }) => stats.cpuMilli)
    await measure(siblings, 7)
    expect(await figuresOf(main)).toEqual([7])
    // The second record of the minute is by a manager to which the agent of the other kernel is not connected.
    await measure([main], 9)
    expect(await figuresOf(main)).toEqual([9])
    expect(await figuresOf(sub)).toEqual([70])
    expect((await listMinutes(store.db, { id, kernel: sub }, ...EVER))[0]?.stats.gpus).toEqual(gpus)
    expect((await listMinutes(store.db, { id }, ...EVER))[0]?.stats).toMatchObject({ cpuMilli: 77 })
  })

  test('the last figures of each of many sessions that end at once are kept', async () => {
    const ids = await sessions(40)
    await using recorder = startStatsRecorder({ store, log: silentLog })
    for (const sessionId of ids) {
      const kernel = newId(KernelId)
      const stats = { ...STILL, at: new Date().toISOString(), cpuSeconds: 7 }
      recorder.add({ sessionId, siblings: [kernel], slots: {} }, kernel, stats)
    }
    for (const id of ids) recorder.end(id)
    await expect
      .poll(async () => [...(await readLastMinutes(store.db, ids)).values()].map(stats => stats.cpuSeconds), SOON)
      .toEqual(ids.map(() => 7))
  })
})

describe('figures of a session over time', () => {
  let cluster: SessionsCluster
  beforeAll(async () => {
    cluster = await startSessionsCluster()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test('figures by the second are available at once; by the minute, after a restart and after the end too', async () => {
    const agent = await cluster.join()
    const { id } = await cluster.launch()
    const session = await cluster.reach(id, 'RUNNING')
    const kernelId = session.kernels[0]?.id
    if (!kernelId) throw new Error('no kernel')
    const beat = pulse(agent, kernelId, { cpuMilli: 250, cpuSeconds: 12, memPeakBytes: 7_000_000 })
    const params = { id }
    const recent = () => new Date(Date.now() - 4 * MINUTE).toISOString()
    await expect
      .poll(async () => (await cluster.api.getSessionStats({ params, query: { from: recent() } })).items.length, SOON)
      .toBeGreaterThan(2)
    const fine = await cluster.api.getSessionStats({ params, query: { from: recent() } })
    expect(fine).toMatchObject({ step: 1 })
    expect(fine.items[0]).toMatchObject({ cpuMilli: 250 })
    // By the manager's clock, whatever the agent's says.
    expect(Math.abs(Date.now() - Date.parse(fine.items.at(-1)?.at ?? ''))).toBeLessThan(MINUTE)
    expect((await cluster.api.getSession({ params })).usage).toMatchObject({ cpuSeconds: 12, memPeakBytes: 7_000_000 })

    beat[Symbol.dispose]()
    await cluster.restart(() => agent.disconnect())
    const byMinute = await cluster.api.getSessionStats({ params, query: {} })
    expect(byMinute.step).toBe(60)
    expect(byMinute.items.at(-1)).toMatchObject({ cpuMilli: 250, cpuSeconds: 12 })
    expect((await cluster.api.getSession({ params })).usage).toMatchObject({ cpuSeconds: 12 })

    await agent.connect()
    const again = pulse(agent, kernelId, { cpuMilli: 500, cpuSeconds: 20, memPeakBytes: 7_000_000 })
    await expect.poll(async () => (await cluster.api.getSession({ params })).stats?.cpuMilli, SOON).toBe(500)
    again[Symbol.dispose]()
    await cluster.api.deleteSession({ params })
    await cluster.reach(id, 'TERMINATED')
    await expect.poll(async () => (await cluster.api.getSession({ params })).usage?.cpuSeconds, SOON).toBe(20)
  })
  test('figures of one container are by its role or id, by the second and by the minute', async () => {
    await cluster.reset()
    const agent = await cluster.join()
    const { id } = await cluster.launch({ clusterSize: 2 })
    const { kernels } = await cluster.reach(id, 'RUNNING')
    const [main, sub] = kernels
    if (!main || !sub) throw new Error('no kernels')
    const beats = [pulse(agent, main.id, { cpuMilli: 30 }), pulse(agent, sub.id, { cpuMilli: 400 })]
    const params = { id }
    const ask = async (kernel: string | undefined, from?: string) => {
      const query = { ...(from ? { from } : {}), ...(kernel ? { kernel } : {}) }
      return (await cluster.api.getSessionStats({ params, query })).items.at(-1)?.cpuMilli
    }
    const recent = new Date(Date.now() - 4 * MINUTE).toISOString()
    await expect.poll(() => ask('sub1', recent), SOON).toBe(400)
    await expect.poll(() => ask(main.id, recent), SOON).toBe(30)
    await expect.poll(() => ask(undefined, recent), SOON).toBe(430)
    for (const beat of beats) beat[Symbol.dispose]()
    await cluster.restart(() => agent.disconnect())
    expect(await Promise.all(['main1', 'sub1', undefined].map(kernel => ask(kernel)))).toEqual([30, 400, 430])
    await expect(ask('sub2')).rejects.toMatchObject({ code: 'kernel_not_found' })
  })
})
