import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type KernelId, type Session, type SessionSpec } from '#manager/contract'
import { pulse, type Pulse } from '../../fixtures/pulse.ts'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** A real minute is a second here. */
const TIMINGS = {
  sweepMs: 50,
  graceMs: 100,
  slowTickMs: 500,
  agentLostMs: 60_000,
  lifetimeSweepMs: 50,
  idleWindowMs: 600,
  idleFreshMs: 400,
  idleSeenEveryMs: 200,
  idleGapMs: 600,
}

let cluster: SessionsCluster
let agent: ScriptedAgent
const pulses: Pulse[] = []
beforeAll(async () => {
  cluster = await startSessionsCluster(TIMINGS)
})
afterEach(async () => {
  for (const one of pulses.splice(0)) one[Symbol.dispose]()
  await cluster.reset()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const get = (id: Session['id']) => cluster.api.getSession({ params: { id } })

/** A running session with statistics from its agent. */
async function living(spec: Partial<SessionSpec>, on = agent, figures = {}) {
  const { id } = await cluster.launch(spec)
  const session = await cluster.reach(id, 'RUNNING')
  const kernelId = session.kernels[0]?.id as KernelId
  const beat = pulse(on, kernelId, figures)
  pulses.push(beat)
  return { id, session, kernelId, beat }
}

describe('the idle timeout', () => {
  test('an idle session is ended, and its timeline says so', async () => {
    agent = await cluster.join()
    const { id } = await living({ idleTimeoutSeconds: 2 })
    await expect.poll(async () => (await get(id)).ends?.why).toBe('idle_timeout')
    const session = await cluster.reach(id, 'TERMINATED')
    expect(session.reason).toMatchObject({ code: 'idle_timeout' })
    expect(session.reason.message).toContain('2 seconds')
    const { items } = await cluster.api.listSessionEvents({ params: { id } })
    expect(items.find(event => event.to === 'TERMINATING')).toMatchObject({
      reason: { code: 'idle_timeout' },
      actor: null,
    })
    const audited = await cluster.api.listAuditLog({ query: { target: `session:${id}`, action: 'endSession' } })
    expect(audited.items).toMatchObject([{ actor: null, result: 'ok', detail: { why: 'idle_timeout' } }])
  })

  test.each([
    ['CPU', { cpuMilli: 500 }],
    ['a GPU', { gpus: [{ uuid: 'GPU-0', utilization: 50, memBytes: 0 }] }],
  ])('a session that uses %s is spared until it stops', async (_what, figures) => {
    agent = await cluster.join()
    const busy = await living({ idleTimeoutSeconds: 1 }, agent, figures)
    const idle = await living({ idleTimeoutSeconds: 2 })
    await cluster.reach(idle.id, 'TERMINATED')
    expect(await get(busy.id)).toMatchObject({ status: 'RUNNING', ends: null })
    busy.beat.figures = {
      ...busy.beat.figures,
      cpuMilli: 0,
      gpus: busy.beat.figures.gpus.map(gpu => ({ ...gpu, utilization: 0 })),
    }
    await cluster.reach(busy.id, 'TERMINATED')
  })

  test.each(['netRxBytes', 'diskWriteBytes'] as const)('a session whose %s grow is spared', async field => {
    agent = await cluster.join()
    const busy = await living({ idleTimeoutSeconds: 1 })
    const timer = setInterval(() => {
      busy.beat.figures = { ...busy.beat.figures, [field]: busy.beat.figures[field] + 100_000 }
    }, 100)
    pulses.push({ ...busy.beat, [Symbol.dispose]: () => clearInterval(timer) })
    const idle = await living({ idleTimeoutSeconds: 2 })
    await cluster.reach(idle.id, 'TERMINATED')
    expect((await get(busy.id)).status).toBe('RUNNING')
  })

  test('time without figures, or without the agent, does not count as idle', async () => {
    agent = await cluster.join()
    const away = await cluster.join({ capacity: { cpu: 32_000, mem: 64 * 2 ** 30 } })
    const blind = await living({ idleTimeoutSeconds: 1 })
    blind.beat[Symbol.dispose]()
    const lonely = await living({ idleTimeoutSeconds: 1, resources: { cpu: '16' } }, away)
    await away.disconnect()
    const idle = await living({ idleTimeoutSeconds: 2 })
    await cluster.reach(idle.id, 'TERMINATED')
    expect(await get(blind.id)).toMatchObject({ status: 'RUNNING', ends: null })
    expect(await get(lonely.id)).toMatchObject({ status: 'RUNNING', reachable: false, ends: null })
    await away.connect()
    await cluster.reach(lonely.id, 'TERMINATED')
  })

  test('the idle time continues after a restart of the manager, without the time that nobody observed', async () => {
    agent = await cluster.join()
    const { id } = await living({ idleTimeoutSeconds: 60 })
    await expect.poll(async () => (await get(id)).ends?.at).toBeDefined()
    const before = Date.parse((await get(id)).ends?.at ?? '')
    const stoppedAt = Date.now()
    await cluster.restart(() => agent.disconnect())
    await agent.connect()
    await expect.poll(async () => Date.parse((await get(id)).ends?.at ?? '0')).toBeGreaterThan(before)
    expect(Date.parse((await get(id)).ends?.at ?? '') - before).toBeLessThan(Date.now() - stoppedAt + 1000)
  })

  test('the stricter of request and resource policy applies', async () => {
    agent = await cluster.join()
    const change = (idleTimeoutSeconds: number | null, maxLifetimeSeconds: number | null) =>
      cluster.api.updateResourcePolicy({
        params: { name: 'default' },
        body: { idleTimeoutSeconds, maxLifetimeSeconds },
      })
    await change(1800, 7200)
    const asked = await cluster.launch({ idleTimeoutSeconds: 900, maxLifetimeSeconds: 9000 })
    const silent = await cluster.launch()
    await change(null, null)
    expect(asked).toMatchObject({ idleTimeoutSeconds: 900, maxLifetimeSeconds: 7200 })
    expect(silent).toMatchObject({ idleTimeoutSeconds: 1800, maxLifetimeSeconds: 7200 })
  })
})

describe('the maximum lifetime', () => {
  test('a session ends at its maximum lifetime whatever it does', async () => {
    agent = await cluster.join()
    const { id, session } = await living({ maxLifetimeSeconds: 2 }, agent, { cpuMilli: 1000 })
    expect(session.ends).toMatchObject({ at: session.expiresAt, why: 'max_lifetime', warnedAt: null })
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.reason.code).toBe('max_lifetime')
    expect(await cluster.timeline(id)).toContain('TERMINATING max_lifetime')
  })

  test('the warning is sent even if nobody knows whether the session is idle', async () => {
    agent = await cluster.join()
    const { id, beat } = await living({ maxLifetimeSeconds: 63, idleTimeoutSeconds: 3600 })
    beat[Symbol.dispose]()
    const { version } = await get(id)
    await expect.poll(async () => (await get(id)).version).toBeGreaterThan(version)
    expect((await get(id)).ends).toMatchObject({ why: 'max_lifetime', warnedAt: expect.any(String) as string })
  })

  test('a waiting session shows its latest start time', async () => {
    agent = await cluster.join({ capacity: { cpu: 1000, mem: 4 * 2 ** 30 } })
    const body = { options: { reserveAfterSeconds: 1 } }
    await cluster.api.updateResourceGroup({ params: { name: 'default' }, body })
    const first = await living({ maxLifetimeSeconds: 600, resources: { cpu: '1' } })
    const waiting = await cluster.launch({ resources: { cpu: '1' } })
    await expect
      .poll(async () => (await get(waiting.id)).reason)
      .toMatchObject({ code: 'reserved', expectedBy: expect.any(String) as string })
    const expectedBy = Date.parse((await get(waiting.id)).reason.expectedBy ?? '')
    const expiresAt = Date.parse(first.session.expiresAt ?? '')
    expect(expectedBy).toBeGreaterThan(expiresAt)
    expect(expectedBy).toBeLessThan(expiresAt + 5 * 60_000)
    const refused = await refusal(cluster.api.extendSession({ params: { id: first.id }, body: { seconds: 600 } }))
    expect(refused).toMatchObject({ code: 'extension_refused' })
    expect((await get(first.id)).expiresAt).toBe(first.session.expiresAt)
    // No session waits any more, so nothing is held.
    await cluster.api.deleteSession({ params: { id: waiting.id } })
    const extended = await cluster.api.extendSession({ params: { id: first.id }, body: { seconds: 600 } })
    expect(Date.parse(extended.expiresAt ?? '')).toBe(expiresAt + 600_000)
  })
})

describe('an extension', () => {
  test('an extension restarts the idle time, and the timeline names its author', async () => {
    agent = await cluster.join()
    const { id } = await living({ idleTimeoutSeconds: 60 })
    await expect.poll(async () => (await get(id)).ends?.at).toBeDefined()
    const before = (await get(id)).ends?.at ?? ''
    const extended = await cluster.api.extendSession({ params: { id }, body: {} })
    // Null until the statistics are checked again, which may happen before the answer is created.
    expect(extended.ends === null || extended.ends.at > before).toBe(true)
    await expect.poll(async () => (await get(id)).ends?.at ?? '').not.toBe('')
    expect(Date.parse((await get(id)).ends?.at ?? '')).toBeGreaterThan(Date.parse(before))
    const { items } = await cluster.api.listSessionEvents({ params: { id } })
    expect(items.at(-1)).toMatchObject({ from: 'RUNNING', to: 'RUNNING', reason: { code: 'extended' } })
    expect(items.at(-1)?.actor).toContain('@')
  })

  test('an extension moves the maximum lifetime as far as the policy allows', async () => {
    agent = await cluster.join()
    const { id, session } = await living({ maxLifetimeSeconds: 600 })
    const at = (text: string | null) => Date.parse(text ?? '')
    const params = { id }
    await cluster.api.updateResourcePolicy({ params: { name: 'default' }, body: { maxLifetimeSeconds: 1000 } })
    const more = await cluster.api.extendSession({ params, body: { seconds: 300 } })
    expect(at(more.expiresAt) - at(session.expiresAt)).toBe(300_000)
    const refused = await refusal(cluster.api.extendSession({ params, body: { seconds: 300 } }))
    expect(refused.code).toBe('extension_refused')
    expect(at(String(refused.detail.latest))).toBe(at(session.startedAt) + 1_000_000)
    const most = await cluster.api.extendSession({ params, body: {} })
    expect(at(most.expiresAt)).toBe(at(session.startedAt) + 1_000_000)
    expect(await refusal(cluster.api.extendSession({ params, body: {} }))).toMatchObject({ code: 'extension_refused' })
    await cluster.api.updateResourcePolicy({ params: { name: 'default' }, body: { maxLifetimeSeconds: null } })
  })

  test('an extension needs a running session that the caller may see', async () => {
    const other = await cluster.addUser('other@localhost')
    const { id } = await cluster.launch({}).catch(async () => {
      agent = await cluster.join()
      return cluster.launch({})
    })
    await cluster.reach(id, 'RUNNING')
    expect(await refusal(other.extendSession({ params: { id }, body: {} }))).toMatchObject({
      code: 'session_not_found',
    })
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect(await refusal(cluster.api.extendSession({ params: { id }, body: {} }))).toMatchObject({
      code: 'session_not_running',
    })
  })
})
