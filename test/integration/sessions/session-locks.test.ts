import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KernelId, type Reason, SessionId } from '#manager/contract'
import { runIdleClocks, stopIdleClocks } from '../../../manager/store/sessions/lifetime.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { touchSessions, updateReasons } from '../../../manager/store/sessions/touches.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { openTestStore } from '../../fixtures/test-store.ts'

const COUNT = 300
const ROUNDS = 10
const reason: Reason = { code: 'started', message: 'It runs.' }

describe('many sessions written at once', () => {
  const stack = new AsyncDisposableStack()
  const ids = Array.from({ length: COUNT }, () => newId(SessionId))
  let store: Store

  beforeAll(async () => {
    const opened = stack.use(await openTestStore())
    store = opened.store
    const { ownerId } = opened
    await insertSessions(
      store.db,
      ids.map(id => aSessionRow(ownerId, { id })),
    )
    await insertKernels(
      store.db,
      ids.map(sessionId => ({ id: newId(KernelId), sessionId, status: 'RUNNING', slots: {}, attempt: 1 })),
    )
  })
  afterAll(() => stack.disposeAsync())

  test('concurrent writes of overlapping sessions wait for each other and never deadlock, whatever the order', async () => {
    const backwards = ids.toReversed()
    const clocks = { seenEveryMs: 0, gapMs: 60_000 }
    const repeat = async (write: (round: number) => Promise<unknown>) => {
      for (let round = 0; round < ROUNDS; round += 1) await write(round)
    }
    const reasons = (list: readonly SessionId[], round: number) =>
      new Map(list.map(id => [id, { ...reason, message: `Round ${round}.` }]))
    await Promise.all([
      repeat(() => touchSessions(store.db, ids)),
      repeat(() => touchSessions(store.db, backwards)),
      repeat(round => updateReasons(store.db, 'RUNNING', reasons(ids, round))),
      repeat(round => updateReasons(store.db, 'RUNNING', reasons(backwards, round))),
      repeat(() => runIdleClocks(store.db, backwards, clocks)),
      repeat(() => stopIdleClocks(store.db, ids)),
    ])
    const { versions } = await store.db
      .selectFrom('sessions')
      .select(eb => eb.fn.sum<number>('version').as('versions'))
      .executeTakeFirstOrThrow()
    expect(versions / COUNT).toBe(1 + 4 * ROUNDS)
  })
})
