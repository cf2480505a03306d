import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type AgentId, KernelId, type Reason, SessionId, type SessionStatus, type UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { createSessionChanges } from '../../../manager/sessions/changes.ts'
import { startDeadlines } from '../../../manager/sessions/deadlines.ts'
import { type Lifecycle } from '../../../manager/sessions/lifecycle/lifecycle.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

const HOUR_MS = 3_600_000
const TIMINGS = {
  scheduledMs: 150,
  preparingMs: 150,
  pullingMs: 600,
  pullStalledMs: 200,
  terminatingMs: 150,
  sweepMs: 20,
}

describe('deadlines of session statuses', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId
  let agentId: AgentId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
    agentId = await insertAgent(store.db)
  })
  afterAll(() => stack.disposeAsync())
  afterEach(() => store.db.deleteFrom('sessions').execute())

  /** A session that has been in this state for an hour already. @param startByMs when its agent gives up, from now */
  async function stuckIn(status: SessionStatus, startByMs: number | null = null) {
    const [id, kernelId] = [newId(SessionId), newId(KernelId)]
    const reason: Reason = { code: 'placed', message: 'Placed.' }
    await insertSessions(store.db, [aSessionRow(ownerId, { id, status, reason, attempt: 1 })])
    await insertKernels(store.db, [{ id: kernelId, sessionId: id, status, slots: {}, agentId, attempt: 1 }])
    await sql`update sessions set status_at = now() - interval '1 hour' where id = ${id}`.execute(store.db)
    if (startByMs !== null) {
      await sql`update kernels set start_by = now() + ${startByMs} * interval '1 millisecond'
        where id = ${kernelId}`.execute(store.db)
    }
    return { id, kernelId }
  }

  function watch({
    ready = true,
    pullQuietMs = () => undefined as number | undefined,
    timings = TIMINGS,
    ...more
  }: { ready?: boolean; pullQuietMs?: () => number | undefined; timings?: typeof TIMINGS } & Partial<Lifecycle> = {}) {
    const done: string[] = []
    const note = (what: string) => (_id: SessionId, attempt: number, cause: Reason) =>
      void done.push(`${what} ${attempt} ${cause.code}`)
    const lifecycle: Lifecycle = {
      start: () => void done.push('start'),
      interrupt: () => Promise.resolve(false),
      terminate: () => Promise.resolve(),
      endUnconfirmed: () => Promise.resolve(),
      cancel: () => Promise.resolve(),
      finishTermination: (_id, graceMs) => void done.push(`end ${graceMs}`),
      abandonStart: note('abandon'),
      failAttempt: (id, attempt, cause) => {
        note('fail')(id, attempt, cause)
        return Promise.resolve()
      },
      cleanUp: () => undefined,
      markRunning: () => Promise.resolve(),
      markDone: () => Promise.resolve(false),
      startInFlight: () => undefined,
      isStarting: () => false,
      [Symbol.asyncDispose]: () => Promise.resolve(),
      ...more,
    }
    const events = { publish: () => undefined, publishStats: () => undefined }
    const deadlines = startDeadlines({
      store,
      presence: { isReady: () => ready },
      lifecycle,
      changes: createSessionChanges({ store, events }),
      pullQuietMs,
      log: silentLog,
      timings,
    })
    return { done, [Symbol.asyncDispose]: () => deadlines[Symbol.asyncDispose]() }
  }

  const messageOf = async (id: SessionId) => {
    const row = await store.db.selectFrom('sessions').select('reason').where('id', '=', id).executeTakeFirst()
    return row?.reason.message
  }

  test('SCHEDULED: the attempt fails, whether its agent is connected or not', async () => {
    await stuckIn('SCHEDULED')
    await using here = watch()
    await expect.poll(() => here.done).toContain('fail 1 deadline_exceeded')
    await using away = watch({ ready: false })
    await expect.poll(() => away.done).toContain('fail 1 agent_lost')
  })

  test('PREPARING: the start is cancelled on its agent', async () => {
    await stuckIn('PREPARING', HOUR_MS)
    await using sweep = watch()
    await expect.poll(() => sweep.done).toContain('abandon 1 deadline_exceeded')
    expect(sweep.done).not.toContain('fail 1 deadline_exceeded')
  })

  test('PREPARING on an agent that never confirms: the session says what it waits for, and the cancellation is repeated', async () => {
    const { id } = await stuckIn('PREPARING', HOUR_MS)
    await using sweep = watch()
    await expect.poll(() => messageOf(id)).toContain('takes too long')
    const asked = sweep.done.length
    await expect.poll(() => sweep.done.length).toBeGreaterThan(asked)
  })

  test('PREPARING on a lost agent: the session moves on once that agent has given up by itself, not before', async () => {
    const { id, kernelId } = await stuckIn('PREPARING', HOUR_MS)
    await using sweep = watch({ ready: false })
    await expect.poll(() => messageOf(id)).toContain('not connected')
    expect(sweep.done).toEqual([])
    await sql`update kernels set start_by = now() where id = ${kernelId}`.execute(store.db)
    await expect.poll(() => sweep.done).toContain('fail 1 agent_lost')
  })

  test('PULLING: a pull with progress gets its full time, one without progress is given up early', async () => {
    await stuckIn('PULLING', HOUR_MS)
    const startedAt = Date.now()
    await using moving = watch({ pullQuietMs: () => 0 })
    await expect.poll(() => moving.done).toContain('abandon 1 deadline_exceeded')
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(TIMINGS.pullingMs)
    const long = { ...TIMINGS, pullingMs: HOUR_MS }
    await using stillMoving = watch({ pullQuietMs: () => 0, timings: long })
    await using still = watch({ timings: long })
    await expect.poll(() => still.done).toContain('abandon 1 deadline_exceeded')
    expect(stillMoving.done).toEqual([])
  })

  test('TERMINATING: the end is requested again without grace, once per deadline', async () => {
    const { id } = await stuckIn('TERMINATING')
    const startedAt = Date.now()
    await using sweep = watch()
    await expect.poll(() => sweep.done.length).toBeGreaterThanOrEqual(3)
    expect(sweep.done.length).toBeLessThanOrEqual(2 + (Date.now() - startedAt) / TIMINGS.terminatingMs)
    expect(new Set(sweep.done)).toEqual(new Set(['end 0']))
    await expect.poll(() => messageOf(id)).toContain('has not removed the container yet')
  })

  test('statuses that may last have no deadline', async () => {
    await stuckIn('PENDING')
    await stuckIn('RUNNING')
    const { id } = await stuckIn('SCHEDULED')
    await using sweep = watch()
    await expect.poll(() => sweep.done.length).toBeGreaterThan(3)
    expect(new Set(sweep.done)).toEqual(new Set(['fail 1 deadline_exceeded']))
    expect(await messageOf(id)).toBe('Placed.')
  })

  test('a session whose check fails does not keep the others from their deadlines', async () => {
    const { id: first } = await stuckIn('SCHEDULED')
    const { id: second } = await stuckIn('SCHEDULED')
    const failed: SessionId[] = []
    const failAttempt = (id: SessionId) => {
      failed.push(id)
      return Promise.reject(new Error(`no word on ${id}`))
    }
    await using _sweep = watch({ failAttempt })
    await expect.poll(() => new Set(failed)).toEqual(new Set([first, second]))
  })

  test('a session on a forgotten agent ends, even if the manager died in between', async () => {
    const { id } = await stuckIn('RUNNING')
    const forgotten = await insertAgent(store.db)
    await sql`update kernels set agent_id = ${forgotten} where session_id = ${id}`.execute(store.db)
    await sql`update agents set status = 'REVOKED' where id = ${forgotten}`.execute(store.db)
    await using _sweep = watch()
    const now = () =>
      store.db.selectFrom('sessions').select(['status', 'reason']).where('id', '=', id).executeTakeFirst()
    await expect.poll(now).toMatchObject({ status: 'TERMINATED', reason: { code: 'agent_forgotten' } })
  })
})
